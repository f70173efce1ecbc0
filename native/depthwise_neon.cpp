// arm64: 16 channels at a time. Nothing is used that a Cortex-A53 lacks.
//
// Bytes of x are read with the top bit flipped, as x - 128, so that products have a sign and two of them fit into 16
// bits, unless a weight is -128. The biases make up for it.
#include <arm_neon.h>

#include <cstring>

#include "depthwise_slide.h"

namespace leantta {
namespace {

constexpr std::size_t kChannels = 16;

struct NeonBlock {  // of constants, before the weights: 16 bytes for each tap
  std::int32_t bias[kChannels];
};
static_assert(sizeof(NeonBlock) == sizeof(DepthwiseLine), "a block begins with a whole line");

template <int kTaps>
class Taps {
 public:
  static constexpr int kSize = kTaps;
  static constexpr std::size_t kBlock = kChannels;

  struct Sum {
    int32x4_t quarter[4];

    Sum() = default;
    LEANTTA_INLINE Sum(const Sum& other) { *this = other; }
    LEANTTA_INLINE Sum& operator=(const Sum& other) {
      quarter[0] = other.quarter[0];
      quarter[1] = other.quarter[1];
      quarter[2] = other.quarter[2];
      quarter[3] = other.quarter[3];
      return *this;
    }

    LEANTTA_INLINE void add(int16x8_t low, int16x8_t high) {
      quarter[0] = vaddw_s16(quarter[0], vget_low_s16(low));
      quarter[1] = vaddw_high_s16(quarter[1], low);
      quarter[2] = vaddw_s16(quarter[2], vget_low_s16(high));
      quarter[3] = vaddw_high_s16(quarter[3], high);
    }
  };

  LEANTTA_INLINE Taps(const Depthwise& layer, std::size_t block, std::size_t channel)
      : block_(layer.packed.data() + block * lines_of(kSize)), zero_(vdupq_n_s16(layer.y_zero)) {
    for (int k = 0; k < 4; ++k) scale_[k] = vld1q_f32(layer.scale.data() + channel + 4 * k);
  }

  LEANTTA_INLINE Sum bias() const {
    Sum sum;
    for (int k = 0; k < 4; ++k) sum.quarter[k] = vreinterpretq_s32_u8(vld1q_u8(block_->bytes + 16 * k));
    return sum;
  }

  template <class Positions>
  LEANTTA_INLINE void add(const std::uint8_t* const* x, Sum* sums) {
    for (int i = 0; i + 1 < kSize; i += 2) {
      const int8x16_t first = shifted(x[i]), second = shifted(x[i + 1]);
      for (int k = 0; k < kSize; ++k) {
        const int tap = Positions::tap(k);
        if (tap >= 0) add_two(first, weights(i, tap), second, weights(i + 1, tap), sums[k]);
      }
    }
    const int8x16_t here = shifted(x[kSize - 1]);  // with the column before, for taps of even number
    for (int k = 0; k < kSize; ++k) {
      const int tap = Positions::tap(k);
      if (tap > 0 && tap % 2 == 0)
        add_two(before_, weights(kSize - 1, tap - 1), here, weights(kSize - 1, tap), sums[k]);
      else if (tap == 0)
        add_one(here, weights(kSize - 1, 0), sums[k]);
    }
    before_ = here;
  }

  LEANTTA_INLINE void write(const Sum& sum, std::uint8_t* y) const {
    int16x8_t half[2];
    for (int k = 0; k < 2; ++k) {
      const int16x4_t low = vqmovn_s32(scaled(sum.quarter[2 * k], scale_[2 * k]));
      half[k] = vqaddq_s16(vqmovn_high_s32(low, scaled(sum.quarter[2 * k + 1], scale_[2 * k + 1])), zero_);
    }
    vst1q_u8(y, vqmovun_high_s16(vqmovun_s16(half[0]), half[1]));
  }

  static constexpr std::size_t lines_of(std::size_t size) { return 1 + (size * size + 3) / 4; }

 private:
  LEANTTA_INLINE static int8x16_t shifted(const std::uint8_t* x) {
    return vreinterpretq_s8_u8(veorq_u8(vld1q_u8(x), vdupq_n_u8(0x80)));
  }

  LEANTTA_INLINE int8x16_t weights(int row, int column) const {
    return vreinterpretq_s8_u8(vld1q_u8(block_->bytes + sizeof(NeonBlock) + 16 * (row * kSize + column)));
  }

  LEANTTA_INLINE static void add_one(int8x16_t x, int8x16_t w, Sum& sum) {
    sum.add(vmull_s8(vget_low_s8(x), vget_low_s8(w)), vmull_high_s8(x, w));
  }

  LEANTTA_INLINE static void add_two(int8x16_t x, int8x16_t w, int8x16_t other_x, int8x16_t other_w, Sum& sum) {
    const int16x8_t low = vmull_s8(vget_low_s8(x), vget_low_s8(w)), high = vmull_high_s8(x, w);
    sum.add(vmlal_s8(low, vget_low_s8(other_x), vget_low_s8(other_w)), vmlal_high_s8(high, other_x, other_w));
  }

  // To the nearest, ties to even; what does not fit becomes the last number that does.
  LEANTTA_INLINE static int32x4_t scaled(int32x4_t sum, float32x4_t scale) {
    return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sum), scale));
  }

  const DepthwiseLine* const block_;
  const int16x8_t zero_;
  float32x4_t scale_[4];
  int8x16_t before_ = vdupq_n_s8(0);  // of the last row, the column before
};

bool supports(const Depthwise& layer) {
  for (const std::int8_t weight : layer.weights)
    if (weight == -128) return false;
  return has_vectors(layer, kChannels);
}

void pack(Depthwise& layer) {
  const std::size_t taps = layer.height * layer.width, channels = layer.channels;
  for (std::size_t c = 0; c < channels; c += kChannels) {
    const std::size_t start = c < channels - kChannels ? c : channels - kChannels;
    const std::size_t at = layer.packed.size();
    layer.packed.resize(at + Taps<3>::lines_of(layer.width));
    std::uint8_t* weights = layer.packed[at].bytes + sizeof(NeonBlock);
    NeonBlock block;
    for (std::size_t i = 0; i < kChannels; ++i) {
      std::uint32_t bias = static_cast<std::uint32_t>(layer.bias[start + i]);  // modulo 2^32, as the sums
      for (std::size_t tap = 0; tap < taps; ++tap) {
        const std::int8_t weight = layer.weights[tap * channels + start + i];
        weights[kChannels * tap + i] = static_cast<std::uint8_t>(weight);
        bias += static_cast<std::uint32_t>(128 * weight);
      }
      block.bias[i] = static_cast<std::int32_t>(bias);
    }
    std::memcpy(layer.packed[at].bytes, &block, sizeof block);
  }
}

}  // namespace

const DepthwisePath kNeonDepthwise = {"neon", supports, pack, vector_rows<Taps>, &kScalarDepthwise};

}  // namespace leantta
