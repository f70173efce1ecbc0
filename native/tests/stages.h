// The functions of a path, one by one.
#pragma once

#include <algorithm>
#include <utility>

#include "compare.h"
#include "reference.h"

namespace leantta_test {

using leantta::padded;

// What a path makes of one sample, stage by stage.
struct Stages {
  Stages(const Path& path, const Case& given, std::size_t rows)
      : width(padded(given.channels)), sum(width), square(width), mean(width), excess(width), scale(width),
        offset(width), room(2 * width) {
    std::fill(sum.data(), sum.data() + width, 0);
    std::fill(square.data(), square.data() + width, 0);
    Ints s(given.channels), q(given.channels);
    path.sums(given.x.data(), rows, given.channels, given.layer.flip, s.data(), q.data());
    std::copy(s.data(), s.data() + given.channels, sum.data());
    std::copy(q.data(), q.data() + given.channels, square.data());
  }
  std::size_t width;
  Ints sum, square;
  Floats mean, excess, scale, offset, room;
};

inline void test_sums(Case& given) {
  const std::size_t rows = given.random.chance(0.05) ? 0 : given.rows, channels = given.channels;
  const Stages wanted(kScalar, given, rows);
  for (std::size_t c = 0; c < channels; ++c) {
    std::int64_t sum = 0, square = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      const int byte = given.x[row * channels + c], value = given.layer.flip ? (byte + 128) % 256 : byte;
      sum += value;
      square += value * value;
    }
    if (sum != wanted.sum[c] || square != wanted.square[c])
      fail(given, kScalar.name, "the sums of channel %zu are %d and %d, not %lld and %lld", c, wanted.sum[c],
           wanted.square[c], static_cast<long long>(sum), static_cast<long long>(square));
  }
  for (const Path* path : others()) {
    const Stages found(*path, given, rows);
    compare(given, *path, "sum", found.sum.data(), wanted.sum.data(), channels);
    compare(given, *path, "square", found.square.data(), wanted.square.data(), channels);
  }
}

// The largest sums that fit.
inline void test_limits() {
  current_group = "limits";
  for (const std::size_t channels : {1, 8, 16, 33}) {
    const std::size_t size = leantta::kMostRows * channels;
    Bytes x(size);
    std::memset(x.data(), 255, size);
    for (const Path* path : others_and_scalar()) {
      Ints sum(channels), square(channels);
      path->sums(x.data(), leantta::kMostRows, channels, 0, sum.data(), square.data());
      for (std::size_t c = 0; c < channels; ++c)
        if (sum[c] != 255 * 32768 || square[c] != 255 * 255 * 32768) {
          std::printf("limits: the path %s sums 32768 rows of 255 to %d and %d\n", path->name, sum[c], square[c]);
          std::exit(1);
        }
    }
  }
  std::puts("limits: 4 cases");
}

inline void test_shift(Case& given) {
  Stages wanted(kScalar, given, given.rows);
  const double rows = static_cast<double>(given.rows);
  kScalar.shift(given.layer, rows, wanted.sum.data(), wanted.square.data(), wanted.mean.data(), wanted.excess.data());
  for (const Path* path : others()) {
    Stages found(*path, given, given.rows);
    path->shift(given.layer, rows, wanted.sum.data(), wanted.square.data(), found.mean.data(), found.excess.data());
    compare(given, *path, "mean", found.mean.data(), wanted.mean.data(), found.width);
    compare(given, *path, "excess", found.excess.data(), wanted.excess.data(), found.width);
  }
}

inline void test_shift_of_totals(Case& given) {
  const Stages one(kScalar, given, given.rows);
  const double times = 1 + static_cast<double>(given.random.below(100000));
  const double rows = times * static_cast<double>(given.rows);
  Exact<double> sum(one.width), square(one.width);
  for (std::size_t c = 0; c < one.width; ++c) sum[c] = times * one.sum[c], square[c] = times * one.square[c];
  Floats mean(one.width), excess(one.width), other_mean(one.width), other_excess(one.width);
  kScalar.shift_of_totals(given.layer, rows, sum.data(), square.data(), mean.data(), excess.data());
  for (const Path* path : others()) {
    path->shift_of_totals(given.layer, rows, sum.data(), square.data(), other_mean.data(), other_excess.data());
    compare(given, *path, "mean", other_mean.data(), mean.data(), one.width);
    compare(given, *path, "excess", other_excess.data(), excess.data(), one.width);
  }
}

