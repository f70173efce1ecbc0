// Every path of the depthwise convolution against a plain formula, byte for byte, with inputs and outputs between pages
// that nobody may touch.
//
//     depthwise_test [CASES [SEED]]
//
// Case i has the seed SEED + i. The first difference ends it with code 1 and says how to repeat it.
#include "../depthwise.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "cases.h"
#include "exact_memory.h"

namespace {

using namespace leantta;
using leantta_test::Exact;
using leantta_test::Random;

struct Case {
  explicit Case(unsigned long seed) : random(seed) {
    const bool usual = random.chance(0.7);  // has vectors, if the scales are not too large and the processor can
    layer.channels = 1 + random.below(random.chance(0.5) ? 70 : 20);
    layer.width = usual ? random.of<std::size_t>({3, 5}) : 1 + random.below(6);
    layer.height = usual ? layer.width : 1 + random.below(6);
    layer.across = usual ? 1 + random.below(2) : 1 + random.below(7);
    layer.down = usual ? layer.across : 1 + random.below(7);
    for (std::size_t* padding : {&layer.top, &layer.left, &layer.bottom, &layer.right}) *padding = random.below(7);
    if (random.chance(0.5)) layer.top = layer.left = layer.bottom = layer.right = layer.width / 2;
    const auto size = [&](std::size_t kernel, std::size_t padding) {
      const std::size_t least = kernel > padding ? kernel - padding : random.below(2);
      return least + random.below(random.chance(0.01) ? 300 : random.chance(0.2) ? 40 : 6);
    };
    h = size(layer.height, layer.top + layer.bottom);
    w = size(layer.width, layer.left + layer.right);
    n = random.below(4);
    layer.y_zero = byte();
    layer.outside.assign(layer.channels, byte());
    const float scale = random.power(-5, random.chance(0.1) ? 12 : -1);
    for (std::size_t c = 0; c < layer.channels; ++c) {
      layer.scale.push_back(scale * random.between(0.5, 2));
      layer.bias.push_back(static_cast<std::int32_t>(random.below(1ull << 32) >> random.below(32)));
    }
    const int least = random.chance(0.8) ? -127 : -128;  // not every path has -128
    for (std::size_t i = 0; i < layer.height * layer.width * layer.channels; ++i)
      layer.weights.push_back(static_cast<std::int8_t>(std::max(byte() - 128, least)));
  }

  std::uint8_t byte() {
    return random.chance(0.3) ? random.of<std::uint8_t>({0, 255}) : static_cast<std::uint8_t>(random.below(256));
  }

  Random random;
  Depthwise layer;
  std::size_t n, h, w;
};

std::uint8_t value(const Case& given, const std::uint8_t* x, std::size_t row, std::size_t column, std::size_t c) {
  const Depthwise& layer = given.layer;
  const long h = static_cast<long>(given.h), w = static_cast<long>(given.w);
  const long top = static_cast<long>(row * layer.down) - static_cast<long>(layer.top);
  const long left = static_cast<long>(column * layer.across) - static_cast<long>(layer.left);
  long long sum = layer.bias[c];
  for (std::size_t i = 0; i < layer.height; ++i)
    for (std::size_t j = 0; j < layer.width; ++j) {
      const long r = top + static_cast<long>(i), q = left + static_cast<long>(j);
      const bool inside = r >= 0 && r < h && q >= 0 && q < w;
      const int byte = inside ? x[static_cast<std::size_t>(r * w + q) * layer.channels + c] : layer.outside[c];
      sum += byte * layer.weights[(i * layer.width + j) * layer.channels + c];
    }
  const float steps = std::nearbyint(static_cast<float>(static_cast<std::int32_t>(sum)) * layer.scale[c]);
  return static_cast<std::uint8_t>(std::clamp(static_cast<double>(steps) + layer.y_zero, 0.0, 255.0));
}

void in_reverse(void*, std::size_t count, void (*f)(void*, std::size_t), void* context) {
  while (count) f(context, --count);
}

constexpr const DepthwisePath* kPaths[] = {
    &kScalarDepthwise,
#if defined(LEANTTA_AVX2)
    &kAvx2Depthwise,
#endif
#if defined(LEANTTA_AVX512)
    &kAvx512Depthwise,
    &kAvx512VnniDepthwise,
#endif
#if defined(LEANTTA_NEON)
    &kNeonDepthwise,
#endif
};

// Returns whether the path has the layer.
bool test(unsigned long seed, const DepthwisePath& path) {
  Case given(seed);
  Depthwise& layer = given.layer;
  if (!path.supports(layer)) return false;
  const std::size_t rows = layer.rows_of(given.h), columns = layer.columns_of(given.w), size = layer.channels;
  Exact<std::uint8_t> x(given.n * given.h * given.w * size, seed), y(given.n * rows * columns * size, seed / 4);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = given.byte();
  path.pack(layer);
  convolve(path, layer, {nullptr, in_reverse}, x.data(), y.data(), given.n, given.h, given.w);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t position = i / size, row = position / columns % rows, sample = position / columns / rows;
    const std::uint8_t* of = x.data() + sample * given.h * given.w * size;
    const int wanted = value(given, of, row, position % columns, i % size);
    if (y[i] == wanted) continue;
    std::printf("the path %s: y[%zu] of (%zu, %zu, %zu, %zu) is %d, not %d\n", path.name, i, given.n, rows, columns, size,
                y[i], wanted);
    std::printf("  to repeat it: depthwise_test 1 %lu\n", seed);
    std::exit(1);
  }
  return true;
}

}  // namespace

int main(int count, char** words) {
  const unsigned long cases = count > 1 ? std::strtoul(words[1], nullptr, 10) : 2000;
  const unsigned long first = count > 2 ? std::strtoul(words[2], nullptr, 10) : 1;
  int code = 0;
  for (const DepthwisePath* path : kPaths) {
    unsigned long tested = 0;
    for (unsigned long seed = first; seed < first + cases; ++seed) tested += test(seed, *path);
    std::printf("%s: %lu cases\n", path->name, tested);
    if (path == &kScalarDepthwise && !tested) code = 2;
  }
  return code;
}
