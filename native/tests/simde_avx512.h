// AVX-512 for processors that lack it: SIMDe under Intel's names, and here what SIMDe 0.7.4 does not have. Loads and
// stores with a mask touch only the lanes of the mask, as the processor does, so that AddressSanitizer sees the others.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#define LEANTTA_EMULATED  // every processor with AVX2 has these

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512/add.h>
#include <simde/x86/avx512/cast.h>
#include <simde/x86/avx512/dpwssd.h>
#include <simde/x86/avx512/extract.h>
#include <simde/x86/avx512/fmadd.h>
#include <simde/x86/avx512/loadu.h>
#include <simde/x86/avx512/madd.h>
#include <simde/x86/avx512/max.h>
#include <simde/x86/avx512/min.h>
#include <simde/x86/avx512/mov.h>
#include <simde/x86/avx512/mul.h>
#include <simde/x86/avx512/permutex2var.h>
#include <simde/x86/avx512/set1.h>
#include <simde/x86/avx512/setr.h>
#include <simde/x86/avx512/setzero.h>
#include <simde/x86/avx512/storeu.h>
#include <simde/x86/avx512/unpackhi.h>
#include <simde/x86/avx512/unpacklo.h>
#include <simde/x86/avx512/xor.h>

#undef _mm512_madd_epi16  // its alias takes four arguments there
#define _mm512_madd_epi16 simde_mm512_madd_epi16

namespace leantta_emulated {

template <typename Lane, typename Vector>
inline Vector load_where(std::uint64_t lanes, const void* x) {
  Lane values[sizeof(Vector) / sizeof(Lane)] = {};
  for (std::size_t i = 0; i < sizeof(Vector) / sizeof(Lane); ++i)
    if (lanes >> i & 1) std::memcpy(values + i, static_cast<const Lane*>(x) + i, sizeof(Lane));
  Vector vector;
  std::memcpy(&vector, values, sizeof vector);
  return vector;
}

template <typename Lane, typename Vector>
inline void store_where(void* y, std::uint64_t lanes, const Vector& vector) {
  Lane values[sizeof(Vector) / sizeof(Lane)];
  std::memcpy(values, &vector, sizeof vector);
  for (std::size_t i = 0; i < sizeof(Vector) / sizeof(Lane); ++i)
    if (lanes >> i & 1) std::memcpy(static_cast<Lane*>(y) + i, values + i, sizeof(Lane));
}

// Each half by an instruction of AVX2.
template <typename Half, typename Function>
inline __m512i halves(Half low, Half high, Function function) {
  const __m256i both[] = {function(low), function(high)};
  __m512i vector;
  std::memcpy(&vector, both, sizeof vector);
  return vector;
}

template <typename Half, typename Vector>
inline Half half(const Vector& vector, std::size_t which) {
  Half part;
  std::memcpy(&part, reinterpret_cast<const char*>(&vector) + which * sizeof part, sizeof part);
  return part;
}

// The same for two vectors.
template <typename Function>
inline __m512i both_halves(const __m512i& a, const __m512i& b, Function function) {
  const __m256i both[] = {function(half<__m256i>(a, 0), half<__m256i>(b, 0)),
                          function(half<__m256i>(a, 1), half<__m256i>(b, 1))};
  __m512i vector;
  std::memcpy(&vector, both, sizeof vector);
  return vector;
}

}  // namespace leantta_emulated

#define LEANTTA_EMULATE static inline __attribute__((unused))

