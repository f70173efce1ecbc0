// Times the passes of the kernel on every path of this processor, and three other ways to write bytes with AVX2 that
// were tried, all taking turns. One line of JSON per pass: {"rows", "channels", "pass", "ns": [per value, ...]}.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "../../native/kernel.h"

#if defined(LEANTTA_AVX2)
#include <immintrin.h>
#endif

namespace {

using leantta::Gate;
using leantta::Layer;
using leantta::Path;
using leantta::padded;

constexpr int kRounds = 40, kCalls = 20;
constexpr std::size_t kRank = 16;  // of the filter

struct Pass {
  std::string name;
  std::function<void()> run;
  std::vector<double> ns;
};

#if defined(LEANTTA_AVX2)
using Bytes = std::uint8_t;

__attribute__((target("avx2,fma"))) void store(Bytes* y, const __m256i* v) {
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm256_permutevar8x32_epi32(bytes, order));
}

// Rounds by adding 1.5 * 2^23 instead of converting.
__attribute__((target("avx2,fma"))) void by_adding(const Bytes* x, Bytes* y, std::size_t rows, std::size_t channels,
                                                   const float* scale, const float* offset) {
  const __m256 lift = _mm256_set1_ps(0x1.8p23f);
  for (std::size_t c = 0; c + 32 <= channels; c += 32)
    for (std::size_t i = c; i < rows * channels; i += channels) {
      __m256i v[4];
      for (int k = 0; k < 4; ++k) {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x + i + 8 * k));
        const __m256 t = _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)),
                                         _mm256_loadu_ps(scale + c + 8 * k), _mm256_loadu_ps(offset + c + 8 * k));
        v[k] = _mm256_sub_epi32(_mm256_castps_si256(_mm256_add_ps(t, lift)), _mm256_castps_si256(lift));
      }
      store(y + i, v);
    }
}

// 16-bit fixed point: one rounded product, not within one rounding of the exact value.
__attribute__((target("avx2,fma"))) void in_words(const Bytes* x, Bytes* y, std::size_t rows, std::size_t channels,
                                                  const float* scale, const float* offset) {
  for (std::size_t c = 0; c + 32 <= channels; c += 32) {
    const __m256i g = _mm256_set1_epi16(static_cast<short>(scale[c] * 16384));
    const __m256i h = _mm256_set1_epi16(static_cast<short>(offset[c] * 64));
    for (std::size_t i = c; i < rows * channels; i += channels) {
      __m256i v[2];
      for (int k = 0; k < 2; ++k) {
        const __m256i wide =
            _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i + 16 * k)));
        v[k] = _mm256_srai_epi16(_mm256_adds_epi16(_mm256_mulhrs_epi16(_mm256_slli_epi16(wide, 7), g), h), 6);
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i),
                          _mm256_permute4x64_epi64(_mm256_packus_epi16(v[0], v[1]), 0xd8));
    }
  }
}

// 32-bit fixed point: multiply-adds of (byte, 64) with (scale, offset).
__attribute__((target("avx2,fma"))) void in_pairs(const Bytes* x, Bytes* y, std::size_t rows, std::size_t channels,
                                                  const float* scale, const float* offset) {
  const __m256i unit = _mm256_set1_epi16(64);
  for (std::size_t c = 0; c + 32 <= channels; c += 32) {
    const int pair = (static_cast<int>(offset[c] * 64) << 16) | (static_cast<int>(scale[c] * 4096) & 0xffff);
    const __m256i g = _mm256_set1_epi32(pair);
    for (std::size_t i = c; i < rows * channels; i += channels) {
      __m256i v[2];
      for (int k = 0; k < 2; ++k) {
        const __m256i wide =
            _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i + 16 * k)));
        const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(wide, unit), g);
        const __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(wide, unit), g);
        v[k] = _mm256_packs_epi32(_mm256_srai_epi32(low, 12), _mm256_srai_epi32(high, 12));
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i),
                          _mm256_permute4x64_epi64(_mm256_packus_epi16(v[0], v[1]), 0xd8));
    }
  }
}
#endif

