// Whole normalizations of a batch: by every path, in threads, and against the formulas.
#pragma once

#include <memory>

#include "compare.h"
#include "reference.h"

namespace leantta_test {

// Bytes for a batch from those of a case, over and over with a change.
inline std::unique_ptr<Bytes> batch_of(Case& given, const Bytes& from, std::size_t size) {
  auto batch = std::make_unique<Bytes>(size, given.random.below(64));
  for (std::size_t i = 0; i < size; ++i)
    (*batch)[i] = static_cast<std::uint8_t>(from[i % from.size()] + i / from.size() * 7);
  return batch;
}

// The layer of the case as the float form has it.
inline Layer float_layer(const Case& given) {
  Layer layer = given.layer;
  layer.y = layer.r = Affine{};
  layer.floats = true;
  layer.has_residual = layer.hard_swish = false;
  layer.flip = 0;
  return layer;
}

inline std::unique_ptr<Floats> planes_of(Case& given, std::size_t size) {
  auto planes = std::make_unique<Floats>(size, given.random.below(16));
  const double middle = given.random.between(-2, 2);
  for (std::size_t i = 0; i < size; ++i) (*planes)[i] = given.random.between(middle - 2, middle + 2);
  return planes;
}

// Compares what all paths do with a batch; `run(path, pool, x, y, distance, after)` runs one.
template <typename T, typename Run>
void compare_runs(const Case& given, const Exact<T>& x, bool threads, Run run) {
  Exact<T> wanted(x.size());
  const std::size_t remembered = given.samples * given.memory_size();
  Floats distance(given.samples), after(remembered);
  run(kScalar, kSerial, x.data(), wanted.data(), distance.data(), after.data());
  for (const Path* path : others_and_scalar()) {
    std::atomic<int> calls{0};
    const Pool pool = threads ? Pool{&calls, run_in_threads} : kSerial;
    Exact<T> found(x.size()), inside(x.size(), 0, x.data());
    Floats other(given.samples), other_after(remembered), after_inside(remembered);
    const bool done = run(*path, pool, x.data(), found.data(), other.data(), other_after.data()) &&
                      run(*path, pool, inside.data(), inside.data(), nullptr, after_inside.data());
    if (!done) fail(given, path->name, "memory is short");
    if (threads && calls == 0) fail(given, path->name, "the pool was not asked");
    compare(given, *path, "distance", other.data(), distance.data(), given.samples);
    compare(given, *path, "y", found.data(), wanted.data(), x.size());
    compare(given, *path, "y in the place of x", inside.data(), wanted.data(), x.size());
    compare(given, *path, "memory", other_after.data(), after.data(), remembered);
    compare(given, *path, "memory with y in the place of x", after_inside.data(), after.data(), remembered);
  }
}

inline void compare_normalize(Case& given, std::size_t samples, std::size_t rows, bool threads) {
  given.samples = samples;
  given.rows = rows;
  const std::size_t size = samples * rows * given.channels;
  const auto x = batch_of(given, given.x, size), r = batch_of(given, given.r, size);
  const std::uint8_t* residual = given.layer.has_residual ? r->data() : nullptr;
  compare_runs(given, *x, threads, [&](const Path& path, const Pool& pool, const auto* from, auto* to,
                                       float* distance, float* after) {
    return leantta::normalize(path, given.layer, pool, from, residual, to, distance, given.memory(after), samples,
                              rows);
  });
}

inline void compare_normalize_planes(Case& given, std::size_t samples, std::size_t count, bool threads) {
  given.samples = samples;
  given.rows = count;
  const Layer layer = float_layer(given);
  const auto x = planes_of(given, samples * given.channels * count);
  compare_runs(given, *x, threads, [&](const Path& path, const Pool& pool, const auto* from, auto* to,
                                       float* distance, float* after) {
    return leantta::normalize_planes(path, layer, pool, from, to, distance, given.memory(after), samples, count);
  });
}

inline void test_batches(Case& given) {
  const std::size_t samples = given.random.of<std::size_t>({0, 1, 3});
  const std::size_t rows = given.random.chance(0.05) ? 0 : given.rows;
  const std::size_t count = given.random.of<std::size_t>({0, 1, 2, 15, 16, 49, 100});
  compare_normalize(given, samples, rows, false);
  compare_normalize_planes(given, samples, count, false);
}

// More rows than one call of `sums` may have, or more values than one task has: above what normalize.cpp does alone.
inline void test_large_batches(Case& given) {
  const bool many_rows = given.channels <= 4;
  const std::size_t rows = many_rows ? leantta::kMostRows * (1 + given.random.below(3)) + given.random.below(3)
                                     : 200000 / given.channels;
  compare_normalize(given, many_rows ? 4 : 1 + given.random.below(2), rows, true);
  compare_normalize_planes(given, 3, 200000 / given.channels, true);
}

struct Checked {
  std::size_t values = 0, unsure = 0, remembered = 0, unsure_memory = 0;
};

inline Checked& checked() {
  static Checked counts;
  return counts;
}

inline Answer check_distance(const Case& given, const Layer& layer, const std::vector<Moments>& all, float found,
                             const Floats& after) {
  const Answer answer = answer_of(layer, given.filter, given.remembers ? given.before.data() : nullptr, all);
  const Bounded& distance = answer.distance;
  if (in_range(layer) && !(std::fabs(found - distance.value) <= distance.error))
    fail(given, plain_path().name, "the distance is %.9g, by the formula %.9g (+- %.2g)", found, distance.value,
         distance.error);
  for (std::size_t i = 0; i < answer.after.size() && in_range(layer); ++i) {
    const Bounded& wanted = answer.after[i];
    ++checked().remembered;
    if (!(wanted.error < 0.1 * (1 + std::fabs(wanted.value))))
      ++checked().unsure_memory;
    else if (!(std::fabs(after[i] - wanted.value) <= wanted.error))
      fail(given, plain_path().name, "memory %zu is %.9g, by the formula %.9g (+- %.2g)", i, after[i], wanted.value,
           wanted.error);
  }
  return answer;
}

inline void check_bytes(Case& given) {
  const std::size_t channels = given.channels;
  const Layer& layer = given.layer;
  Bytes y(given.x.size());
  Floats after(given.memory_size());
  float found = 0;
  leantta::normalize(plain_path(), layer, kSerial, given.x.data(), given.r.data(), y.data(), &found,
                     given.memory(after.data()), 1, given.rows);
  const auto value = [&](const Bytes& bytes, std::size_t i) {
    return layer.flip ? static_cast<std::int8_t>(bytes[i]) + 128.0 : static_cast<double>(bytes[i]);
  };
  const auto u = [&](std::size_t i) {
    return (value(given.x, i) - layer.u_zero[i % channels]) * layer.u_scale[i % channels];
  };
  std::vector<Moments> all;
  for (std::size_t c = 0; c < channels; ++c) {
    std::vector<double> values;
    for (std::size_t row = 0; row < given.rows; ++row) values.push_back(u(row * channels + c));
    all.push_back(moments(values, 0, 255 * 0x1p-52 * layer.u_scale[c]));
  }
  const Answer answer = check_distance(given, layer, all, found, after);
  for (std::size_t c = 0; c < channels; ++c) {
    const Line one = line(layer, c, answer);
    for (std::size_t row = 0; row < given.rows; ++row) {
      const std::size_t i = row * channels + c;
      const Bounded wanted = in_steps(layer, c, one, u(i), (value(given.r, i) - layer.r.zero) * layer.r.scale);
      ++checked().values;
      if (!(wanted.error < 0.5)) {
        ++checked().unsure;
        continue;
      }
      const double clipped = std::fmin(255, std::fmax(0, wanted.value));
      if (!(std::fabs(value(y, i) - clipped) <= 0.5 + wanted.error))
        fail(given, plain_path().name, "channel %zu of row %zu is %g, by the formula %.9g (+- %.2g)", c, row,
             value(y, i), clipped, wanted.error);
    }
  }
}

inline void check_floats(Case& given) {
  const std::size_t count = given.random.of<std::size_t>({1, 2, 16, 33, 100});
  const Layer layer = float_layer(given);
  const auto x = planes_of(given, given.channels * count);
  Floats y(x->size()), after(given.memory_size());
  float found = 0;
  leantta::normalize_planes(plain_path(), layer, kSerial, x->data(), y.data(), &found, given.memory(after.data()), 1,
                            count);
  std::vector<Moments> all;
  for (std::size_t c = 0; c < given.channels; ++c)
    all.push_back(moments({x->data() + c * count, x->data() + (c + 1) * count}, 24, 0));
  const Answer answer = check_distance(given, layer, all, found, after);
  for (std::size_t i = 0; i < x->size(); ++i) {
    const Bounded wanted = in_steps(layer, i / count, line(layer, i / count, answer), (*x)[i], 0);
    ++checked().values;
    if (!(wanted.error < 0.5))
      ++checked().unsure;
    else if (!(std::fabs(y[i] - wanted.value) <= wanted.error))
      fail(given, plain_path().name, "value %zu of %zu per channel is %.9g, by the formula %.9g (+- %.2g)", i, count,
           y[i], wanted.value, wanted.error);
  }
}

inline void test_formulas(Case& given) {
  check_bytes(given);
  check_floats(given);
}

}  // namespace leantta_test