LEANTTA_EMULATE __m128i emulated_mm_maskz_loadu_epi8(__mmask16 lanes, const void* x) {
  return leantta_emulated::load_where<std::uint8_t, __m128i>(lanes, x);
}
LEANTTA_EMULATE __m256i emulated_mm256_maskz_loadu_epi8(__mmask32 lanes, const void* x) {
  return leantta_emulated::load_where<std::uint8_t, __m256i>(lanes, x);
}
LEANTTA_EMULATE __m512i emulated_mm512_maskz_loadu_epi32(__mmask16 lanes, const void* x) {
  return leantta_emulated::load_where<std::int32_t, __m512i>(lanes, x);
}
LEANTTA_EMULATE __m512 emulated_mm512_maskz_loadu_ps(__mmask16 lanes, const void* x) {
  return leantta_emulated::load_where<float, __m512>(lanes, x);
}
LEANTTA_EMULATE void emulated_mm_mask_storeu_epi8(void* y, __mmask16 lanes, __m128i values) {
  leantta_emulated::store_where<std::uint8_t>(y, lanes, values);
}
LEANTTA_EMULATE void emulated_mm512_mask_storeu_epi32(void* y, __mmask16 lanes, __m512i values) {
  leantta_emulated::store_where<std::int32_t>(y, lanes, values);
}
LEANTTA_EMULATE __m512i emulated_mm512_add_epi16(__m512i a, __m512i b) {  // modulo 2^16; SIMDe's overflows
  return leantta_emulated::both_halves(a, b, [](__m256i x, __m256i y) { return _mm256_add_epi16(x, y); });
}
LEANTTA_EMULATE __m512i emulated_mm512_cvtepu8_epi16(__m256i bytes) {
  return leantta_emulated::halves(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1),
                                  [](__m128i part) { return _mm256_cvtepu8_epi16(part); });
}
LEANTTA_EMULATE __m512i emulated_mm512_cvtepu16_epi32(__m256i words) {
  return leantta_emulated::halves(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1),
                                  [](__m128i part) { return _mm256_cvtepu16_epi32(part); });
}
LEANTTA_EMULATE __m512i emulated_mm512_cvtepu8_epi32(__m128i bytes) {
  return leantta_emulated::halves(bytes, _mm_srli_si128(bytes, 8),
                                  [](__m128i part) { return _mm256_cvtepu8_epi32(part); });
}
LEANTTA_EMULATE __m512i emulated_mm512_cvtps_epi32(__m512 values) {
  return leantta_emulated::halves(leantta_emulated::half<__m256>(values, 0), leantta_emulated::half<__m256>(values, 1),
                                  [](__m256 part) { return _mm256_cvtps_epi32(part); });
}
LEANTTA_EMULATE __m512 emulated_mm512_cvtepi32_ps(__m512i values) {
  const __m256 both[] = {_mm256_cvtepi32_ps(leantta_emulated::half<__m256i>(values, 0)),
                         _mm256_cvtepi32_ps(leantta_emulated::half<__m256i>(values, 1))};
  __m512 vector;
  std::memcpy(&vector, both, sizeof vector);
  return vector;
}
LEANTTA_EMULATE __m128i emulated_mm512_cvtusepi32_epi8(__m512i values) {  // unsigned, above 255 is 255
  std::uint32_t whole[16];
  std::memcpy(whole, &values, sizeof whole);
  std::uint8_t bytes[16];
  for (std::size_t i = 0; i < 16; ++i) bytes[i] = static_cast<std::uint8_t>(whole[i] < 255 ? whole[i] : 255);
  __m128i vector;
  std::memcpy(&vector, bytes, sizeof vector);
  return vector;
}

LEANTTA_EMULATE __m512i emulated_mm512_packs_epi32(__m512i a, __m512i b) {
  return leantta_emulated::both_halves(a, b, [](__m256i x, __m256i y) { return _mm256_packs_epi32(x, y); });
}
LEANTTA_EMULATE __m512i emulated_mm512_packus_epi16(__m512i a, __m512i b) {
  return leantta_emulated::both_halves(a, b, [](__m256i x, __m256i y) { return _mm256_packus_epi16(x, y); });
}
LEANTTA_EMULATE __m512i emulated_mm512_unpacklo_epi8(__m512i a, __m512i b) {
  return leantta_emulated::both_halves(a, b, [](__m256i x, __m256i y) { return _mm256_unpacklo_epi8(x, y); });
}
LEANTTA_EMULATE __m512i emulated_mm512_unpackhi_epi8(__m512i a, __m512i b) {
  return leantta_emulated::both_halves(a, b, [](__m256i x, __m256i y) { return _mm256_unpackhi_epi8(x, y); });
}
LEANTTA_EMULATE __m512i emulated_mm512_maddubs_epi16(__m512i a, __m512i b) {
  return leantta_emulated::both_halves(a, b, [](__m256i x, __m256i y) { return _mm256_maddubs_epi16(x, y); });
}
LEANTTA_EMULATE __m512i emulated_mm512_shuffle_epi8(__m512i a, __m512i b) {
  return leantta_emulated::both_halves(a, b, [](__m256i x, __m256i y) { return _mm256_shuffle_epi8(x, y); });
}
LEANTTA_EMULATE __m512i emulated_mm512_shuffle_i32x4(__m512i a, __m512i b, unsigned lanes) {
  __m128i from[2][4], to[4];
  std::memcpy(from[0], &a, sizeof a);
  std::memcpy(from[1], &b, sizeof b);
  for (std::size_t i = 0; i < 4; ++i) to[i] = from[i / 2][lanes >> (2 * i) & 3];
  __m512i vector;
  std::memcpy(&vector, to, sizeof vector);
  return vector;
}
LEANTTA_EMULATE __m512i emulated_mm512_broadcast_i32x4(__m128i lane) {
  const __m256i both = _mm256_broadcastsi128_si256(lane);
  return leantta_emulated::halves(both, both, [](__m256i part) { return part; });
}
LEANTTA_EMULATE __m512i emulated_mm512_inserti32x4(__m512i vector, __m128i lane, std::size_t which) {
  std::memcpy(reinterpret_cast<char*>(&vector) + which * sizeof lane, &lane, sizeof lane);
  return vector;
}
LEANTTA_EMULATE __m512i emulated_mm512_inserti64x4(__m512i vector, __m256i part, std::size_t which) {
  std::memcpy(reinterpret_cast<char*>(&vector) + which * sizeof part, &part, sizeof part);
  return vector;
}
LEANTTA_EMULATE __m128i emulated_mm512_extracti32x4_epi32(__m512i vector, std::size_t which) {
  return leantta_emulated::half<__m128i>(vector, which);
}
LEANTTA_EMULATE __m512i emulated_mm512_adds_epi16(__m512i a, __m512i b) {
  return leantta_emulated::both_halves(a, b, [](__m256i x, __m256i y) { return _mm256_adds_epi16(x, y); });
}
LEANTTA_EMULATE __m512i emulated_mm512_max_epi16(__m512i a, __m512i b) {
  return leantta_emulated::both_halves(a, b, [](__m256i x, __m256i y) { return _mm256_max_epi16(x, y); });
}
LEANTTA_EMULATE __m256i emulated_mm512_cvtusepi16_epi8(__m512i values) {  // unsigned, above 255 is 255
  std::uint16_t words[32];
  std::memcpy(words, &values, sizeof words);
  std::uint8_t bytes[32];
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::uint8_t>(words[i] < 255 ? words[i] : 255);
  __m256i vector;
  std::memcpy(&vector, bytes, sizeof vector);
  return vector;
}