void measure(std::size_t rows, std::size_t channels) {
  const std::size_t width = padded(channels), size = rows * channels;
  std::vector<std::uint8_t> x(size), y(size);
  for (std::size_t i = 0; i < size; ++i) x[i] = static_cast<std::uint8_t>((i * 2654435761u) >> 13);
  std::vector<float> ones(width, 1.0f), u_scale(width, 0.03f), u_zero(width, 128.0f), values(4 * width);
  std::vector<std::int32_t> sums(2 * width);
  Layer layer;
  layer.channels = channels;
  layer.y = {0.05f, 0};
  layer.r = {0.02f, 3};
  layer.low = 0.01f, layer.room = 0.09f, layer.rate = -0.01f;
  layer.u_scale = u_scale.data();
  layer.u_zero = u_zero.data();
  layer.gamma = layer.beta = layer.ratio = layer.mean_weight = layer.var_weight = ones.data();
  Layer adding = layer;
  adding.has_residual = true;
  Layer calibrated = layer, filter = layer;
  calibrated.gate = Gate::kCalibrated;
  filter.gate = Gate::kFilter;
  filter.rank = kRank;
  filter.shrink = 0.1f;
  std::vector<float> matrix(2 * width * padded(kRank)), any_shift(2 * width);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = 0.01f * float(i % 7) - 0.03f;
  for (std::size_t i = 0; i < 2 * width; ++i) any_shift[i] = 0.1f * float(i % 9) - 0.4f;
  filter.into = filter.back = matrix.data();
  filter.inner_weight = ones.data();
  float *mean = values.data(), *excess = mean + width, *scale = excess + width, *offset = scale + width;
  std::vector<Pass> passes;
  std::size_t count = 0;
  const Path* const* list = leantta::paths(&count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!list[i]->supported()) continue;
    const Path& path = *list[i];
    const std::string end = std::string(" ") + path.name;
    passes.push_back({"sums" + end, [&] { path.sums(x.data(), rows, channels, 0, &sums[0], &sums[width]); }, {}});
    passes.push_back(
        {"shift" + end, [&] { path.shift(layer, double(rows), &sums[0], &sums[width], mean, excess); }, {}});
    for (const auto& [gate, of] : {std::pair{"paper", &layer}, {"calibrated", &calibrated}, {"filter", &filter}})
      passes.push_back({std::string("answer of the gate ") + gate + end,
                        [&, of = of] {
                          std::copy(any_shift.begin(), any_shift.end(), mean);
                          path.answer(*of, mean, excess, scale);
                        },
                        {}});
    passes.push_back({"coefficients" + end, [&] { path.coefficients(layer, mean, excess, scale, offset); }, {}});
    passes.push_back({"apply" + end, [&] { path.apply(layer, x.data(), nullptr, y.data(), rows, scale, offset); }, {}});
    passes.push_back(
        {"apply and add" + end, [&] { path.apply(adding, x.data(), x.data(), y.data(), rows, scale, offset); }, {}});
  }
#if defined(LEANTTA_AVX2)
  if (leantta::kAvx2.supported()) {
    passes.push_back(
        {"apply, rounding by adding", [&] { by_adding(x.data(), y.data(), rows, channels, scale, offset); }, {}});
    passes.push_back(
        {"apply, 16-bit fixed point", [&] { in_words(x.data(), y.data(), rows, channels, scale, offset); }, {}});
    passes.push_back(
        {"apply, 32-bit fixed point", [&] { in_pairs(x.data(), y.data(), rows, channels, scale, offset); }, {}});
  }
#endif
  for (int round = 0; round <= kRounds; ++round)  // the first warms up
    for (Pass& pass : passes) {
      const auto start = std::chrono::steady_clock::now();
      for (int call = 0; call < kCalls; ++call) pass.run();
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
      if (round) pass.ns.push_back(took.count() / kCalls / double(size));
    }
  for (const Pass& pass : passes) {
    std::printf("{\"rows\": %zu, \"channels\": %zu, \"pass\": \"%s\", \"ns\": [", rows, channels, pass.name.c_str());
    for (std::size_t i = 0; i < pass.ns.size(); ++i) std::printf("%s%.4f", i ? ", " : "", pass.ns[i]);
    std::printf("]}\n");
  }
}

}  // namespace

int main() {
  for (const auto& shape : {std::pair<std::size_t, std::size_t>{1024, 96}, {256, 64}, {64, 384}, {16, 960}, {4, 512},
                            {1, 16}, {1, 32}, {1, 64}, {1, 96}, {1, 144}, {1, 256}})  // of one row: the answers alone
    measure(shape.first, shape.second);
}
