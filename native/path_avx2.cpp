// x86-64 with AVX2 and FMA.
#include <immintrin.h>

#include "answer.h"
#include "channels.h"

namespace leantta {
namespace {

constexpr std::size_t kTile = 256;  // rows whose sums fit into 16 bits: 255 * 256 < 65536

template <bool kFlip>
inline __m256i words(const std::uint8_t* x) {  // 16 bytes
  __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
  if (kFlip) bytes = _mm_xor_si128(bytes, _mm_set1_epi8(-128));
  return _mm256_cvtepu8_epi16(bytes);
}

template <bool kFlip>
inline __m128i half_words(const std::uint8_t* x) {  // 8 bytes
  __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x));
  if (kFlip) bytes = _mm_xor_si128(bytes, _mm_set1_epi8(-128));
  return _mm_cvtepu8_epi16(bytes);
}

inline void add_to(std::int32_t* target, __m256i values) {
  __m256i* place = reinterpret_cast<__m256i*>(target);
  _mm256_storeu_si256(place, _mm256_add_epi32(_mm256_loadu_si256(place), values));
}

inline void add_to(std::int32_t* target, __m128i values) {
  __m128i* place = reinterpret_cast<__m128i*>(target);
  _mm_storeu_si128(place, _mm_add_epi32(_mm_loadu_si128(place), values));
}

// Two rows at a time: squares of a pair are one multiply-add. kBlocks times 16 channels.
template <bool kFlip, int kBlocks>
void sum_block(const std::uint8_t* x, std::size_t rows, std::size_t stride, std::int32_t* sum, std::int32_t* square) {
  __m256i s[kBlocks], low[kBlocks], high[kBlocks];
  for (int b = 0; b < kBlocks; ++b) s[b] = low[b] = high[b] = _mm256_setzero_si256();
  std::size_t row = 0;
  for (; row + 2 <= rows; row += 2, x += 2 * stride)
    for (int b = 0; b < kBlocks; ++b) {
      const __m256i one = words<kFlip>(x + 16 * b), two = words<kFlip>(x + stride + 16 * b);
      s[b] = _mm256_add_epi16(s[b], _mm256_add_epi16(one, two));
      const __m256i first = _mm256_unpacklo_epi16(one, two), second = _mm256_unpackhi_epi16(one, two);
      low[b] = _mm256_add_epi32(low[b], _mm256_madd_epi16(first, first));
      high[b] = _mm256_add_epi32(high[b], _mm256_madd_epi16(second, second));
    }
  if (row < rows)
    for (int b = 0; b < kBlocks; ++b) {
      const __m256i one = words<kFlip>(x + 16 * b), none = _mm256_setzero_si256();
      s[b] = _mm256_add_epi16(s[b], one);
      const __m256i first = _mm256_unpacklo_epi16(one, none), second = _mm256_unpackhi_epi16(one, none);
      low[b] = _mm256_add_epi32(low[b], _mm256_madd_epi16(first, first));
      high[b] = _mm256_add_epi32(high[b], _mm256_madd_epi16(second, second));
    }
  for (int b = 0; b < kBlocks; ++b) {
    add_to(sum + 16 * b, _mm256_cvtepu16_epi32(_mm256_castsi256_si128(s[b])));
    add_to(sum + 16 * b + 8, _mm256_cvtepu16_epi32(_mm256_extracti128_si256(s[b], 1)));
    add_to(square + 16 * b, _mm256_permute2x128_si256(low[b], high[b], 0x20));
    add_to(square + 16 * b + 8, _mm256_permute2x128_si256(low[b], high[b], 0x31));
  }
}

template <bool kFlip>
void sum_eight(const std::uint8_t* x, std::size_t rows, std::size_t stride, std::int32_t* sum, std::int32_t* square) {
  __m128i s = _mm_setzero_si128(), low = s, high = s;
  for (std::size_t row = 0; row < rows; row += 2, x += 2 * stride) {
    const __m128i one = half_words<kFlip>(x);
    const __m128i two = row + 1 < rows ? half_words<kFlip>(x + stride) : _mm_setzero_si128();
    s = _mm_add_epi16(s, _mm_add_epi16(one, two));
    const __m128i first = _mm_unpacklo_epi16(one, two), second = _mm_unpackhi_epi16(one, two);
    low = _mm_add_epi32(low, _mm_madd_epi16(first, first));
    high = _mm_add_epi32(high, _mm_madd_epi16(second, second));
  }
  add_to(sum, _mm256_cvtepu16_epi32(s));
  add_to(square, low);
  add_to(square + 4, high);
}

template <bool kFlip>
void sums_of(const std::uint8_t* x, std::size_t rows, std::size_t channels, std::int32_t* sum, std::int32_t* square) {
  std::memset(sum, 0, channels * sizeof *sum);
  std::memset(square, 0, channels * sizeof *square);
  for (std::size_t start = 0; start < rows; start += kTile, x += kTile * channels) {
    const std::size_t tile = rows - start < kTile ? rows - start : kTile;
    std::size_t c = 0;
    for (; c + 32 <= channels; c += 32) sum_block<kFlip, 2>(x + c, tile, channels, sum + c, square + c);
    for (; c + 16 <= channels; c += 16) sum_block<kFlip, 1>(x + c, tile, channels, sum + c, square + c);
    for (; c + 8 <= channels; c += 8) sum_eight<kFlip>(x + c, tile, channels, sum + c, square + c);
    if (c < channels) add_rest(x, tile, channels, c, kFlip ? 0x80 : 0, sum, square);
  }
}

void sums(const std::uint8_t* x, std::size_t rows, std::size_t channels, std::uint8_t flip, std::int32_t* sum,
          std::int32_t* square) {
  flip ? sums_of<true>(x, rows, channels, sum, square) : sums_of<false>(x, rows, channels, sum, square);
}