#undef LEANTTA_EMULATE

#undef _mm512_add_epi16
#define _mm512_add_epi16 emulated_mm512_add_epi16
#define _mm_maskz_loadu_epi8 emulated_mm_maskz_loadu_epi8
#define _mm256_maskz_loadu_epi8 emulated_mm256_maskz_loadu_epi8
#define _mm512_maskz_loadu_epi32 emulated_mm512_maskz_loadu_epi32
#define _mm512_maskz_loadu_ps emulated_mm512_maskz_loadu_ps
#define _mm_mask_storeu_epi8 emulated_mm_mask_storeu_epi8
#define _mm512_mask_storeu_epi32 emulated_mm512_mask_storeu_epi32
#define _mm512_cvtepu8_epi16 emulated_mm512_cvtepu8_epi16
#define _mm512_cvtepu16_epi32 emulated_mm512_cvtepu16_epi32
#define _mm512_cvtepu8_epi32 emulated_mm512_cvtepu8_epi32
#define _mm512_cvtps_epi32 emulated_mm512_cvtps_epi32
#define _mm512_cvtepi32_ps emulated_mm512_cvtepi32_ps
#define _mm512_cvtusepi32_epi8 emulated_mm512_cvtusepi32_epi8
#undef _mm512_packs_epi32
#define _mm512_packs_epi32 emulated_mm512_packs_epi32
#undef _mm512_adds_epi16
#define _mm512_adds_epi16 emulated_mm512_adds_epi16
#undef _mm512_max_epi16
#define _mm512_max_epi16 emulated_mm512_max_epi16
#define _mm512_cvtusepi16_epi8 emulated_mm512_cvtusepi16_epi8
#undef _mm512_packus_epi16
#define _mm512_packus_epi16 emulated_mm512_packus_epi16
#undef _mm512_unpacklo_epi8
#define _mm512_unpacklo_epi8 emulated_mm512_unpacklo_epi8
#undef _mm512_unpackhi_epi8
#define _mm512_unpackhi_epi8 emulated_mm512_unpackhi_epi8
#undef _mm512_maddubs_epi16
#define _mm512_maddubs_epi16 emulated_mm512_maddubs_epi16
#undef _mm512_shuffle_epi8
#define _mm512_shuffle_epi8 emulated_mm512_shuffle_epi8
#undef _mm512_shuffle_i32x4
#define _mm512_shuffle_i32x4 emulated_mm512_shuffle_i32x4
#undef _mm512_broadcast_i32x4
#define _mm512_broadcast_i32x4 emulated_mm512_broadcast_i32x4
#undef _mm512_inserti32x4
#define _mm512_inserti32x4 emulated_mm512_inserti32x4
#undef _mm512_inserti64x4
#define _mm512_inserti64x4 emulated_mm512_inserti64x4
#undef _mm512_extracti32x4_epi32
#define _mm512_extracti32x4_epi32 emulated_mm512_extracti32x4_epi32
