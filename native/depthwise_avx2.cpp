// x86-64 with AVX2: 16 channels at a time.
#include <immintrin.h>

#include "depthwise_pairs.h"

namespace leantta {
namespace {

struct Avx2 {
  static constexpr std::size_t kBlock = 16;
  using Words = __m256i;
  using Floats = __m256;

  LEANTTA_INLINE static Words words(const std::uint8_t* x) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  }
  LEANTTA_INLINE static Words load_words(const void* x) { return _mm256_load_si256(static_cast<const __m256i*>(x)); }
  LEANTTA_INLINE static Floats load_floats(const void* x) { return _mm256_load_ps(static_cast<const float*>(x)); }
  LEANTTA_INLINE static Words all_words(short value) { return _mm256_set1_epi16(value); }
  LEANTTA_INLINE static Words low(Words first, Words second) { return _mm256_unpacklo_epi16(first, second); }
  LEANTTA_INLINE static Words high(Words first, Words second) { return _mm256_unpackhi_epi16(first, second); }
  LEANTTA_INLINE static Words add_products(Words sum, Words x, Words weights) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(x, weights));
  }
  LEANTTA_INLINE static Words scaled(Words sum, Floats scale) {
    return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), scale));
  }
  LEANTTA_INLINE static void store(Words low, Words high, Words zero, std::uint8_t* y) {
    const Words all = _mm256_adds_epi16(_mm256_packs_epi32(low, high), zero);
    const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), bytes);
  }
};

template <int kSize>
using Taps = PairTaps<Avx2, kSize>;

bool supports(const Depthwise& layer) {
  return __builtin_cpu_supports("avx2") && has_vectors(layer, Avx2::kBlock) && in_range(layer);
}

}  // namespace

const DepthwisePath kAvx2Depthwise = {"avx2", supports, pack<Avx2>, vector_rows<Taps>, &kScalarDepthwise};

}  // namespace leantta
