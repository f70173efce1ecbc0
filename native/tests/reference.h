// The method a second time, in double and straight from its formulas, with a bound on what float32 may change:
//
//   y = gamma / sqrt(V) * (u - M) + beta
//
// The gates that blend, where m and v are the sample's mean and variance of u and a is the gate at S:
//
//   S = sum of mean_weight m^2 (+ var_weight (v - ratio)^2),  M = a m,  V = 1 + a (v - ratio)
//
// The filter:
//
//   z = [m, clip(log(1 + v - ratio), -4, 4)] into,  S = sum of weight z^2,  a = max(0, 1 - shrink / S)
//   [M, log V] = a z back,  V clipped to exp(-3) .. exp(3)
//
// With a memory of the means m of z and D of d = [m, clip(1 + v - ratio, exp(-4), exp(4)) + m^2], the count n and the
// agreement q:
//
//   r = (sum of weight z m) / (sum of weight m^2), from -1 to 1, or 0 where n = 0;  q = q + (r - q) / 6
//   if r < 0: n = 0, q = min(q, 0.2);  n = min(n + 1, length);  m = m + (z - m) / n;  D = D + (d - D) / n
//   p = (q - 0.3) / 0.3, from 0 to 1;  S_m = n (sum of weight m^2)
//   [M, log V] = ((1 - p) a(S) + 0.6 p a(S_m)) z back + 0.4 p a(S_m) [D_1, clip(log(D_2 - D_1^2), -4, 4)]
//
// In a dead channel, one with ratio = 0, m = v - ratio = 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "../kernel.h"
#include "bounded.h"
#include "cases.h"

