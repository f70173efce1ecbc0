// Layers and inputs by a seed: usual ones, and what nobody should ever give to the kernel.
#pragma once

#include <cmath>
#include <cstdint>
#include <algorithm>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../kernel.h"
#include "exact_memory.h"

namespace leantta_test {

using leantta::Affine;
using leantta::Gate;
using leantta::Layer;
using leantta::Memory;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  bool chance(double share) { return unit() < share; }
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  float between(double low, double high) { return static_cast<float>(low + (high - low) * unit()); }
  float power(double low, double high) { return static_cast<float>(std::pow(10.0, low + (high - low) * unit())); }
  template <typename T>
  T of(std::initializer_list<T> list) {
    return *(list.begin() + below(list.size()));
  }

 private:
  std::mt19937_64 engine_;
};

// A filter as the operator has it: `into` is (2 * channels, rank), `back` (rank, 2 * channels).
struct Filter {
  std::vector<float> into, back, weight;
};

constexpr std::size_t kMostSamples = 4;

struct Case {
  explicit Case(std::uint64_t number, std::size_t most_rows = 1000);

  std::uint64_t seed;
  Random random;  // for what a group of tests needs beyond the case
  bool extreme;   // scales from 1e-42 to 1e30, not only those of networks
  bool special;   // NaN, infinities and the like among the constants
  std::size_t channels, rows, samples = 1;
  Exact<float> u_scale, u_zero, gamma, beta, ratio, mean_weight, var_weight;
  Exact<std::uint8_t> x, r;
  Filter filter;
  std::size_t rank;  // of the filter; 0 with another gate
  Exact<float> into, back, inner_weight;
  bool remembers, one_row = false;  // the filter has a memory, and it is the same for all samples
  Exact<float> before;              // (kMostSamples, memory_size(layer)), if it has
  Layer layer;

  // The memory of so many samples; what they remember goes to `after`.
  Memory memory(float* after) const {
    if (!remembers) return {};
    return {before.data(), one_row ? 0 : leantta::memory_size(layer), after};
  }
  std::size_t memory_size() const { return remembers ? leantta::memory_size(layer) : 0; }
  std::string shown() const;

 private:
  Affine affine();
  void fill(Exact<float>& values, double low, double high, float padding, bool may_be_special);
  void fill(Exact<std::uint8_t>& bytes);
  void fill_u();
  void fill_blend();
  void fill_filter();
  void fill_memory();
};

inline std::size_t channels_of(Random& random) {
  if (random.chance(0.85)) return 1 + random.below(70);
  return random.of<std::size_t>({96, 128, 192, 255, 256, 257, 320, 1280});
}

inline std::size_t rows_of(Random& random, std::size_t channels, std::size_t most) {
  const std::size_t rows = random.of<std::size_t>({1, 1, 2, 3, 4, 7, 16, 49, 64, 255, 256, 257, 513, 1000});
  const std::size_t limit = channels > 70 ? 257 : most;
  return rows < limit ? rows : limit;
}

inline std::size_t rank_of(Random& random, std::size_t channels) {
  if (random.chance(0.66)) return 0;
  const std::size_t rank = random.of<std::size_t>({1, 3, 15, 16, 16, 16, 17, 40, 140});
  return std::min(rank, 2 * channels);
}