// Shifts of a sample, or any: variances from nothing to the largest, and what is not a number.
inline void choose_shift(Case& given, Stages& stages) {
  const double rows = static_cast<double>(given.rows);
  kScalar.shift(given.layer, rows, stages.sum.data(), stages.square.data(), stages.mean.data(), stages.excess.data());
  const bool any = given.random.chance(0.5), special = given.random.chance(0.2);
  for (std::size_t c = 0; c < given.channels && any; ++c) {
    if (given.layer.ratio[c] == 0) continue;
    stages.mean[c] = given.random.between(-3, 3);
    stages.excess[c] = given.random.power(-9, 3) - given.layer.ratio[c];
    if (given.random.chance(0.1)) stages.excess[c] = -1;
    if (!special || !given.random.chance(0.1)) continue;
    stages.mean[c] = given.random.of<float>({NAN, INFINITY, -INFINITY, 1e38f, 0});
    stages.excess[c] = given.random.of<float>({NAN, INFINITY, 1e38f, 0});
  }
}

inline void test_answer(Case& given) {
  Stages wanted(kScalar, given, given.rows);
  choose_shift(given, wanted);
  const Floats mean(wanted.width, 0, wanted.mean.data()), excess(wanted.width, 0, wanted.excess.data());
  const std::size_t size = given.memory_size();
  Floats before(size, 0, given.before.data()), after(size);
  if (size && given.random.chance(0.2))
    before[given.random.below(size)] = given.random.of<float>({NAN, INFINITY, -INFINITY, 1e38f, 0, -1});
  const auto memory = [&](Floats& to) { return size ? Memory{before.data(), 0, to.data()} : Memory{}; };
  const float distance =
      kScalar.answer(given.layer, wanted.mean.data(), wanted.excess.data(), wanted.room.data(), memory(after));
  for (const Path* path : others()) {
    Floats other_mean(wanted.width, 0, mean.data()), other_var(wanted.width, 0, excess.data()), room(2 * wanted.width);
    Floats other_after(size);
    const float other =
        path->answer(given.layer, other_mean.data(), other_var.data(), room.data(), memory(other_after));
    compare(given, *path, "distance", &other, &distance, 1);
    compare(given, *path, "the answer's mean", other_mean.data(), wanted.mean.data(), wanted.width);
    compare(given, *path, "the answer's variance", other_var.data(), wanted.excess.data(), wanted.width);
    compare(given, *path, "memory", other_after.data(), after.data(), size);
  }
}

// The filter's logarithm and exponential over all that it clips, and beyond: by a filter of one channel whose answer to
// the mean is the variance, and to the variance the mean.
inline void test_functions() {
  current_group = "functions";
  constexpr std::size_t lanes = leantta::kLanes, steps = 200000;
  Floats ratio(lanes), into(2 * lanes * lanes), back(2 * 2 * lanes), weight(lanes), mean(lanes), excess(lanes),
      room(2 * lanes);
  for (Floats* values : {&ratio, &into, &back, &weight}) std::fill(values->data(), values->data() + values->size(), 0);
  ratio[0] = into[0] = into[lanes * lanes + 1] = 1;  // the mean is the first inner value, the variance the second
  back[lanes] = back[2 * lanes] = 1;                 // columns of variances are the second block
  Layer layer;
  layer.channels = 1;
  layer.gate = Gate::kFilter;
  layer.rank = 2;
  layer.ratio = ratio.data();
  layer.into = into.data();
  layer.back = back.data();
  layer.inner_weight = weight.data();
  for (std::size_t i = 0; i <= steps; ++i) {
    const double part = static_cast<double>(i) / steps;
    const float x = static_cast<float>(8 * part - 4), e = static_cast<float>(std::exp(10 * part - 5) - 1);
    std::fill(mean.data(), mean.data() + lanes, 0);
    std::fill(excess.data(), excess.data() + lanes, 0);
    mean[0] = x, excess[0] = e;
    plain_path().answer(layer, mean.data(), excess.data(), room.data(), {});
    const double log = std::clamp(std::log(1 + static_cast<double>(e)), -4.0, 4.0);
    const double exp = std::exp(std::clamp(static_cast<double>(x), -3.0, 3.0));
    const double log_off = std::fabs(mean[0] - log), exp_off = std::fabs(excess[0] - exp) / exp;
    if (log_off <= 3e-7 + kUlp && exp_off <= 2e-7) continue;  // 1 + e is rounded before its logarithm is taken
    std::printf("functions: log(1 + %.9g) is %.9g and exp(%.9g) is %.9g\n", e, mean[0], x, excess[0]);
    std::exit(1);
  }
  std::puts("functions: 200001 cases");
}

inline void test_coefficients(Case& given) {
  Stages wanted(kScalar, given, given.rows);
  Floats &mean = wanted.mean, &var = wanted.excess;
  const bool special = given.random.chance(0.3);
  for (std::size_t c = 0; c < wanted.width; ++c) {
    mean[c] = given.random.between(-3, 3);
    var[c] = given.random.power(-3, 3);
    if (!special || !given.random.chance(0.3)) continue;
    mean[c] = given.random.of<float>({NAN, INFINITY, -INFINITY, 1e38f, 0, 1e-42f});
    var[c] = given.random.of<float>({NAN, INFINITY, 0, -0.0f, 1e-42f, 1e38f, -1});
  }
  kScalar.coefficients(given.layer, mean.data(), var.data(), wanted.scale.data(), wanted.offset.data());
  for (const Path* path : others()) {
    Floats scale(wanted.width), offset(wanted.width);
    path->coefficients(given.layer, mean.data(), var.data(), scale.data(), offset.data());
    compare(given, *path, "scale", scale.data(), wanted.scale.data(), wanted.width);
    compare(given, *path, "offset", offset.data(), wanted.offset.data(), wanted.width);
  }
}