namespace leantta_test {

using leantta::Gate;
using leantta::Layer;

struct Moments {
  Bounded mean, var;
};

// Of a channel's values, by two passes. The kernel's sums have so many `roundings` of float32; sums of bytes have none,
// but the mean is a difference in double of values up to 255 steps, which is off by `grain`.
inline Moments moments(const std::vector<double>& values, double roundings, double grain) {
  const double count = static_cast<double>(values.size());
  double sum = 0, size = 0, squares = 0;
  for (const double v : values) sum += v, size += std::fabs(v);
  const double mean = sum / count;
  for (const double v : values) squares += (v - mean) * (v - mean);
  const double var = squares / count, off = grain + kUlp * (2 * std::fabs(mean) + roundings * size / count);
  return {{mean, off}, {var, kUlp * (4 + roundings) * var + off * off}};
}

// Whether float32 has the terms of S, whatever the bytes.
inline bool in_range(const Layer& layer) {
  float most = 1;
  for (std::size_t c = 0; !layer.floats && c < layer.channels; ++c) most = std::fmax(most, layer.u_scale[c]);
  if (layer.gate == Gate::kFilter) return 255.0 * most * static_cast<double>(layer.channels) < 1e17;
  return std::pow(255.0 * most, layer.gate == Gate::kCalibrated ? 4 : 2) < 1e36;
}

// The variance of a channel less that of the source.
inline Bounded excess_of(const Layer& layer, std::size_t c, const Moments& of) {
  if (layer.ratio[c] == 0) return {};
  return {of.var.value - layer.ratio[c], of.var.error + kUlp * (of.var.value + layer.ratio[c])};
}

inline Bounded mean_of(const Layer& layer, std::size_t c, const Moments& of) {
  return layer.ratio[c] == 0 ? Bounded{} : of.mean;
}

// The distance S of a sample, by a gate that blends.
inline Bounded blend_distance(const Layer& layer, const std::vector<Moments>& all) {
  Bounded total;
  for (std::size_t c = 0; c < all.size(); ++c) {
    const Bounded m = mean_of(layer, c, all[c]), e = excess_of(layer, c, all[c]);
    total.value += layer.mean_weight[c] * m.value * m.value;
    total.error += layer.mean_weight[c] * m.error * (2 * std::fabs(m.value) + m.error);
    if (layer.gate != Gate::kCalibrated) continue;
    total.value += layer.var_weight[c] * e.value * e.value;
    total.error += layer.var_weight[c] * e.error * (2 * std::fabs(e.value) + e.error);
  }
  total.error += kUlp * (16 + static_cast<double>(all.size()) / 8) * total.value + 1e-37;
  return total;
}

// The weight a of the sample's statistics.
inline Bounded blend_weight_of(const Layer& layer, const Bounded& shift) {
  const double low = layer.low, room = layer.room, rate = layer.rate;
  if (layer.gate == Gate::kAdaptive) {
    const double near = std::exp(rate * shift.value);
    const double slope = std::exp(rate * std::fmax(0, shift.value - shift.error));
    return {low + room * near, 8 * kUlp * (low + room) + room * std::fabs(rate) * slope * shift.error +
                                   4 * kUlp * room * std::fabs(rate * shift.value) * near};
  }
  const double least = std::fmax(1, shift.value - shift.error);
  return {low + (shift.value > 1 ? room - room / shift.value : 0),
          8 * kUlp * (low + room) + room * shift.error / (least * least)};
}

// What a gate says: the distance, and the mean and variance of each channel to normalise with.
struct Answer {
  Bounded distance;
  std::vector<Bounded> mean, var, after;  // after: what a stream remembers
};

inline Answer blended(const Layer& layer, const std::vector<Moments>& all) {
  Answer made;
  made.distance = blend_distance(layer, all);
  const Bounded a = blend_weight_of(layer, made.distance);
  for (std::size_t c = 0; c < all.size(); ++c) {
    const Bounded m = mean_of(layer, c, all[c]), e = excess_of(layer, c, all[c]);
    const double centre = a.value * m.value, size = std::fabs(e.value) + 2 * layer.ratio[c];
    made.mean.push_back({centre, a.error * std::fabs(m.value) + a.value * m.error + 4 * kUlp * std::fabs(centre)});
    made.var.push_back({1 + a.value * e.value, kUlp * (4 + 4 * a.value * size) + a.value * e.error +
                                                   a.error * std::fabs(e.value)});
  }
  return made;
}

// The sum of x[i] * row i of a matrix in one column.
inline Bounded product(const std::vector<Bounded>& x, const std::vector<float>& matrix, std::size_t columns,
                       std::size_t column) {
  Bounded sum;
  double size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double factor = matrix[i * columns + column];
    sum.value += factor * x[i].value;
    sum.error += std::fabs(factor) * x[i].error;
    size += std::fabs(factor * x[i].value);
  }
  sum.error += kUlp * (16 + static_cast<double>(x.size()) / 2) * size + 1e-37;
  return sum;
}

// The part of the inner values that is answered at the distance S.
inline Bounded part_of(const Layer& layer, const Bounded& distance) {
  return grown(distance, [&](double s) { return std::fmax(0, 1 - layer.shrink / std::fmax(s, 1e-30)); });
}

inline Bounded weighted(const Filter& filter, const std::vector<Bounded>& a, const std::vector<Bounded>& b) {
  Bounded sum;
  for (std::size_t k = 0; k < a.size(); ++k) sum = sum + Bounded{filter.weight[k], 0} * (a[k] * b[k]);
  return sum;
}

inline double clipped_log(double x) { return std::clamp(std::log(std::fmax(x, 1e-30)), -4.0, 4.0); }

// The mean and the mean square of each channel.
inline std::vector<Bounded> moments_of(const Layer& layer, const std::vector<Moments>& all) {
  std::vector<Bounded> made;
  for (std::size_t c = 0; c < all.size(); ++c) made.push_back(mean_of(layer, c, all[c]));
  for (std::size_t c = 0; c < all.size(); ++c) {
    const Bounded e = excess_of(layer, c, all[c]);
    const Bounded v{1 + e.value, e.error + kUlp * (2 + std::fabs(e.value))};
    made.push_back(clipped(v, std::exp(-4.0), std::exp(4.0)) + made[c] * made[c]);
    made.back().error += 64 * kUlp;
  }
  return made;
}

