// x86-64 with AVX-512 (F, BW, DQ, VL): 32 channels at a time; compiled a second time for processors that also have VNNI.
#include <immintrin.h>

#include "depthwise_pairs.h"

namespace leantta {
namespace {

struct Avx512 {
  static constexpr std::size_t kBlock = 32;
  using Words = __m512i;
  using Floats = __m512;

  LEANTTA_INLINE static Words words(const std::uint8_t* x) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
  }
  LEANTTA_INLINE static Words load_words(const void* x) { return _mm512_load_si512(x); }
  LEANTTA_INLINE static Floats load_floats(const void* x) { return _mm512_load_ps(x); }
  LEANTTA_INLINE static Words all_words(short value) { return _mm512_set1_epi16(value); }
  LEANTTA_INLINE static Words low(Words first, Words second) { return _mm512_unpacklo_epi16(first, second); }
  LEANTTA_INLINE static Words high(Words first, Words second) { return _mm512_unpackhi_epi16(first, second); }
  LEANTTA_INLINE static Words add_products(Words sum, Words x, Words weights) {
#if defined(LEANTTA_VNNI)
    return _mm512_dpwssd_epi32(sum, x, weights);
#else
    return _mm512_add_epi32(sum, _mm512_madd_epi16(x, weights));
#endif
  }
  LEANTTA_INLINE static Words scaled(Words sum, Floats scale) {
    return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale));
  }
  LEANTTA_INLINE static void store(Words low, Words high, Words zero, std::uint8_t* y) {
    const Words all = _mm512_adds_epi16(_mm512_packs_epi32(low, high), zero);
    const __m256i bytes = _mm512_cvtusepi16_epi8(_mm512_max_epi16(all, _mm512_setzero_si512()));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), bytes);
  }
};

template <int kSize>
using Taps = PairTaps<Avx512, kSize>;

bool has_instructions() {
#if defined(LEANTTA_EMULATED)
  return true;
#endif
#if defined(LEANTTA_VNNI)
  if (!__builtin_cpu_supports("avx512vnni")) return false;
#endif
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

bool supports(const Depthwise& layer) {
  return has_instructions() && has_vectors(layer, Avx512::kBlock) && in_range(layer);
}

}  // namespace

#if defined(LEANTTA_VNNI)
const DepthwisePath kAvx512VnniDepthwise = {"avx512_vnni", supports, pack<Avx512>, vector_rows<Taps>, &kAvx2Depthwise};
#else
const DepthwisePath kAvx512Depthwise = {"avx512", supports, pack<Avx512>, vector_rows<Taps>, &kAvx2Depthwise};
#endif

}  // namespace leantta
