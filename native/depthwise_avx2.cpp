// x86-64 with AVX2: kernels of 3 x 3 and 5 x 5, stride 1 and 2.
#include <immintrin.h>

#include "depthwise.h"

#define LEANTTA_INLINE inline __attribute__((always_inline))

namespace leantta {
namespace {

inline __m256i words(const std::uint8_t* x) {  // 16 bytes
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
}

inline __m256i load(const void* x) { return _mm256_load_si256(static_cast<const __m256i*>(x)); }

struct Sum {  // of a block
  __m256i half[2];

  LEANTTA_INLINE void add(__m256i low, __m256i high, const DepthwisePair& pair) {
    half[0] = _mm256_add_epi32(half[0], _mm256_madd_epi16(low, load(pair.weights[0])));
    half[1] = _mm256_add_epi32(half[1], _mm256_madd_epi16(high, load(pair.weights[1])));
  }
};

// Goes over the columns under a block of a row of y, each once: a column is added to all positions that it takes part
// in. When a position is complete, kOpen of them still lack columns; sums_ has the oldest first.
template <int kSize, int kStride>
class Slide {
 public:
  Slide(const Depthwise& layer, const DepthwiseBlock& block, const DepthwisePair* pairs, const std::uint8_t* x,
        std::size_t h, std::size_t w, std::size_t row)
      : bias_{{load(block.bias[0]), load(block.bias[1])}},
        pairs_(pairs),
        outside_(layer.outside.data()),
        first_(layer.left),
        end_(layer.left + w) {
    for (int i = 0; i < kSize; ++i) {
      const std::size_t from = row * kStride + i - layer.top;  // wraps round to beyond h where it is above x
      rows_[i] = from < h ? x + from * w * layer.channels : outside_;
      widths_[i] = from < h ? layer.channels : 0;
    }
    first_ ? leave() : enter();
    for (Sum& sum : sums_) sum = bias_;
    column<true, 0>();
    shift();
    for (int k = 1; k < kOpen; ++k) next<true>();
  }

  // How many positions there are from here on without padding.
  std::size_t inside() const { return at_ < first_ || at_ > end_ ? 0 : (end_ - at_) / kStride; }

  // Returns the sum of the next position; kBorder: there may be padding in it.
  template <bool kBorder>
  LEANTTA_INLINE Sum next() {
    if (kStride == 2) column<kBorder, -1>();
    column<kBorder, 0>();
    return shift();
  }

 private:
  static constexpr int kOpen = (kSize - 1) / kStride;

  // Adds the next column; for the newest position it is the one of tap kPhase.
  template <bool kBorder, int kPhase>
  LEANTTA_INLINE void column() {
    if (kBorder && at_ == end_) leave();
    for (int i = 0; i + 1 < kSize; i += 2)
      add<kPhase, 1>(words(places_[i]), words(places_[i + 1]), pairs_ + i / 2 * kSize);
    const __m256i here = words(places_[kSize - 1]);
    add<kPhase, 2>(before_, here, pairs_ + kSize / 2 * kSize);
    before_ = here;
    for (int i = 0; i < kSize; ++i) places_[i] += steps_[i];
    ++at_;
    if (kBorder && at_ == first_) enter();
  }

  // Adds two taps, each a word of a pair, to the positions for which their number is a multiple of kEvery.
  template <int kPhase, int kEvery>
  LEANTTA_INLINE void add(__m256i first, __m256i second, const DepthwisePair* pairs) {
    const __m256i low = _mm256_unpacklo_epi16(first, second), high = _mm256_unpackhi_epi16(first, second);
    for (int k = 0; k <= kOpen; ++k) {
      const int tap = kPhase + (kOpen - k) * kStride;
      if (tap >= 0 && tap % kEvery == 0) sums_[k].add(low, high, pairs[tap / kEvery]);
    }
  }

  LEANTTA_INLINE Sum shift() {
    const Sum oldest = sums_[0];
    for (int k = 0; k < kOpen; ++k) sums_[k] = sums_[k + 1];
    sums_[kOpen] = bias_;
    return oldest;
  }

  void enter() {
    for (int i = 0; i < kSize; ++i) {
      places_[i] = rows_[i];
      steps_[i] = widths_[i];
    }
  }

  void leave() {
    for (int i = 0; i < kSize; ++i) {
      places_[i] = outside_;
      steps_[i] = 0;
    }
  }

  const Sum bias_;
  const DepthwisePair* const pairs_;
  const std::uint8_t* const outside_;
  const std::size_t first_, end_;                  // columns of x, counted with the padding
  const std::uint8_t *rows_[kSize], *places_[kSize];  // the first column of x, and the next one to add
  std::size_t widths_[kSize], steps_[kSize];       // from a column to the next one; 0 where all are the same
  std::size_t at_ = 0;
  Sum sums_[kOpen + 1];
  __m256i before_ = _mm256_setzero_si256();  // of the last row, the column before
};

template <int kSize, int kStride>
void rows_of(const Depthwise& layer, const std::uint8_t* x, std::size_t h, std::size_t w, std::size_t start,
             std::size_t end, std::uint8_t* y) {
  const std::size_t channels = layer.channels, size = layer.columns_of(w) * channels;
  const __m256i zero = _mm256_set1_epi16(layer.y_zero);
  const DepthwisePair* pairs = layer.pairs.data();
  for (const DepthwiseBlock& block : layer.blocks) {
    const __m256 scale[2] = {_mm256_load_ps(block.scale[0]), _mm256_load_ps(block.scale[1])};
    const std::size_t whole = static_cast<std::size_t>(&block - layer.blocks.data()) * kBlock;
    const std::size_t channel = whole < channels - kBlock ? whole : channels - kBlock;
    std::uint8_t* out = y + channel;
    const auto write = [&](const Sum& sum) {
      __m256i steps[2];
      for (int k = 0; k < 2; ++k)  // to nearest, ties to even; packing clips
        steps[k] = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(sum.half[k]), scale[k]));
      const __m256i all = _mm256_adds_epi16(_mm256_packs_epi32(steps[0], steps[1]), zero);
      const __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out), bytes);
      out += channels;
    };
    for (std::size_t row = start; row < end; ++row) {
      Slide<kSize, kStride> slide(layer, block, pairs, x + channel, h, w, row);
      for (std::uint8_t* const last = out + size; out != last;) {
        const std::size_t left = static_cast<std::size_t>(last - out), plain = slide.inside() * channels;
        std::uint8_t* const border = out + (plain < left ? plain : left);
        while (out != border) write(slide.template next<false>());
        if (out != last) write(slide.template next<true>());
      }
    }
    pairs += kSize / 2 * kSize + kSize / 2 + 1;
  }
}

void rows(const Depthwise& layer, const std::uint8_t* x, std::size_t h, std::size_t w, std::size_t start,
          std::size_t end, std::uint8_t* y) {
  if (layer.width == 3)
    (layer.across == 1 ? rows_of<3, 1> : rows_of<3, 2>)(layer, x, h, w, start, end, y);
  else
    (layer.across == 1 ? rows_of<5, 1> : rows_of<5, 2>)(layer, x, h, w, start, end, y);
}

bool supports(const Depthwise& layer) {
  return __builtin_cpu_supports("avx2") && layer.channels >= kBlock && layer.height == layer.width &&
         (layer.width == 3 || layer.width == 5) && layer.down == layer.across &&
         (layer.across == 1 || layer.across == 2) && in_range(layer);
}

}  // namespace

const DepthwisePath kAvx2Depthwise = {supports, pack_pairs, rows};

}  // namespace leantta