// Slopes and offsets as networks have them, or with ties at every other byte, or at the ends of what is allowed.
inline void choose_line(Case& given, Floats& scale, Floats& offset) {
  const std::uint64_t kind = given.random.below(3);
  for (std::size_t c = 0; c < scale.size(); ++c) {
    scale[c] = given.random.between(-2, 2);
    offset[c] = given.random.between(-200, 400);
    if (kind == 1) {
      scale[c] = given.random.of<float>({0.5f, -0.5f, 0.25f, 1, 1.5f});
      offset[c] = 0.5f * static_cast<float>(given.random.below(512));
    }
    if (kind == 2 && given.random.chance(0.5)) {
      scale[c] = given.random.of<float>({0x1p20f, -0x1p20f, 0, -0.0f, 1e-42f});
      offset[c] = given.random.of<float>({0x1p30f, -0x1p30f, 0, -0.0f, 127.5f});
    }
  }
}

inline void test_apply(Case& given) {
  const std::size_t size = given.x.size(), place = given.random.below(64);
  Floats scale(padded(given.channels)), offset(padded(given.channels));
  choose_line(given, scale, offset);
  const std::uint8_t* r = given.layer.has_residual ? given.r.data() : nullptr;
  Bytes wanted(size);
  kScalar.apply(given.layer, given.x.data(), r, wanted.data(), given.rows, scale.data(), offset.data());
  for (const Path* path : others_and_scalar()) {
    Bytes found(size, place), over_x(size, place, given.x.data()), over_r(size, place, given.r.data());
    path->apply(given.layer, given.x.data(), r, found.data(), given.rows, scale.data(), offset.data());
    compare(given, *path, "y", found.data(), wanted.data(), size);
    path->apply(given.layer, over_x.data(), r, over_x.data(), given.rows, scale.data(), offset.data());
    compare(given, *path, "y in the place of x", over_x.data(), wanted.data(), size);
    if (!r) continue;
    path->apply(given.layer, given.x.data(), over_r.data(), over_r.data(), given.rows, scale.data(), offset.data());
    compare(given, *path, "y in the place of r", over_r.data(), wanted.data(), size);
  }
}

inline void test_planes(Case& given) {
  const std::size_t count = given.random.of<std::size_t>({1, 2, 15, 16, 17, 31, 32, 33, 49, 255, 1000});
  Floats x(count, given.random.below(16)), wanted(count);
  const double middle = given.random.between(-3, 3), spread = given.random.power(-3, 1);
  for (std::size_t i = 0; i < count; ++i) x[i] = given.random.between(middle - spread, middle + spread);
  float mean, var;
  plain_path().plane_moments(x.data(), count, &mean, &var);
  const Moments exact = moments({x.data(), x.data() + count}, 8 + static_cast<double>(count) / 16, 0);
  if (!(std::fabs(mean - exact.mean.value) <= exact.mean.error && std::fabs(var - exact.var.value) <= exact.var.error))
    fail(given, plain_path().name, "mean and variance of %zu values are %.9g and %.9g, not %.9g and %.9g", count, mean,
         var, exact.mean.value, exact.var.value);
  const float scale = given.random.between(-2, 2), offset = given.random.between(-2, 2);
  kScalar.plane_apply(x.data(), wanted.data(), count, scale, offset);
  for (std::size_t i = 0; i < count; ++i) {
    const double product = static_cast<double>(x[i]) * scale;
    if (!(std::fabs(wanted[i] - (product + offset)) <= 4 * kUlp * (std::fabs(product) + std::fabs(offset))))
      fail(given, kScalar.name, "%.9g * %.9g + %.9g is not %.9g", x[i], scale, offset, wanted[i]);
  }
  for (const Path* path : others()) {
    float other_mean, other_var;
    path->plane_moments(x.data(), count, &other_mean, &other_var);
    compare(given, *path, "mean", &other_mean, &mean, 1);
    compare(given, *path, "variance", &other_var, &var, 1);
    Floats found(count, given.random.below(16)), inside(count, 0, x.data());
    path->plane_apply(x.data(), found.data(), count, scale, offset);
    path->plane_apply(inside.data(), inside.data(), count, scale, offset);
    compare(given, *path, "y", found.data(), wanted.data(), count);
    compare(given, *path, "y in the place of x", inside.data(), wanted.data(), count);
  }
}

}  // namespace leantta_test
