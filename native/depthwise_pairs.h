// The taps of a block for x86-64, where one instruction multiplies words and adds two neighbouring products. Two taps
// are side by side for each channel: a row and the one below it, and in the last row a column and the one before it.
//
// A path has a struct of its vectors, V:
//
//     Words, Floats                               vectors of words, and of floats; kBlock words
//     words(bytes)                                kBlock bytes as words
//     load_words(x), load_floats(x)               from an aligned place
//     low(first, second), high(first, second)     unpack words
//     add_products(sum, x, weights)               sum + the products of words, two by two
//     scaled(sum, scale)                          in float32, to the nearest whole number, ties to even
//     store(low, high, zero, y)                   adds zero and writes kBlock bytes, clipped; all_words(value): for zero
#pragma once

#include "depthwise_slide.h"

namespace leantta {
namespace {

template <class V, int kTaps>
class PairTaps {
 public:
  static constexpr int kSize = kTaps;
  static constexpr std::size_t kBlock = V::kBlock;
  using Words = typename V::Words;

  struct Sum {  // the halves of a block are what `low` and `high` give
    Words half[2];
  };

  LEANTTA_INLINE PairTaps(const Depthwise& layer, std::size_t block, std::size_t)
      : zero_(V::all_words(layer.y_zero)) {
    constexpr std::size_t kPairs = kSize / 2 * kSize + kSize / 2 + 1;
    constexpr std::size_t kLines = kBlock * sizeof(std::int32_t) / sizeof(DepthwiseLine);  // of bias, scale or a pair
    const DepthwiseLine* line = layer.packed.data() + block * (2 + kPairs) * kLines;
    for (int k = 0; k < 2; ++k) {
      bias_.half[k] = V::load_words(line->bytes + k * sizeof(Words));
      scale_[k] = V::load_floats(line[kLines].bytes + k * sizeof(Words));
    }
    pairs_ = line[2 * kLines].bytes;
  }

  LEANTTA_INLINE Sum bias() const { return bias_; }

  template <class Positions>
  LEANTTA_INLINE void add(const std::uint8_t* const* x, Sum* sums) {
    for (int i = 0; i + 1 < kSize; i += 2)
      add_pair<Positions, 1>(V::words(x[i]), V::words(x[i + 1]), i / 2 * kSize, sums);
    const Words here = V::words(x[kSize - 1]);
    add_pair<Positions, 2>(before_, here, kSize / 2 * kSize, sums);
    before_ = here;
  }

  LEANTTA_INLINE void write(const Sum& sum, std::uint8_t* y) const {
    V::store(V::scaled(sum.half[0], scale_[0]), V::scaled(sum.half[1], scale_[1]), zero_, y);
  }

 private:
  // Adds two taps, each a word of a pair, to the positions for which their number is a multiple of kEvery.
  template <class Positions, int kEvery>
  LEANTTA_INLINE void add_pair(Words first, Words second, int pair, Sum* sums) const {
    const Words low = V::low(first, second), high = V::high(first, second);
    for (int k = 0; k < kSize; ++k) {
      const int tap = Positions::tap(k);
      if (tap < 0 || tap % kEvery) continue;
      const std::uint8_t* weights = pairs_ + (pair + tap / kEvery) * 2 * sizeof(Words);
      sums[k].half[0] = V::add_products(sums[k].half[0], low, V::load_words(weights));
      sums[k].half[1] = V::add_products(sums[k].half[1], high, V::load_words(weights + sizeof(Words)));
    }
  }

  const Words zero_;
  Sum bias_;
  typename V::Floats scale_[2];
  const std::uint8_t* pairs_;
  Words before_ = V::all_words(0);  // of the last row, the column before; tap 0 has none, and a weight of 0 for it
};

template <class V>
void pack(Depthwise& layer) {
  pack_pairs(layer, V::kBlock);
}

}  // namespace
}  // namespace leantta
