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

// Exchanges place and vector of the 16-byte lanes of four vectors: from 16 values after the other to part k of every 16,
// values 4k to 4k + 3, and back.
inline void exchange(const __m512i* from, __m512i* to) {
  const __m512i a = _mm512_shuffle_i32x4(from[0], from[1], 0x88), b = _mm512_shuffle_i32x4(from[2], from[3], 0x88);
  const __m512i c = _mm512_shuffle_i32x4(from[0], from[1], 0xdd), d = _mm512_shuffle_i32x4(from[2], from[3], 0xdd);
  to[0] = _mm512_shuffle_i32x4(a, b, 0x88);
  to[1] = _mm512_shuffle_i32x4(c, d, 0x88);
  to[2] = _mm512_shuffle_i32x4(a, b, 0xdd);
  to[3] = _mm512_shuffle_i32x4(c, d, 0xdd);
}

inline void add_parts(std::int32_t* target, const __m512i* parts) {  // 64 values
  __m512i values[4];
  exchange(parts, values);
  for (int k = 0; k < 4; ++k)
    _mm512_storeu_si512(target + 16 * k, _mm512_add_epi32(_mm512_loadu_si512(target + 16 * k), values[k]));
}

inline __m512i words(const std::uint8_t* x, __mmask32 lanes, __m256i flip) {  // up to 32 bytes; others do not count
  return _mm512_cvtepu8_epi16(_mm256_xor_si256(_mm256_maskz_loadu_epi8(lanes, x), flip));
}

// Two rows at a time: of each pair of bytes one multiply-add gives the sum, and one the squares. 64 channels.
void sum_wide(const std::uint8_t* x, std::size_t rows, std::size_t stride, __m512i flip, std::int32_t* sum,
              std::int32_t* square) {
  const __m512i none = _mm512_setzero_si512(), ones = _mm512_set1_epi8(1);
  __m512i s[2] = {none, none}, q[4] = {none, none, none, none};
  for (std::size_t row = 0; row < rows; row += 2, x += 2 * stride) {
    const __m512i one = _mm512_xor_si512(_mm512_loadu_si512(x), flip);
    const __m512i two = row + 1 < rows ? _mm512_xor_si512(_mm512_loadu_si512(x + stride), flip) : none;
    const __m512i pairs[2] = {_mm512_unpacklo_epi8(one, two), _mm512_unpackhi_epi8(one, two)};
    for (int k = 0; k < 2; ++k) {
      s[k] = _mm512_add_epi16(s[k], _mm512_maddubs_epi16(pairs[k], ones));
      q[2 * k] = add_squares(q[2 * k], _mm512_unpacklo_epi8(pairs[k], none));
      q[2 * k + 1] = add_squares(q[2 * k + 1], _mm512_unpackhi_epi8(pairs[k], none));
    }
  }
  // A part k of either has of every 16 channels those from 4k to 4k + 3.
  const __m512i parts[4] = {_mm512_unpacklo_epi16(s[0], none), _mm512_unpackhi_epi16(s[0], none),
                            _mm512_unpacklo_epi16(s[1], none), _mm512_unpackhi_epi16(s[1], none)};
  add_parts(sum, parts);
  add_parts(square, q);
}

// The same for up to 32 channels.
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
  const __m512i mask = _mm512_set1_epi8(static_cast<char>(flip));
  for (std::size_t start = 0; start < rows; start += kTile, x += kTile * channels) {
    const std::size_t tile = rows - start < kTile ? rows - start : kTile;
    std::size_t c = 0;
    for (; c + 64 <= channels; c += 64) sum_wide(x + c, tile, channels, mask, sum + c, square + c);
    for (; c < channels; c += 32)
      sum_block(x + c, tile, channels, channels - c, _mm512_castsi512_si256(mask), sum + c, square + c);
  }
}

struct Form {  // what all vectors of a call share
  __m512 residual, step, zero;
  __m512i flip;
};

template <bool kResidual, bool kHardSwish>
inline __m512i whole(__m512i x, __m512i r, __m512 scale, __m512 offset, const Form& form) {  // of 16 values
  __m512 t = _mm512_fmadd_ps(_mm512_cvtepi32_ps(x), scale, offset);
  if (kResidual) t = _mm512_fmadd_ps(_mm512_cvtepi32_ps(r), form.residual, t);
  if (kHardSwish) {
    __m512 part = _mm512_fmadd_ps(t, _mm512_set1_ps(1 / 6.0f), _mm512_set1_ps(0.5f));
    part = _mm512_min_ps(_mm512_max_ps(part, _mm512_setzero_ps()), _mm512_set1_ps(1));
    t = _mm512_fmadd_ps(_mm512_mul_ps(t, part), form.step, form.zero);
    t = _mm512_min_ps(_mm512_max_ps(t, _mm512_setzero_ps()), _mm512_set1_ps(255));
  }
  return _mm512_cvtps_epi32(t);  // to nearest, ties to even; who packs it clips to 0 .. 255
}

// Coefficients of 64 bytes, part by part: those of 64 channels, or of fewer again and again.
inline void load_parts(const float* values, std::size_t channels, __m512* parts) {
  __m512i from[4], to[4];
  for (std::size_t k = 0; k < 4; ++k) from[k] = _mm512_loadu_si512(values + 16 * k % channels);
  exchange(from, to);
  for (int k = 0; k < 4; ++k) parts[k] = _mm512_castsi512_ps(to[k]);
}

