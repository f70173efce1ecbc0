// What a gate answers to the shift of a sample: the mean and the variance of u to normalise it with. Plain loops and
// fixed orders, as in channels.h.
#pragma once

#include <cstring>

#include "channels.h"

namespace leantta {
namespace {

// Adds weight[i] * value[i]^2 to the lanes; `width` is a multiple of kLanes.
inline void add_weighted_squares(const float* weight, const float* value, std::size_t width, Half sums[2]) {
  for (std::size_t i = 0; i < width; i += kLanes)
    for (std::size_t k = 0; k < 2; ++k) {
      const Half v = load(value + i + k * kHalf);
      sums[k] += load(weight + i + k * kHalf) * (v * v);
    }
}

// The gates that blend: one weight for the whole layer, by the distance.
inline float blend(const Layer& layer, float* mean, float* excess) {
  const std::size_t width = padded(layer.channels);
  Half sums[2] = {};
  add_weighted_squares(layer.mean_weight, mean, width, sums);
  if (layer.gate == Gate::kCalibrated) add_weighted_squares(layer.var_weight, excess, width, sums);
  const float distance = total(sums[0], sums[1]), weight = blend_weight(layer, distance);
  for (std::size_t c = 0; c < width; ++c) {
    mean[c] = weight * mean[c];
    excess[c] = 1 + weight * excess[c];
  }
  return distance;
}

inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float of_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// The logarithm of x, clipped to +-4, within 2e-7.
inline float clipped_log(float x) {
  constexpr float least = 0.018315639f, most = 54.598150f;  // exp(-4), exp(4)
  x = x < most ? x : most;  // also what is not a number; its mean tells
  x = x > least ? x : least;
  const std::uint32_t root = 0x3f3504f3;  // sqrt(1/2): x = 2^power * part, and the part lies between it and sqrt(2)
  const std::int32_t power = static_cast<std::int32_t>(bits_of(x) - root) >> 23;
  const float part = of_bits(bits_of(x) - (static_cast<std::uint32_t>(power) << 23));
  const float s = (part - 1) / (part + 1), q = s * s;  // log(part) = 2 atanh(s), |s| < 0.172
  const float series = q * (1 / 3.0f + q * (1 / 5.0f + q * (1 / 7.0f + q * (1 / 9.0f))));
  return static_cast<float>(power) * 0.69314718f + 2 * (s + s * series);
}

// exp(x) for x clipped to +-3, within 1e-7 of it.
inline float clipped_exp(float x) {
  x = x > 3 ? 3 : x;  // what is not a number stays so
  x = x < -3 ? -3 : x;
  const float lifted = x * 1.44269504f + 0x1.8p23f;  // the last bit of the sum is worth 1
  const float power = lifted - 0x1.8p23f;
  const float rest = (x - power * 0x1.62e4p-1f) - power * 1.42860677e-6f;  // both parts of log(2): |rest| < 0.35
  float series = 1 / 720.0f + rest * (1 / 5040.0f);
  series = 1 / 24.0f + rest * (1 / 120.0f + rest * series);
  series = 1 + rest * (1 + rest * (0.5f + rest * (1 / 6.0f + rest * series)));
  return series * of_bits((bits_of(lifted) << 23) + 0x3f800000);
}

// Adds factor[i] * row i of a block of kLanes columns to the lanes, even and odd rows apart.
inline void add_rows(const float* factor, const float* block, std::size_t rows, Half even[2], Half odd[2]) {
  std::size_t i = 0;
  for (; i + 2 <= rows; i += 2)
    for (std::size_t k = 0; k < 2; ++k) {
      even[k] += factor[i] * load(block + i * kLanes + k * kHalf);
      odd[k] += factor[i + 1] * load(block + (i + 1) * kLanes + k * kHalf);
    }
  if (i < rows)
    for (std::size_t k = 0; k < 2; ++k) even[k] += factor[i] * load(block + i * kLanes + k * kHalf);
}

inline void store_sum(const Half even[2], const Half odd[2], float* values) {
  for (std::size_t k = 0; k < 2; ++k) {
    const Half sum = even[k] + odd[k];
    std::memcpy(values + k * kHalf, &sum, sizeof sum);
  }
}

// The filter: from the means and logarithms of variances to a few inner values, and from these back. `inner` has room
// for padded(rank) of them.
inline float filter(const Layer& layer, float* mean, float* excess, float* inner) {
  const std::size_t width = padded(layer.channels), rank = layer.rank;
  for (std::size_t c = 0; c < width; ++c) excess[c] = clipped_log(1 + excess[c]);
  for (std::size_t k = 0; k < rank; k += kLanes) {
    const float* block = layer.into + 2 * width * k;
    Half even[2] = {}, odd[2] = {};
    add_rows(mean, block, width, even, odd);
    add_rows(excess, block + width * kLanes, width, even, odd);
    store_sum(even, odd, inner + k);
  }
  Half sums[2] = {};
  add_weighted_squares(layer.inner_weight, inner, padded(rank), sums);
  const float distance = total(sums[0], sums[1]), weight = filter_weight(layer, distance);
  for (std::size_t k = 0; k < rank; ++k) inner[k] = weight * inner[k];
  for (std::size_t c = 0; c < 2 * width; c += kLanes) {
    Half even[2] = {}, odd[2] = {};
    add_rows(inner, layer.back + rank * c, rank, even, odd);
    store_sum(even, odd, c < width ? mean + c : excess + (c - width));
  }
  for (std::size_t c = 0; c < width; ++c) excess[c] = clipped_exp(excess[c]);
  return distance;
}

inline float answer(const Layer& layer, float* mean, float* excess, float* room) {
  return layer.gate == Gate::kFilter ? filter(layer, mean, excess, room) : blend(layer, mean, excess);
}

}  // namespace
}  // namespace leantta
