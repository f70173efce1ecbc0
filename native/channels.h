// What a path computes per channel in floating point, and on planes of floats: plain loops that each path's file
// compiles for its own processor. No step depends on the width of a vector, so all paths agree in every bit.
#pragma once

#include <cmath>
#include <cstring>

#include "kernel.h"

namespace leantta {
namespace {

// Sums run in kLanes lanes, two vectors of half as many, on every processor.
constexpr std::size_t kHalf = kLanes / 2;
using Half = float __attribute__((vector_size(kHalf * sizeof(float))));

inline Half load(const float* x) {
  Half lanes;
  std::memcpy(&lanes, x, sizeof lanes);
  return lanes;
}

inline float total(const Half& front, const Half& back) {
  const Half sums = front + back;
  float part[kHalf];
  std::memcpy(part, &sums, sizeof part);
  for (std::size_t width = kHalf / 2; width > 0; width /= 2)
    for (std::size_t i = 0; i < width; ++i) part[i] += part[i + width];
  return part[0];
}

// A vector of this processor. Its lanes never meet, so their number changes no result.
#if defined(__AVX512F__)
constexpr std::size_t kWide = 16;
#elif defined(__AVX__)
constexpr std::size_t kWide = 8;
#else
constexpr std::size_t kWide = 4;
#endif
constexpr std::size_t kParts = kLanes / kWide;
using Wide = float __attribute__((vector_size(kWide * sizeof(float))));
using Ints = std::int32_t __attribute__((vector_size(kWide * sizeof(float))));
using Words = std::uint32_t __attribute__((vector_size(kWide * sizeof(float))));

inline Wide load_wide(const float* x) {
  Wide lanes;
  std::memcpy(&lanes, x, sizeof lanes);
  return lanes;
}

inline void store(float* x, const Wide& lanes) { std::memcpy(x, &lanes, sizeof lanes); }

// The same bits as another type.
template <typename To, typename From>
inline To as(const From& from) {
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// The same for doubles: half as many lanes.
constexpr std::size_t kDoubles = kWide / 2;
using Doubles = double __attribute__((vector_size(kDoubles * sizeof(double))));

template <typename From>
inline Doubles as_doubles(const From* x) {
  From values __attribute__((vector_size(kDoubles * sizeof(From))));
  std::memcpy(&values, x, sizeof values);
  return __builtin_convertvector(values, Doubles);
}

template <typename Total>
inline void shift(const Layer& layer, double count, const Total* sum, const Total* square, float* mean,
                  float* excess) {
  using Floats = float __attribute__((vector_size(kDoubles * sizeof(float))));
  using Masks = std::int32_t __attribute__((vector_size(kDoubles * sizeof(float))));
  const double each = 1 / count;
  const std::size_t width = padded(layer.channels);
  for (std::size_t c = 0; c < width; c += kDoubles) {
    const Doubles s = as_doubles(sum + c), q = as_doubles(square + c), scale = as_doubles(layer.u_scale + c);
    const Doubles middle = (s * each - as_doubles(layer.u_zero + c)) * scale;
    const Doubles spread = count * q - s * s;  // exact up to 370,000 rows, so that nothing cancels
    const Doubles var = spread * (scale * scale * each * each);
    Floats ratio;
    std::memcpy(&ratio, layer.ratio + c, sizeof ratio);
    const Masks alive = ratio != 0;  // a dead channel has no shift
    const Masks means = as<Masks>(__builtin_convertvector(middle, Floats)) & alive;
    const Masks gaps = as<Masks>(__builtin_convertvector(var, Floats) - ratio) & alive;
    std::memcpy(mean + c, &means, sizeof means);
    std::memcpy(excess + c, &gaps, sizeof gaps);
  }
  for (std::size_t c = layer.channels; c < width; ++c) mean[c] = excess[c] = 0;  // of nothing
}

// A value that stays in 31 bits times a byte, and is 0 where it is not a number.
inline float bounded(float value, float limit) {
  value = value < limit ? value : (value >= limit ? limit : 0);
  return value > -limit ? value : -limit;
}

// `__restrict`: with so many arrays compilers do not check whether they overlap, and then the loop is no vector.
inline void coefficients(const Layer& layer, const float* mean, const float* var, float* __restrict scale,
                         float* __restrict offset) {
  const float per_step = layer.hard_swish ? 1 : 1 / layer.y.scale;
  const float residual = layer.has_residual ? layer.r.scale * per_step * layer.r.zero : 0;
  const float end = (layer.hard_swish ? 0 : layer.y.zero) - residual;
  const bool floats = layer.floats;
  const float *scales = layer.u_scale, *zeros = layer.u_zero;
  for (std::size_t c = 0; c < padded(layer.channels); ++c) {
    const float g = layer.gamma[c] / std::sqrt(var[c]);
    const float h = layer.beta[c] - g * mean[c];
    const float unit = scales[c] * per_step, zero = zeros[c];  // read by floats too, for the same reason
    const float s = floats ? g : bounded(g * unit, 0x1p20f);
    scale[c] = s;
    offset[c] = floats ? h : bounded(h * per_step - s * zero + end, 0x1p30f);
  }
}

// The coefficient of the residual's bytes, in the unit of `coefficients`.
inline float residual_scale(const Layer& layer) {
  return layer.has_residual ? bounded(layer.hard_swish ? layer.r.scale : layer.r.scale / layer.y.scale, 0x1p20f) : 0;
}

inline void plane_moments(const float* x, std::size_t count, float* mean, float* var) {
  Half sums[2] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::size_t k = 0; k < 2; ++k) sums[k] += load(x + i + k * kHalf);
  float rest = 0;
  for (std::size_t j = i; j < count; ++j) rest += x[j];
  const float middle = (total(sums[0], sums[1]) + rest) / static_cast<float>(count);
  Half squares[2] = {};
  for (i = 0; i + kLanes <= count; i += kLanes)
    for (std::size_t k = 0; k < 2; ++k) {
      const Half gap = load(x + i + k * kHalf) - middle;
      squares[k] += gap * gap;
    }
  rest = 0;
  for (; i < count; ++i) rest += (x[i] - middle) * (x[i] - middle);
  *mean = middle;
  *var = (total(squares[0], squares[1]) + rest) / static_cast<float>(count);
}

inline void plane_apply(const float* x, float* y, std::size_t count, float scale, float offset) {
  for (std::size_t i = 0; i < count; ++i) y[i] = x[i] * scale + offset;
}

// How many rows to go through block by block of channels: as many as the first cache holds.
inline std::size_t rows_in_cache(std::size_t channels) { return 1 + 16384 / channels; }

// a * b + c, rounded once. Where the processor cannot, double stands in: a byte times a float is exact there, and the
// sum is rounded twice only where the terms are 2^29 apart.
inline float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  return static_cast<float>(static_cast<double>(a) * b + c);
#endif
}

// The nearest whole number of 0 <= t <= 255, ties to even.
inline std::int32_t rounded(float t) {
  const float lifted = t + 0x1.8p23f;  // the last bit of the sum is worth 1
  std::int32_t bits;
  std::memcpy(&bits, &lifted, sizeof bits);
  return bits & 0xff;
}

// One value; what is left over where vectors do not fit.
template <bool kResidual, bool kHardSwish>
inline std::uint8_t byte_of(const Layer& layer, float x, float r, float scale, float offset, float residual) {
  float t = fused(x, scale, offset);
  if (kResidual) t = fused(r, residual, t);
  if (kHardSwish) {
    float part = fused(t, 1 / 6.0f, 0.5f);
    part = part > 0 ? part : 0;
    part = part < 1 ? part : 1;
    t = fused(t * part, 1 / layer.y.scale, layer.y.zero);
  }
  t = t > 0 ? t : 0;
  t = t < 255 ? t : 255;
  return static_cast<std::uint8_t>(rounded(t) ^ layer.flip);
}

// Adds the sums of the channels from `first` on: what vectors leave over, or all of it.
inline void add_rest(const std::uint8_t* x, std::size_t rows, std::size_t channels, std::size_t first,
                     std::uint8_t flip, std::int32_t* sum, std::int32_t* square) {
  for (std::size_t row = 0; row < rows; ++row, x += channels)
    for (std::size_t c = first; c < channels; ++c) {
      const std::int32_t value = x[c] ^ flip;
      sum[c] += value;
      square[c] += value * value;
    }
}

// Writes the channels from `first` on of the rows from `start` to `end`.
template <bool kResidual, bool kHardSwish>
inline void apply_rest(const Layer& layer, const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y,
                       std::size_t start, std::size_t end, std::size_t first, const float* scale,
                       const float* offset) {
  const std::size_t channels = layer.channels;
  const float residual = residual_scale(layer);
  for (std::size_t row = start; row < end; ++row)
    for (std::size_t c = first, i = row * channels + first; c < channels; ++c, ++i)
      y[i] = byte_of<kResidual, kHardSwish>(layer, static_cast<float>(x[i] ^ layer.flip),
                                            kResidual ? static_cast<float>(r[i] ^ layer.flip) : 0, scale[c], offset[c],
                                            residual);
}

// Calls f<residual, hard-swish> as the layer has them.
#define LEANTTA_FORM(layer, f, ...)                                                       \
  ((layer).has_residual ? ((layer).hard_swish ? f<true, true>(__VA_ARGS__)                \
                                              : f<true, false>(__VA_ARGS__))              \
                        : ((layer).hard_swish ? f<false, true>(__VA_ARGS__)               \
                                              : f<false, false>(__VA_ARGS__)))

}  // namespace
}  // namespace leantta