// 64 bytes: kCount channels of 64 / kCount rows.
template <std::size_t kCount>
inline __m512i load_rows(const std::uint8_t* x, std::size_t stride) {
  if constexpr (kCount == 64) return _mm512_loadu_si512(x);
  if constexpr (kCount == 32) {
    const __m256i one = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
    return _mm512_inserti64x4(_mm512_castsi256_si512(one),
                              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + stride)), 1);
  }
  __m512i all = _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  all = _mm512_inserti32x4(all, _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + stride)), 1);
  all = _mm512_inserti32x4(all, _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + 2 * stride)), 2);
  return _mm512_inserti32x4(all, _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + 3 * stride)), 3);
}

template <std::size_t kCount>
inline void store_rows(std::uint8_t* y, std::size_t stride, __m512i bytes) {
  if constexpr (kCount == 64) {
    _mm512_storeu_si512(y, bytes);
  } else if constexpr (kCount == 32) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y), _mm512_castsi512_si256(bytes));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + stride), _mm512_extracti64x4_epi64(bytes, 1));
  } else {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y), _mm512_castsi512_si128(bytes));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + stride), _mm512_extracti32x4_epi32(bytes, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + 2 * stride), _mm512_extracti32x4_epi32(bytes, 2));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + 3 * stride), _mm512_extracti32x4_epi32(bytes, 3));
  }
}

// Writes kCount channels of as many rows as fill vectors; returns how many. Bytes spread to floats lane by lane, part k
// from 4k to 4k + 3, so that packing puts them in order again.
template <std::size_t kCount, bool kResidual, bool kHardSwish>
std::size_t apply_wide(const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows,
                       std::size_t stride, const float* scale, const float* offset, const Form& form) {
  constexpr std::size_t kRows = 64 / kCount;
  __m512 g[4], h[4];
  __m512i places[4];
  load_parts(scale, kCount, g);
  load_parts(offset, kCount, h);
  for (int k = 0; k < 4; ++k)
    places[k] = _mm512_broadcast_i32x4(_mm_add_epi32(
        _mm_setr_epi32(static_cast<int>(0x80808000u), static_cast<int>(0x80808001u), static_cast<int>(0x80808002u),
                       static_cast<int>(0x80808003u)),
        _mm_set1_epi32(4 * k)));
  std::size_t row = 0;
  for (; row + kRows <= rows; row += kRows) {
    const std::size_t i = row * stride;
    const __m512i these = _mm512_xor_si512(load_rows<kCount>(x + i, stride), form.flip);
    const __m512i those = kResidual ? _mm512_xor_si512(load_rows<kCount>(r + i, stride), form.flip) : these;
    __m512i v[4];
    for (int k = 0; k < 4; ++k)
      v[k] = whole<kResidual, kHardSwish>(_mm512_shuffle_epi8(these, places[k]), _mm512_shuffle_epi8(those, places[k]),
                                          g[k], h[k], form);
    const __m512i bytes = _mm512_packus_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
    store_rows<kCount>(y + i, stride, _mm512_xor_si512(bytes, form.flip));
  }
  return row;
}

// Writes up to 16 channels of rows.
template <bool kResidual, bool kHardSwish>
void apply_block(const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows, std::size_t stride,
                 std::size_t count, const float* scale, const float* offset, const Form& form) {
  const __mmask16 lanes = static_cast<__mmask16>(first(count < 16 ? count : 16));
  const __m512 g = _mm512_maskz_loadu_ps(lanes, scale), h = _mm512_maskz_loadu_ps(lanes, offset);
  const __m128i flip = _mm512_castsi512_si128(form.flip);
  const auto bytes = [&](const std::uint8_t* from) {
    return _mm512_cvtepu8_epi32(_mm_xor_si128(_mm_maskz_loadu_epi8(lanes, from), flip));
  };
  for (std::size_t i = 0; i < rows * stride; i += stride) {
    const __m512i these = bytes(x + i), those = kResidual ? bytes(r + i) : these;
    const __m512i v = whole<kResidual, kHardSwish>(these, those, g, h, form);
    const __m128i packed = _mm512_cvtusepi32_epi8(_mm512_max_epi32(v, _mm512_setzero_si512()));
    _mm_mask_storeu_epi8(y + i, lanes, _mm_xor_si128(packed, flip));
  }
}

template <bool kResidual, bool kHardSwish>
void apply_form(const Layer& layer, const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows,
                const float* scale, const float* offset) {
  const std::size_t channels = layer.channels, tile = rows_in_cache(channels);
  const Form form = {_mm512_set1_ps(residual_scale(layer)), _mm512_set1_ps(1 / layer.y.scale),
                     _mm512_set1_ps(layer.y.zero), _mm512_set1_epi8(static_cast<char>(layer.flip))};
  for (std::size_t start = 0; start < rows; start += tile) {
    const std::size_t count = rows - start < tile ? rows - start : tile;
    for (std::size_t c = 0; c < channels;) {
      const std::size_t i = start * channels + c, left = channels - c, size = left >= 64 ? 64 : left >= 32 ? 32 : 16;
      const auto wide = size == 64   ? apply_wide<64, kResidual, kHardSwish>
                        : size == 32 ? apply_wide<32, kResidual, kHardSwish>
                                     : apply_wide<16, kResidual, kHardSwish>;
      const std::size_t done =
          left < 16 ? 0 : wide(x + i, r + i, y + i, count, channels, scale + c, offset + c, form);
      for (const std::size_t end = c + size; c < end && c < channels; c += 16) {
        const std::size_t at = (start + done) * channels + c;
        if (done < count)
          apply_block<kResidual, kHardSwish>(x + at, r + at, y + at, count - done, channels, channels - c, scale + c,
                                             offset + c, form);
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