inline Case::Case(std::uint64_t number, std::size_t most_rows)
    : seed(number),
      random(number),
      extreme(random.chance(0.3)),
      special(random.chance(0.2)),
      channels(channels_of(random)),
      rows(rows_of(random, channels, most_rows)),
      u_scale(leantta::padded(channels)),
      u_zero(leantta::padded(channels)),
      gamma(leantta::padded(channels)),
      beta(leantta::padded(channels)),
      ratio(leantta::padded(channels)),
      mean_weight(leantta::padded(channels)),
      var_weight(leantta::padded(channels)),
      x(channels * rows, random.below(64)),
      r(channels * rows, random.below(64)),
      rank(rank_of(random, channels)),
      into(2 * leantta::padded(channels) * leantta::padded(rank)),
      back(rank * 2 * leantta::padded(channels)),
      inner_weight(leantta::padded(rank)),
      remembers(rank && random.chance(0.5)),
      before(remembers ? kMostSamples * (rank + 2 * channels + 2) : 0) {
  fill(x);
  fill(r);
  fill(gamma, -2, 2, 0, special);
  fill(beta, -2, 2, 0, special);
  fill(ratio, random.chance(0.2) ? 1 : 0.5, 1, 1, false);
  if (random.chance(0.3))
    for (std::size_t c = 0; c < channels; ++c)
      if (random.chance(0.2)) ratio[c] = 0;  // a dead channel
  fill(mean_weight, 0, random.chance(0.5) ? 2 : 0.05, 0, false);
  fill(var_weight, 0, random.chance(0.5) ? 2 : 0.05, 0, false);
  layer.channels = channels;
  fill_u();
  layer.y = affine();
  layer.r = affine();
  layer.flip = random.chance(0.5) ? 0x80 : 0;
  layer.has_residual = random.chance(0.4);
  layer.hard_swish = random.chance(0.3);
  layer.gate = rank ? Gate::kFilter : random.of({Gate::kAdaptive, Gate::kCalibrated});
  rank ? fill_filter() : fill_blend();
  layer.u_scale = u_scale.data();
  layer.u_zero = u_zero.data();
  layer.gamma = gamma.data();
  layer.beta = beta.data();
  layer.ratio = ratio.data();
}

inline void Case::fill_blend() {
  if (layer.gate == Gate::kCalibrated) {
    layer.low = random.chance(0.1) ? 1 : random.between(0, 0.4);
    layer.room = random.chance(0.1) ? 1 - layer.low : random.between(0, 0.5);
  } else {
    const double free = random.chance(0.1) ? random.below(2) : random.unit(), trust = random.unit();
    layer.low = static_cast<float>(free * (1 - trust));
    layer.room = static_cast<float>(free * trust);
    layer.rate = static_cast<float>(-free * free);
  }
  layer.mean_weight = mean_weight.data();
  layer.var_weight = layer.gate == Gate::kCalibrated ? var_weight.data() : nullptr;
}

// A matrix (rows, columns) in blocks of kLanes columns; `row` and `column` tell where a row and a column go.
template <typename Row, typename Column>
void put_in_blocks(const std::vector<float>& matrix, std::size_t columns, std::size_t all_rows, Exact<float>& blocks,
                   Row row, Column column) {
  std::fill(blocks.data(), blocks.data() + blocks.size(), 0.0f);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const std::size_t to = column(i % columns), first = to - to % leantta::kLanes;
    blocks[first * all_rows + row(i / columns) * leantta::kLanes + to - first] = matrix[i];
  }
}

// Sums of 2 * channels terms that stay about as large as these; columns of dead channels are zero.
inline void Case::fill_filter() {
  const std::size_t both = 2 * channels, width = leantta::padded(channels);
  const double size = random.of({0.5, 2.0}) / std::sqrt(static_cast<double>(both)), answer = random.of({0.3, 1.0, 3.0});
  for (std::size_t i = 0; i < both * rank; ++i) {
    filter.into.push_back(random.between(-size, size));
    filter.back.push_back(ratio[i % both % channels] == 0 ? 0 : random.between(-answer, answer));
  }
  std::fill(inner_weight.data(), inner_weight.data() + inner_weight.size(), 0.0f);
  for (std::size_t k = 0; k < rank; ++k) filter.weight.push_back(inner_weight[k] = random.between(0, 2));
  const auto spread = [=](std::size_t i) { return i < channels ? i : i - channels + width; };
  const auto same = [](std::size_t i) { return i; };
  put_in_blocks(filter.into, rank, 2 * width, into, spread, same);
  put_in_blocks(filter.back, both, rank, back, same, spread);
  layer.shrink = random.chance(0.3) ? 0 : random.between(0, random.of({0.5, 5.0}));
  layer.rank = rank;
  layer.into = into.data();
  layer.back = back.data();
  layer.inner_weight = inner_weight.data();
  if (remembers) fill_memory();
}