// What a stream remembers after a sample with these inner values and moments.
inline std::vector<Bounded> remembered(const Layer& layer, const Filter& filter, const std::vector<Bounded>& inner,
                                       const std::vector<Bounded>& moments, const float* before) {
  const std::size_t rank = inner.size(), means = rank + moments.size();
  std::vector<Bounded> mean, after;
  for (std::size_t k = 0; k < rank; ++k) mean.push_back({before[k], 0});
  const Bounded count{before[means], 0}, agreement{before[means + 1], 0};
  Bounded r;
  if (count.value != 0) r = clipped(weighted(filter, inner, mean) / weighted(filter, mean, mean), -1, 1);
  const bool is_against = r.value < 0, sure = count.value == 0 || std::fabs(r.value) > r.error;
  Bounded q = agreement + (r - agreement) / Bounded{6, 0};
  if (is_against) q = clipped(q, -9, 0.2f);
  const Bounded more{std::fmin((is_against ? 0 : count.value) + 1, layer.length), 0};
  for (std::size_t k = 0; k < means; ++k) {
    const Bounded old{before[k], 0}, now = k < rank ? inner[k] : moments[k - rank];
    after.push_back(old + (now - old) / more);
  }
  after.push_back(more);
  after.push_back(q);
  if (!sure)
    for (Bounded& value : after) value.error = std::numeric_limits<double>::infinity();
  return after;
}

// What the sample's inner values and the statistics of its domain count; `a` is the part of a sample alone.
struct Shares {
  Bounded input, domain;
};

inline Shares shares_of(const Layer& layer, const Filter& filter, const Bounded& a, const std::vector<Bounded>& after) {
  const std::size_t means = after.size() - 2;
  const std::vector<Bounded> mean(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(filter.weight.size()));
  const Bounded p = clipped((after[means + 1] - Bounded{0.3, kUlp}) / Bounded{0.3, kUlp}, 0, 1);
  const Bounded trusted = p * part_of(layer, after[means] * weighted(filter, mean, mean));
  return {(Bounded{1, 0} - p) * a + Bounded{0.6, kUlp} * trusted, Bounded{0.4, kUlp} * trusted};
}

// Adds the statistics of a domain to the features that a filter answers.
inline void add_domain(const Bounded& share, const std::vector<Bounded>& after, std::size_t rank,
                       std::vector<Bounded>& answer) {
  const std::size_t channels = answer.size() / 2;
  for (std::size_t c = 0; c < channels; ++c) {
    const Bounded &mean = after[rank + c], &square = after[rank + channels + c];
    const Bounded log_var = grown(square - mean * mean, clipped_log), off{0, 1e-6};
    answer[c] = answer[c] + share * mean;
    answer[channels + c] = answer[channels + c] + share * (log_var + off);
  }
}

