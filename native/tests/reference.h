// The method a second time, in double and straight from its formulas, with a bound on what float32 may change:
//
//   S = sum of mean_weight m^2 (+ var_weight (v - ratio)^2)     m, v: the sample's mean and variance of u
//   y = gamma / sqrt(1 + a (v - ratio)) * (u - a m) + beta      a: the gate at S
//
// where m = v - ratio = 0 in a dead channel, one with ratio = 0.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "../kernel.h"

namespace leantta_test {

using leantta::Layer;

constexpr double kUlp = 0x1p-24;  // half of float32's last place, of a value

struct Bounded {
  double value = 0, error = 0;
};

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
  return std::pow(255.0 * most, layer.calibrated ? 4 : 2) < 1e36;
}

// The distance S of a sample.
inline Bounded shift(const Layer& layer, const std::vector<Moments>& all) {
  Bounded total;
  for (std::size_t c = 0; c < all.size(); ++c) {
    if (layer.ratio[c] == 0) continue;
    const Bounded &m = all[c].mean, &v = all[c].var;
    total.value += layer.mean_weight[c] * m.value * m.value;
    total.error += layer.mean_weight[c] * m.error * (2 * std::fabs(m.value) + m.error);
    if (!layer.calibrated) continue;
    const double excess = v.value - layer.ratio[c], off = v.error + kUlp * (v.value + layer.ratio[c]);
    total.value += layer.var_weight[c] * excess * excess;
    total.error += layer.var_weight[c] * off * (2 * std::fabs(excess) + off);
  }
  total.error += kUlp * (16 + static_cast<double>(all.size()) / 8) * total.value + 1e-37;
  return total;
}

// The weight a of the sample's statistics.
inline Bounded weight(const Layer& layer, const Bounded& shift) {
  const double low = layer.low, room = layer.room, rate = layer.rate;
  if (!layer.calibrated) {
    const double near = std::exp(rate * shift.value);
    const double slope = std::exp(rate * std::fmax(0, shift.value - shift.error));
    return {low + room * near, 8 * kUlp * (low + room) + room * std::fabs(rate) * slope * shift.error +
                                   4 * kUlp * room * std::fabs(rate * shift.value) * near};
  }
  const double least = std::fmax(1, shift.value - shift.error);
  return {low + (shift.value > 1 ? room - room / shift.value : 0),
          8 * kUlp * (low + room) + room * shift.error / (least * least)};
}

// y = g (u - a m) + beta of a channel; `sure` is false where float32 cannot tell.
struct Line {
  double slope = 0, centre = 0, end = 0;
  double slope_error = 0, centre_error = 0;  // relative, absolute
  bool sure = false;
};

inline Line line(const Layer& layer, std::size_t c, const Moments& seen, const Bounded& a) {
  const Moments of = layer.ratio[c] == 0 ? Moments{} : seen;
  const double excess = of.var.value - layer.ratio[c];
  const double width = 1 + a.value * excess;
  const double off = kUlp * (4 + 4 * a.value * (of.var.value + layer.ratio[c])) + a.value * of.var.error +
                     a.error * std::fabs(excess);
  Line made;
  made.slope = layer.gamma[c] / std::sqrt(width);
  made.slope_error = off / width + 8 * kUlp;
  made.centre = a.value * of.mean.value;
  made.centre_error = a.error * std::fabs(of.mean.value) + a.value * of.mean.error + 4 * kUlp * std::fabs(made.centre);
  made.end = layer.beta[c];
  made.sure = width > 8 * off && in_range(layer) && std::isfinite(made.slope) && std::isfinite(made.end);
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
