// x86-64 with AVX-512 (F, BW, DQ, VL); compiled a second time for processors that also have VNNI.
#include <immintrin.h>

#include "answer.h"
#include "channels.h"

namespace leantta {
namespace {

constexpr std::size_t kTile = 256;  // rows whose sums fit into 16 bits: 255 * 256 < 65536

inline __mmask32 first(std::size_t count) {  // a mask of that many lanes, at most 32
  return count >= 32 ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
}

inline __m512i words(const std::uint8_t* x, __mmask32 lanes, __m256i flip) {  // up to 32 bytes; others do not count
  return _mm512_cvtepu8_epi16(_mm256_xor_si256(_mm256_maskz_loadu_epi8(lanes, x), flip));
}

inline __m512i add_squares(__m512i total, __m512i pairs) {
#if defined(LEANTTA_VNNI)
  return _mm512_dpwssd_epi32(total, pairs, pairs);
#else
  return _mm512_add_epi32(total, _mm512_madd_epi16(pairs, pairs));
#endif
}

inline void add_to(std::int32_t* target, __mmask16 lanes, __m512i values) {
  _mm512_mask_storeu_epi32(target, lanes, _mm512_add_epi32(_mm512_maskz_loadu_epi32(lanes, target), values));
}

// Two rows at a time: squares of a pair are one multiply-add. Up to 32 channels.
void sum_block(const std::uint8_t* x, std::size_t rows, std::size_t stride, std::size_t count, __m256i flip,
               std::int32_t* sum, std::int32_t* square) {
  const __mmask32 lanes = first(count);
  __m512i s = _mm512_setzero_si512(), low = s, high = s;
  for (std::size_t row = 0; row < rows; row += 2, x += 2 * stride) {
    const __m512i one = words(x, lanes, flip);
    const __m512i two = row + 1 < rows ? words(x + stride, lanes, flip) : _mm512_setzero_si512();
    s = _mm512_add_epi16(s, _mm512_add_epi16(one, two));
    low = add_squares(low, _mm512_unpacklo_epi16(one, two));
    high = add_squares(high, _mm512_unpackhi_epi16(one, two));
  }
  const __m512i front = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);  // channels 0-3, 4-7, 8-11, 12-15
  const __m512i back = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
  const __mmask16 these = static_cast<__mmask16>(lanes), those = static_cast<__mmask16>(lanes >> 16);
  add_to(sum, these, _mm512_cvtepu16_epi32(_mm512_castsi512_si256(s)));
  add_to(square, these, _mm512_permutex2var_epi64(low, front, high));
  if (!those) return;
  add_to(sum + 16, those, _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(s, 1)));
  add_to(square + 16, those, _mm512_permutex2var_epi64(low, back, high));
}

void sums(const std::uint8_t* x, std::size_t rows, std::size_t channels, std::uint8_t flip, std::int32_t* sum,
          std::int32_t* square) {
  std::memset(sum, 0, channels * sizeof *sum);
  std::memset(square, 0, channels * sizeof *square);
  const __m256i mask = _mm256_set1_epi8(static_cast<char>(flip));
  for (std::size_t start = 0; start < rows; start += kTile, x += kTile * channels) {
    const std::size_t tile = rows - start < kTile ? rows - start : kTile;
    for (std::size_t c = 0; c < channels; c += 32)
      sum_block(x + c, tile, channels, channels - c, mask, sum + c, square + c);
  }
}

struct Form {  // what all vectors of a call share
  __m512 residual, step, zero;
  __m128i flip;
};

inline __m512 floats(const std::uint8_t* x, __mmask16 lanes, __m128i flip) {  // up to 16 bytes
  const __m128i bytes = _mm_xor_si128(_mm_maskz_loadu_epi8(lanes, x), flip);
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}

template <bool kResidual, bool kHardSwish>
inline void sixteen(const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, __mmask16 lanes, __m512 scale,
                    __m512 offset, const Form& form) {
  __m512 t = _mm512_fmadd_ps(floats(x, lanes, form.flip), scale, offset);
  if (kResidual) t = _mm512_fmadd_ps(floats(r, lanes, form.flip), form.residual, t);
  if (kHardSwish) {
    __m512 part = _mm512_fmadd_ps(t, _mm512_set1_ps(1 / 6.0f), _mm512_set1_ps(0.5f));
    part = _mm512_min_ps(_mm512_max_ps(part, _mm512_setzero_ps()), _mm512_set1_ps(1));
    t = _mm512_fmadd_ps(_mm512_mul_ps(t, part), form.step, form.zero);
    t = _mm512_min_ps(_mm512_max_ps(t, _mm512_setzero_ps()), _mm512_set1_ps(255));
  }
  const __m512i whole = _mm512_max_epi32(_mm512_cvtps_epi32(t), _mm512_setzero_si512());  // ties to even
  _mm_mask_storeu_epi8(y, lanes, _mm_xor_si128(_mm512_cvtusepi32_epi8(whole), form.flip));
}

template <bool kResidual, bool kHardSwish>
void apply_form(const Layer& layer, const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows,
                const float* scale, const float* offset) {
  const std::size_t channels = layer.channels;
  const Form form = {_mm512_set1_ps(residual_scale(layer)), _mm512_set1_ps(1 / layer.y.scale),
                     _mm512_set1_ps(layer.y.zero), _mm_set1_epi8(static_cast<char>(layer.flip))};
  const std::size_t tile = rows_in_cache(channels);
  for (std::size_t start = 0; start < rows; start += tile) {
    const std::size_t end = rows - start < tile ? rows : start + tile;
    for (std::size_t c = 0; c < channels; c += 64) {
      const std::size_t left = channels - c;
      __m512 g[4], h[4];
      __mmask16 lanes[4];
      for (std::size_t k = 0; k < 4; ++k) {
        lanes[k] = static_cast<__mmask16>(first(left > 16 * k ? left - 16 * k : 0));
        g[k] = _mm512_maskz_loadu_ps(lanes[k], scale + c + 16 * k);
        h[k] = _mm512_maskz_loadu_ps(lanes[k], offset + c + 16 * k);
      }
      const std::size_t blocks = left >= 64 ? 4 : (left + 15) / 16;
      for (std::size_t row = start; row < end; ++row) {
        const std::size_t i = row * channels + c;
        for (std::size_t k = 0; k < blocks; ++k)
          sixteen<kResidual, kHardSwish>(x + i + 16 * k, r + i + 16 * k, y + i + 16 * k, lanes[k], g[k], h[k], form);
      }
    }
  }
}

void apply(const Layer& layer, const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows,
           const float* scale, const float* offset) {
  LEANTTA_FORM(layer, apply_form, layer, x, layer.has_residual ? r : x, y, rows, scale, offset);
}

bool supported() {
#if defined(LEANTTA_EMULATED)
  return true;
#endif
#if defined(LEANTTA_VNNI)
  if (!__builtin_cpu_supports("avx512vnni")) return false;
#endif
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}

}  // namespace

#if defined(LEANTTA_VNNI)
const Path kAvx512Vnni = {"avx512_vnni", supported, sums, shift<std::int32_t>, shift<double>, answer,
                          coefficients, apply, plane_moments, plane_apply};
#else
const Path kAvx512 = {"avx512", supported, sums, shift<std::int32_t>, shift<double>, answer,
                      coefficients, apply, plane_moments, plane_apply};
#endif

}  // namespace leantta
