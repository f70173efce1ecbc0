// What a gate answers to the shift of a sample: the mean and the variance of u to normalise it with. Plain loops and
// fixed orders, as in channels.h.
#pragma once

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

// The logarithm of x, clipped to +-4, within 2e-7.
inline Wide clipped_log(Wide x) {
  const Wide least = Wide{} + 0.018315639f, most = Wide{} + 54.598150f;  // exp(-4), exp(4)
  x = x > most ? most : x;
  x = x < least ? least : x;
  const Ints bits = as<Ints>(x);
  const Ints power = (bits - 0x3f3504f3) >> 23;  // x = 2^power * part, and the part lies between sqrt(1/2) and sqrt(2)
  const Wide part = as<Wide>(bits - power * (1 << 23));
  const Wide s = (part - 1) / (part + 1), q = s * s;  // log(part) = 2 atanh(s), |s| < 0.172
  const Wide series = q * (1 / 3.0f + q * (1 / 5.0f + q * (1 / 7.0f + q * (1 / 9.0f))));
  const Wide log = __builtin_convertvector(power, Wide) * 0.69314718f + 2 * (s + s * series);
  return x == x ? log : x;  // what is not a number stays so
}

// exp(x) for x clipped to +-3, within 1e-7 of it.
inline Wide clipped_exp(Wide x) {
  const Wide least = Wide{} - 3, most = Wide{} + 3;
  x = x > most ? most : x;  // what is not a number stays so
  x = x < least ? least : x;
  const Wide lifted = x * 1.44269504f + 0x1.8p23f;  // the last bit of the sum is worth 1
  const Wide power = lifted - 0x1.8p23f;
  const Wide rest = (x - power * 0x1.62e4p-1f) - power * 1.42860677e-6f;  // both parts of log(2): |rest| < 0.35
  Wide series = 1 / 720.0f + rest * (1 / 5040.0f);
  series = 1 / 24.0f + rest * (1 / 120.0f + rest * series);
  series = 1 + rest * (1 + rest * (0.5f + rest * (1 / 6.0f + rest * series)));
  return series * as<Wide>((as<Words>(lifted) << 23) + 0x3f800000u);
}

// kLanes sums of products; even and odd rows apart, so that additions need not wait for each other.
struct Sums {
  Wide even[kParts] = {}, odd[kParts] = {};

  // Adds factor[i] * row i of a block of kLanes columns.
  void add_rows(const float* factor, const float* block, std::size_t rows) {
    std::size_t i = 0;
    for (; i + 2 <= rows; i += 2)
      for (std::size_t k = 0; k < kParts; ++k) {
        even[k] += factor[i] * load_wide(block + i * kLanes + k * kWide);
        odd[k] += factor[i + 1] * load_wide(block + (i + 1) * kLanes + k * kWide);
      }
    if (i < rows)
      for (std::size_t k = 0; k < kParts; ++k) even[k] += factor[i] * load_wide(block + i * kLanes + k * kWide);
  }

  void write(float* values) const {
    for (std::size_t k = 0; k < kParts; ++k) store(values + k * kWide, even[k] + odd[k]);
  }
};

// The numbers of src/leantta/memory.py; tests/native/test_stream.py holds these to them.
constexpr float kAgreementOver = 6, kDoubt = 0.2f, kLeastAgreement = 0.3f, kFullAgreement = 0.6f;
constexpr float kNow = 0.6f, kDomain = 0.4f;

// What is not a number stays so, here as in ONNX.
inline float at_least(float least, float x) { return x < least ? least : x; }
inline float at_most(float most, float x) { return x > most ? most : x; }
inline float clipped(float x, float least, float most) { return at_most(most, at_least(least, x)); }

// SUM weight * (a * b) over the inner values.
inline float weighted(const Layer& layer, const float* a, const float* b) {
  float sum = 0;
  for (std::size_t k = 0; k < layer.rank; ++k) sum += layer.inner_weight[k] * (a[k] * b[k]);
  return sum;
}

constexpr float kLeastGrown = 0.018315639f, kMostGrown = 54.598150f;  // exp(-4), exp(4)

// Writes the mean and the mean square of each channel of a sample to where their running means will be.
inline void write_moments(const Layer& layer, const float* mean, const float* excess, float* after) {
  float *first = after + layer.rank, *second = first + layer.channels;
  for (std::size_t c = 0; c < layer.channels; ++c) {
    first[c] = mean[c];
    second[c] = clipped(1 + excess[c], kLeastGrown, kMostGrown) + mean[c] * mean[c];
  }
}