struct Form {  // what all vectors of a call share
  __m256 residual, step, zero;
};

inline __m256 floats(__m256i whole) { return _mm256_cvtepi32_ps(whole); }

template <bool kFlip>
inline __m256 floats(const std::uint8_t* x) {  // 8 bytes
  __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(x));
  if (kFlip) bytes = _mm_xor_si128(bytes, _mm_set1_epi8(-128));
  return floats(_mm256_cvtepu8_epi32(bytes));
}

template <bool kFlip>
inline __m256i thirty_two(const std::uint8_t* x) {  // bytes
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x));
  return kFlip ? _mm256_xor_si256(bytes, _mm256_set1_epi8(-128)) : bytes;
}

// Of 32 values, part k is values 4k .. 4k + 3 and 16 + 4k .. 16 + 4k + 3: packing puts them in order again.
inline __m256i spread(int k) {
  const auto place = [k](int i) { return static_cast<int>(0x80808000u | static_cast<unsigned>(4 * k + i)); };
  return _mm256_setr_epi32(place(0), place(1), place(2), place(3), place(0), place(1), place(2), place(3));
}

inline __m256 two_fours(const float* values) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(values)), _mm_loadu_ps(values + 16), 1);
}

template <bool kResidual, bool kHardSwish>
inline __m256i whole(__m256 x, __m256 r, __m256 scale, __m256 offset, const Form& form) {
  __m256 t = _mm256_fmadd_ps(x, scale, offset);
  if (kResidual) t = _mm256_fmadd_ps(r, form.residual, t);
  if (kHardSwish) {
    __m256 part = _mm256_fmadd_ps(t, _mm256_set1_ps(1 / 6.0f), _mm256_set1_ps(0.5f));
    part = _mm256_min_ps(_mm256_max_ps(part, _mm256_setzero_ps()), _mm256_set1_ps(1));
    t = _mm256_fmadd_ps(_mm256_mul_ps(t, part), form.step, form.zero);
    t = _mm256_min_ps(_mm256_max_ps(t, _mm256_setzero_ps()), _mm256_set1_ps(255));
  }
  return _mm256_cvtps_epi32(t);  // to nearest, ties to even; packing clips to 0 .. 255
}

template <bool kFlip, bool kResidual, bool kHardSwish>
void apply_bytes(const Layer& layer, const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows,
                 const float* scale, const float* offset) {
  const std::size_t channels = layer.channels;
  const Form form = {_mm256_set1_ps(residual_scale(layer)), _mm256_set1_ps(1 / layer.y.scale),
                     _mm256_set1_ps(layer.y.zero)};
  const __m256i flip = _mm256_set1_epi8(kFlip ? -128 : 0);
  const __m256i parts[4] = {spread(0), spread(1), spread(2), spread(3)};
  const std::size_t tile = rows_in_cache(channels);
  for (std::size_t start = 0; start < rows; start += tile) {
    const std::size_t end = rows - start < tile ? rows : start + tile;
    std::size_t c = 0;
    for (; c + 32 <= channels; c += 32) {
      __m256 g[4], h[4];
      for (int k = 0; k < 4; ++k) {
        g[k] = two_fours(scale + c + 4 * k);
        h[k] = two_fours(offset + c + 4 * k);
      }
      for (std::size_t row = start; row < end; ++row) {
        const std::size_t i = row * channels + c;
        const __m256i these = thirty_two<kFlip>(x + i);
        const __m256i those = kResidual ? thirty_two<kFlip>(r + i) : these;
        __m256i v[4];
        for (int k = 0; k < 4; ++k)
          v[k] = whole<kResidual, kHardSwish>(floats(_mm256_shuffle_epi8(these, parts[k])),
                                              floats(_mm256_shuffle_epi8(those, parts[k])), g[k], h[k], form);
        __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(v[0], v[1]), _mm256_packs_epi32(v[2], v[3]));
        if (kFlip) bytes = _mm256_xor_si256(bytes, flip);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i), bytes);
      }
    }
    for (; c + 8 <= channels; c += 8) {
      const __m256 g = _mm256_loadu_ps(scale + c), h = _mm256_loadu_ps(offset + c);
      for (std::size_t row = start; row < end; ++row) {
        const std::size_t i = row * channels + c;
        const __m256i v = whole<kResidual, kHardSwish>(floats<kFlip>(x + i), floats<kFlip>(r + i), g, h, form);
        const __m128i short_words = _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        __m128i bytes = _mm_packus_epi16(short_words, short_words);
        if (kFlip) bytes = _mm_xor_si128(bytes, _mm256_castsi256_si128(flip));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(y + i), bytes);
      }
    }
    if (c < channels) apply_rest<kResidual, kHardSwish>(layer, x, r, y, start, end, c, scale, offset);
  }
}

template <bool kResidual, bool kHardSwish>
void apply_form(const Layer& layer, const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows,
                const float* scale, const float* offset) {
  layer.flip ? apply_bytes<true, kResidual, kHardSwish>(layer, x, r, y, rows, scale, offset)
             : apply_bytes<false, kResidual, kHardSwish>(layer, x, r, y, rows, scale, offset);
}

void apply(const Layer& layer, const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows,
           const float* scale, const float* offset) {
  LEANTTA_FORM(layer, apply_form, layer, x, layer.has_residual ? r : x, y, rows, scale, offset);
}

bool supported() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

}  // namespace

const Path kAvx2 = {"avx2", supported, sums, shift<std::int32_t>, shift<double>, answer,
                    coefficients, apply, plane_moments, plane_apply};

}  // namespace leantta
