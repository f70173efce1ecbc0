// arm64: NEON is always there. Nothing newer is used, so a Cortex-A53 runs it.
#include <arm_neon.h>

#include "answer.h"
#include "channels.h"

namespace leantta {
namespace {

constexpr std::size_t kTile = 256;  // rows whose sums fit into 16 bits: 255 * 256 < 65536

inline void add_to(std::int32_t* target, uint32x4_t values) {
  vst1q_s32(target, vaddq_s32(vld1q_s32(target), vreinterpretq_s32_u32(values)));
}

void sum_sixteen(const std::uint8_t* x, std::size_t rows, std::size_t stride, uint8x16_t flip, std::int32_t* sum,
                 std::int32_t* square) {
  uint16x8_t s[2] = {vdupq_n_u16(0), vdupq_n_u16(0)};
  uint32x4_t q[4] = {vdupq_n_u32(0), vdupq_n_u32(0), vdupq_n_u32(0), vdupq_n_u32(0)};
  for (std::size_t row = 0; row < rows; ++row, x += stride) {
    const uint8x16_t bytes = veorq_u8(vld1q_u8(x), flip);
    s[0] = vaddw_u8(s[0], vget_low_u8(bytes));
    s[1] = vaddw_high_u8(s[1], bytes);
    const uint16x8_t low = vmull_u8(vget_low_u8(bytes), vget_low_u8(bytes)), high = vmull_high_u8(bytes, bytes);
    q[0] = vaddw_u16(q[0], vget_low_u16(low));
    q[1] = vaddw_high_u16(q[1], low);
    q[2] = vaddw_u16(q[2], vget_low_u16(high));
    q[3] = vaddw_high_u16(q[3], high);
  }
  for (int k = 0; k < 2; ++k) {
    add_to(sum + 8 * k, vmovl_u16(vget_low_u16(s[k])));
    add_to(sum + 8 * k + 4, vmovl_high_u16(s[k]));
  }
  for (int k = 0; k < 4; ++k) add_to(square + 4 * k, q[k]);
}

void sum_eight(const std::uint8_t* x, std::size_t rows, std::size_t stride, uint8x8_t flip, std::int32_t* sum,
               std::int32_t* square) {
  uint16x8_t s = vdupq_n_u16(0);
  uint32x4_t low = vdupq_n_u32(0), high = low;
  for (std::size_t row = 0; row < rows; ++row, x += stride) {
    const uint8x8_t bytes = veor_u8(vld1_u8(x), flip);
    s = vaddw_u8(s, bytes);
    const uint16x8_t squares = vmull_u8(bytes, bytes);
    low = vaddw_u16(low, vget_low_u16(squares));
    high = vaddw_high_u16(high, squares);
  }
  add_to(sum, vmovl_u16(vget_low_u16(s)));
  add_to(sum + 4, vmovl_high_u16(s));
  add_to(square, low);
  add_to(square + 4, high);
}

void sums(const std::uint8_t* x, std::size_t rows, std::size_t channels, std::uint8_t flip, std::int32_t* sum,
          std::int32_t* square) {
  std::memset(sum, 0, channels * sizeof *sum);
  std::memset(square, 0, channels * sizeof *square);
  for (std::size_t start = 0; start < rows; start += kTile, x += kTile * channels) {
    const std::size_t tile = rows - start < kTile ? rows - start : kTile;
    std::size_t c = 0;
    for (; c + 16 <= channels; c += 16) sum_sixteen(x + c, tile, channels, vdupq_n_u8(flip), sum + c, square + c);
    for (; c + 8 <= channels; c += 8) sum_eight(x + c, tile, channels, vdup_n_u8(flip), sum + c, square + c);
    if (c < channels) add_rest(x, tile, channels, c, flip, sum, square);
  }
}

struct Form {  // what all vectors of a call share
  float32x4_t residual, step, zero;
};

inline float32x4_t floats(uint16x4_t words) { return vcvtq_f32_u32(vmovl_u16(words)); }

template <bool kResidual, bool kHardSwish>
inline int16x4_t four(uint16x4_t x, uint16x4_t r, float32x4_t scale, float32x4_t offset, const Form& form) {
  float32x4_t t = vfmaq_f32(offset, floats(x), scale);
  if (kResidual) t = vfmaq_f32(t, floats(r), form.residual);
  if (kHardSwish) {
    float32x4_t part = vfmaq_f32(vdupq_n_f32(0.5f), t, vdupq_n_f32(1 / 6.0f));
    part = vminnmq_f32(vmaxnmq_f32(part, vdupq_n_f32(0)), vdupq_n_f32(1));  // a number wins over NaN
    t = vfmaq_f32(form.zero, vmulq_f32(t, part), form.step);
    t = vminnmq_f32(vmaxnmq_f32(t, vdupq_n_f32(0)), vdupq_n_f32(255));
  }
  return vqmovn_s32(vcvtnq_s32_f32(t));  // to nearest, ties to even
}

template <bool kResidual, bool kHardSwish>
inline uint8x8_t eight(uint8x8_t x, uint8x8_t r, const float32x4_t* scale, const float32x4_t* offset,
                       const Form& form) {
  const uint16x8_t wide = vmovl_u8(x), other = kResidual ? vmovl_u8(r) : wide;
  const int16x4_t low =
      four<kResidual, kHardSwish>(vget_low_u16(wide), vget_low_u16(other), scale[0], offset[0], form);
  const int16x4_t high =
      four<kResidual, kHardSwish>(vget_high_u16(wide), vget_high_u16(other), scale[1], offset[1], form);
  return vqmovun_s16(vcombine_s16(low, high));
}

template <bool kResidual, bool kHardSwish>
void apply_form(const Layer& layer, const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows,
                const float* scale, const float* offset) {
  const std::size_t channels = layer.channels;
  const Form form = {vdupq_n_f32(residual_scale(layer)), vdupq_n_f32(1 / layer.y.scale), vdupq_n_f32(layer.y.zero)};
  const uint8x8_t flip = vdup_n_u8(layer.flip);
  const uint8x16_t both = vdupq_n_u8(layer.flip);
  const std::size_t tile = rows_in_cache(channels);
  for (std::size_t start = 0; start < rows; start += tile) {
    const std::size_t end = rows - start < tile ? rows : start + tile;
    std::size_t c = 0;
    for (; c + 16 <= channels; c += 16) {
      float32x4_t g[4], h[4];
      for (int k = 0; k < 4; ++k) {
        g[k] = vld1q_f32(scale + c + 4 * k);
        h[k] = vld1q_f32(offset + c + 4 * k);
      }
      for (std::size_t row = start; row < end; ++row) {
        const std::size_t i = row * channels + c;
        const uint8x16_t bytes = veorq_u8(vld1q_u8(x + i), both);
        const uint8x16_t other = kResidual ? veorq_u8(vld1q_u8(r + i), both) : bytes;
        const uint8x8_t low =
            eight<kResidual, kHardSwish>(vget_low_u8(bytes), vget_low_u8(other), g, h, form);
        const uint8x8_t high =
            eight<kResidual, kHardSwish>(vget_high_u8(bytes), vget_high_u8(other), g + 2, h + 2, form);
        vst1q_u8(y + i, veorq_u8(vcombine_u8(low, high), both));
      }
    }
    for (; c + 8 <= channels; c += 8) {
      const float32x4_t g[2] = {vld1q_f32(scale + c), vld1q_f32(scale + c + 4)};
      const float32x4_t h[2] = {vld1q_f32(offset + c), vld1q_f32(offset + c + 4)};
      for (std::size_t row = start; row < end; ++row) {
        const std::size_t i = row * channels + c;
        const uint8x8_t bytes = veor_u8(vld1_u8(x + i), flip);
        const uint8x8_t other = kResidual ? veor_u8(vld1_u8(r + i), flip) : bytes;
        vst1_u8(y + i, veor_u8(eight<kResidual, kHardSwish>(bytes, other, g, h, form), flip));
      }
    }
    if (c < channels) apply_rest<kResidual, kHardSwish>(layer, x, r, y, start, end, c, scale, offset);
  }
}

void apply(const Layer& layer, const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows,
           const float* scale, const float* offset) {
  LEANTTA_FORM(layer, apply_form, layer, x, r, y, rows, scale, offset);
}

bool supported() { return true; }

}  // namespace

const Path kNeon = {"neon", supported, sums, shift<std::int32_t>, shift<double>, answer,
                    coefficients, apply, plane_moments, plane_apply};

}  // namespace leantta