// Writes what a stream remembers after a sample with these inner values, whose moments are in `after` already.
inline void remember(const Layer& layer, const float* inner, const float* before, float* after) {
  const std::size_t means = means_size(layer);
  const float count = before[means], agreement = before[means + 1];
  const float size = at_least(1e-30f, weighted(layer, before, before)), common = weighted(layer, inner, before);
  const float agrees = count != 0 ? clipped(common / size, -1, 1) : 0;  // how far it is what the mean lets expect
  const bool is_against = agrees < 0;
  const float moved = agreement + (agrees - agreement) / kAgreementOver;
  const float more = at_most(layer.length, (is_against ? 0 : count) + 1);
  for (std::size_t k = 0; k < layer.rank; ++k) after[k] = inner[k];
  for (std::size_t k = 0; k < means; ++k) after[k] = before[k] + (after[k] - before[k]) / more;
  after[means] = more;
  after[means + 1] = is_against ? at_most(kDoubt, moved) : moved;
}

// What counts in the answer of a filter.
struct Shares {
  float input, domain;  // of the inner values of the sample, and of the statistics of all that is remembered
};

// By how far the memory is trusted; `weight` is what the sample counts without one.
inline Shares shares_in_stream(const Layer& layer, float weight, const float* after) {
  const std::size_t means = means_size(layer);
  const float count = after[means], agreement = after[means + 1];
  const float trust = clipped((agreement - kLeastAgreement) / (kFullAgreement - kLeastAgreement), 0, 1);
  const float trusted = trust * filter_weight(layer, count * weighted(layer, after, after));
  return {(1 - trust) * weight + kNow * trusted, kDomain * trusted};
}

// Adds `share` of the mean and of the logarithm of the variance of a domain to an answer; `var` is room for them.
inline void add_domain(const Layer& layer, float share, const float* after, float* mean, float* log_var, float* var) {
  const std::size_t width = padded(layer.channels);
  const float *first = after + layer.rank, *second = first + layer.channels;
  for (std::size_t c = 0; c < layer.channels; ++c) {
    mean[c] += share * first[c];
    var[c] = second[c] - first[c] * first[c];
  }
  for (std::size_t c = layer.channels; c < width; ++c) var[c] = 1;
  for (std::size_t c = 0; c < width; c += kWide)
    store(log_var + c, load_wide(log_var + c) + share * clipped_log(load_wide(var + c)));
}

// The filter: from the means and logarithms of variances to a few inner values, and from these back. `room` is for
// padded(rank) or padded(channels) values.
inline float filter(const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
  const std::size_t width = padded(layer.channels), rank = layer.rank;
  float* inner = room;
  if (memory.before) write_moments(layer, mean, excess, memory.after);
  for (std::size_t c = 0; c < width; c += kWide) store(excess + c, clipped_log(1 + load_wide(excess + c)));
  for (std::size_t k = 0; k < rank; k += kLanes) {
    const float* block = layer.into + 2 * width * k;
    Sums sums;
    sums.add_rows(mean, block, width);
    sums.add_rows(excess, block + width * kLanes, width);
    sums.write(inner + k);
  }
  Half squares[2] = {};
  add_weighted_squares(layer.inner_weight, inner, padded(rank), squares);
  const float distance = total(squares[0], squares[1]);
  Shares shares{filter_weight(layer, distance), 0};
  if (memory.before) {
    remember(layer, inner, memory.before, memory.after);
    shares = shares_in_stream(layer, shares.input, memory.after);
  }
  for (std::size_t k = 0; k < rank; ++k) inner[k] = shares.input * inner[k];
  for (std::size_t c = 0; c < 2 * width; c += kLanes) {
    Sums sums;
    sums.add_rows(inner, layer.back + rank * c, rank);
    sums.write(c < width ? mean + c : excess + (c - width));
  }
  if (memory.before) add_domain(layer, shares.domain, memory.after, mean, excess, room);
  for (std::size_t c = 0; c < width; c += kWide) store(excess + c, clipped_exp(load_wide(excess + c)));
  return distance;
}

inline float answer(const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
  return layer.gate == Gate::kFilter ? filter(layer, mean, excess, room, memory) : blend(layer, mean, excess);
}

}  // namespace
}  // namespace leantta