inline Answer filtered(const Layer& layer, const Filter& filter, const float* before,
                       const std::vector<Moments>& all) {
  constexpr double polynomial = 1e-6;  // what logarithms may be off by, and exponentials of their value
  const std::size_t channels = all.size(), rank = filter.weight.size();
  std::vector<Bounded> features, inner;
  for (std::size_t c = 0; c < channels; ++c) features.push_back(mean_of(layer, c, all[c]));
  for (std::size_t c = 0; c < channels; ++c) {
    const Bounded e = excess_of(layer, c, all[c]);
    features.push_back(grown({1 + e.value, e.error + kUlp * (2 + std::fabs(e.value))}, clipped_log));
    features.back().error += polynomial;
  }
  Answer made;
  double size = 0;
  for (std::size_t k = 0; k < rank; ++k) {
    const Bounded z = product(features, filter.into, rank, k);
    const double weight = filter.weight[k];
    inner.push_back(z);
    made.distance.value += weight * z.value * z.value;
    made.distance.error += std::fabs(weight) * z.error * (2 * std::fabs(z.value) + z.error);
    size += std::fabs(weight) * z.value * z.value;
  }
  made.distance.error += kUlp * (16 + static_cast<double>(rank) / 8) * size + 1e-37;
  Shares shares{part_of(layer, made.distance), {}};
  if (before) {
    made.after = remembered(layer, filter, inner, moments_of(layer, all), before);
    shares = shares_of(layer, filter, shares.input, made.after);
  }
  std::vector<Bounded> shown, answer;
  for (const Bounded& z : inner) shown.push_back(shares.input * z);
  for (std::size_t j = 0; j < 2 * channels; ++j) answer.push_back(product(shown, filter.back, 2 * channels, j));
  if (before) add_domain(shares.domain, made.after, rank, answer);
  for (std::size_t c = 0; c < channels; ++c) {
    made.mean.push_back(answer[c]);
    made.var.push_back(grown(answer[channels + c], [](double x) { return std::exp(std::clamp(x, -3.0, 3.0)); }));
    made.var.back().error += polynomial * made.var.back().value;
  }
  return made;
}

// `before` is what a stream remembered, nullptr without a memory.
inline Answer answer_of(const Layer& layer, const Filter& filter, const float* before,
                        const std::vector<Moments>& all) {
  return layer.gate == Gate::kFilter ? filtered(layer, filter, before, all) : blended(layer, all);
}

// y = g (u - M) + beta of a channel; `sure` is false where float32 cannot tell.
struct Line {
  double slope = 0, centre = 0, end = 0;
  double slope_error = 0, centre_error = 0;  // relative, absolute
  bool sure = false;
};

inline Line line(const Layer& layer, std::size_t c, const Answer& answer) {
  const Bounded &mean = answer.mean[c], &var = answer.var[c];
  Line made;
  made.slope = layer.gamma[c] / std::sqrt(var.value);
  made.slope_error = var.error / var.value + 8 * kUlp;
  made.centre = mean.value;
  made.centre_error = mean.error;
  made.end = layer.beta[c];
  made.sure = var.value > 8 * var.error && in_range(layer) && std::isfinite(made.slope) && std::isfinite(made.end);
  return made;
}

// A byte of y before it is rounded, in steps; an error above half a step, or NaN, means that nothing can be said.
inline Bounded in_steps(const Layer& layer, std::size_t c, const Line& line, double u, double r) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const double step = layer.y.scale, r_scale = layer.has_residual ? layer.r.scale : 0;
  const double u_scale = layer.floats ? 1 : layer.u_scale[c];
  const double unit = layer.hard_swish ? 1 : step;  // what the kernel computes in
  if (step < std::numeric_limits<float>::min()) return {0, nan};  // its inverse is infinite
  if (!line.sure || std::fabs(line.slope) * u_scale / unit > 0x1p19 || r_scale / unit > 0x1p19) return {0, nan};
  double value = line.slope * (u - line.centre) + line.end;
  double error = std::fabs(line.slope) * (std::fabs(u - line.centre) * line.slope_error + line.centre_error);
  double size = std::fabs(line.slope) * (2 * 255 * u_scale + std::fabs(line.centre)) + std::fabs(line.end);
  size += 3 * 255 * r_scale + (layer.hard_swish ? 0 : 255 * step);  // the largest terms that are added
  if (std::fabs(size) / unit > 0x1p29) return {0, nan};
  if (layer.has_residual) value += r;
  error += 8 * kUlp * size;
  if (layer.hard_swish) {
    value *= std::fmin(1, std::fmax(0, value / 6 + 0.5));
    error = 1.5 * error + 8 * kUlp * (std::fabs(value) + 3 + 255 * step);  // its steepest slope is 1.5
  }
  return {value / step + layer.y.zero, error / step};
}

}  // namespace leantta_test