// Short and long memories, in doubt and trusted, and some of nothing.
inline void Case::fill_memory() {
  layer.length = random.of<float>({1, 2.5f, 8});
  one_row = random.chance(0.2);
  const float size = random.of<float>({0.1f, 1});
  for (std::size_t sample = 0; sample < kMostSamples; ++sample) {
    float* row = before.data() + sample * memory_size();
    const bool nothing = random.chance(0.15);
    const std::size_t squares = rank + channels, means = squares + channels;
    for (std::size_t k = 0; k < squares; ++k) row[k] = nothing ? 0 : random.between(-size, size);
    for (std::size_t k = squares; k < means; ++k) row[k] = nothing ? 0 : random.between(0.1, 3);
    row[means] = nothing ? 0 : static_cast<float>(1 + random.below(8));
    row[means + 1] = nothing ? 0 : random.between(-0.2, 1);
  }
}

inline Affine Case::affine() {
  Affine made;
  made.scale = extreme ? random.power(-30, 30) : random.power(-2.5, -0.5);
  if (extreme && random.chance(0.05)) made.scale = 1e-42f;
  made.zero = random.chance(0.5) ? random.of<float>({0, 128, 255}) : static_cast<float>(random.below(256));
  return made;
}

inline void Case::fill(Exact<float>& values, double low, double high, float padding, bool may_be_special) {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t c = 0; c < values.size(); ++c) {
    values[c] = c < channels ? random.between(low, high) : padding;
    if (may_be_special && c < channels && random.chance(0.3))
      values[c] = random.of<float>({nan, inf, -inf, 0, -0.0f, 1e-42f, 1e30f, -1e30f});
  }
}

inline void Case::fill(Exact<std::uint8_t>& bytes) {
  const std::uint64_t kind = random.below(8), level = random.below(240);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::uint64_t value = random.below(256);
    if (kind == 0) value = 0;
    if (kind == 1) value = 255;
    if (kind == 2) value = i % 2 * 255;
    if (kind == 3) value = i / channels % 2 * 255;
    if (kind == 4) value = level + value % 16;
    bytes[i] = static_cast<std::uint8_t>(value);
  }
}

// What the bytes of u stand for: the same in every channel, or not.
inline void Case::fill_u() {
  const Affine all = affine();
  const bool alike = random.chance(0.5);
  for (std::size_t c = 0; c < u_scale.size(); ++c) {
    const bool real = c < channels;
    u_scale[c] = !real ? 1 : alike ? all.scale : all.scale * random.between(0.2, 1);
    u_zero[c] = !real ? 0 : alike || random.chance(0.8) ? all.zero : static_cast<float>(random.below(256));
  }
}

inline std::string Case::shown() const {
  const auto affine = [](const char* name, const Affine& a) {
    char text[80];
    std::snprintf(text, sizeof text, ", %s scale %.9g zero %g", name, a.scale, a.zero);
    return std::string(text);
  };
  char gate[160];
  if (layer.gate == Gate::kFilter)
    std::snprintf(gate, sizeof gate, "filter of rank %zu, shrink %.9g, memory of %g", layer.rank, layer.shrink,
                  remembers ? layer.length : 0);
  else
    std::snprintf(gate, sizeof gate, "%s gate, low %.9g room %.9g rate %.9g",
                  layer.gate == Gate::kCalibrated ? "calibrated" : "paper's", layer.low, layer.room, layer.rate);
  return std::to_string(channels) + " channels, " + std::to_string(rows) + " rows, " +
         std::to_string(samples) + " samples, " +
         (layer.flip ? "int8" : "uint8") + (layer.has_residual ? ", residual" : "") +
         (layer.hard_swish ? ", hard-swish" : "") + (special ? ", special constants" : "") + ", " + gate +
         affine("first u", {u_scale[0], u_zero[0]}) + affine("y", layer.y) + affine("r", layer.r);
}

}  // namespace leantta_test
