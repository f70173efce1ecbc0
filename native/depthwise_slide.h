// What every path with vectors shares: kernels of 3 x 3 and 5 x 5, stride 1 and 2, a block of channels after the other.
// Each path compiles its own copy for its own instructions, hence the namespace without a name.
//
// A path has a class template Taps<kSize>, a block of channels with its constants:
//
//     kBlock                        channels
//     Sum                           of a position, in 32 bits
//     Taps(layer, block, channel)   the block of that number, which begins at that channel
//     bias()                        the Sum to begin with
//     add<Reach>(x, sums)           adds the bytes of a column, x[0] .. x[kSize - 1], to the sums that they take part in
//     write(sum, y)                 writes the bytes of a position
#pragma once

#include "depthwise.h"

#define LEANTTA_INLINE inline __attribute__((always_inline))

namespace leantta {
namespace {

// The positions that a column takes part in, by the number of the oldest, 0: when that one is complete, kOpen still lack
// columns. Only those from kFirst to before kEnd are in the row.
template <int kSize, int kStride, int kPhase, int kFirst, int kEnd>
struct Reach {
  // The tap of the column for a position, where it is tap kPhase for the newest one; below 0: none.
  static constexpr int tap(int position) {
    const bool within = position >= kFirst && position < kEnd;
    return within ? kPhase + ((kSize - 1) / kStride - position) * kStride : -1;
  }
};

// Goes over the columns under a block of a row of y, each once: a column is added to all positions that it takes part
// in.
template <class Taps, int kSize, int kStride>
class Slide {
 public:
  using Sum = typename Taps::Sum;

  LEANTTA_INLINE Slide(Taps& taps, const Depthwise& layer, const std::uint8_t* x, std::size_t h, std::size_t w,
                       std::size_t row)
      : taps_(taps), outside_(layer.outside.data()), first_(layer.left), end_(layer.left + w) {
    for (int i = 0; i < kSize; ++i) {
      const std::size_t from = row * kStride + i - layer.top;  // wraps round to beyond h where it is above x
      rows_[i] = from < h ? x + from * w * layer.channels : outside_;
      widths_[i] = from < h ? layer.channels : 0;
    }
    first_ ? leave() : enter();
    for (Sum& sum : sums_) sum = taps_.bias();
    column<true, 0, kOpen, kOpen + 1>();
    shift();
    begin<kOpen - 1>();
  }

  // How many positions there are from here on without padding.
  std::size_t inside() const { return at_ < first_ || at_ > end_ ? 0 : (end_ - at_) / kStride; }

  // Returns the sum of the next position, where more than kOpen are left; kBorder: there may be padding in it.
  template <bool kBorder>
  LEANTTA_INLINE Sum next() {
    return next<kBorder, 0, kOpen + 1>();
  }

  // Returns the sum of the next position, where kLeft are left.
  template <int kLeft>
  LEANTTA_INLINE Sum next_of_last() {
    return next<true, 0, kLeft>();
  }

  static constexpr int kOpen = (kSize - 1) / kStride;

 private:
  // Adds the columns of the first position up to those with which it is complete.
  template <int kFirst>
  LEANTTA_INLINE void begin() {
    if constexpr (kFirst > 0) {
      next<true, kFirst, kOpen + 1>();
      begin<kFirst - 1>();
    }
  }

  template <bool kBorder, int kFirst, int kEnd>
  LEANTTA_INLINE Sum next() {
    if constexpr (kStride == 2) column<kBorder, -1, kFirst, kEnd>();
    column<kBorder, 0, kFirst, kEnd>();
    return shift();
  }

  // Adds the next column; for the newest position it is the one of tap kPhase.
  template <bool kBorder, int kPhase, int kFirst, int kEnd>
  LEANTTA_INLINE void column() {
    if (kBorder && at_ == end_) leave();
    taps_.template add<Reach<kSize, kStride, kPhase, kFirst, kEnd>>(places_, sums_);
    for (int i = 0; i < kSize; ++i) places_[i] += steps_[i];
    ++at_;
    if (kBorder && at_ == first_) enter();
  }

  LEANTTA_INLINE Sum shift() {
    const Sum oldest = sums_[0];
    for (int k = 0; k < kOpen; ++k) sums_[k] = sums_[k + 1];
    sums_[kOpen] = taps_.bias();
    return oldest;
  }

  LEANTTA_INLINE void enter() {
    for (int i = 0; i < kSize; ++i) {
      places_[i] = rows_[i];
      steps_[i] = widths_[i];
    }
  }

  LEANTTA_INLINE void leave() {
    for (int i = 0; i < kSize; ++i) {
      places_[i] = outside_;
      steps_[i] = 0;
    }
  }

  Taps& taps_;
  const std::uint8_t* const outside_;
  const std::size_t first_, end_;                     // columns of x, counted with the padding
  const std::uint8_t *rows_[kSize], *places_[kSize];  // the first column of x, and the next one to add
  std::size_t widths_[kSize], steps_[kSize];          // from a column to the next one; 0 where all are the same
  std::size_t at_ = 0;
  Sum sums_[kOpen + 1];
};

// Writes the last positions of a row, of which `left` are left.
template <int kLeft, class Taps, class Positions>
LEANTTA_INLINE void finish(const Taps& taps, Positions& slide, std::size_t channels, std::size_t left,
                           std::uint8_t* y) {
  if constexpr (kLeft > 0) {
    if (left == kLeft) {
      taps.write(slide.template next_of_last<kLeft>(), y);
      y += channels;
      --left;
    }
    finish<kLeft - 1>(taps, slide, channels, left, y);
  }
}

template <template <int> class Taps, int kSize, int kStride>
void slide_rows(const Depthwise& layer, const std::uint8_t* x, std::size_t h, std::size_t w, std::size_t start,
                std::size_t end, std::uint8_t* y) {
  using Row = Slide<Taps<kSize>, kSize, kStride>;
  constexpr std::size_t kBlock = Taps<kSize>::kBlock;
  const std::size_t channels = layer.channels, columns = layer.columns_of(w);
  for (std::size_t block = 0; block * kBlock < channels; ++block) {
    const std::size_t whole = block * kBlock;  // the last block overlaps its neighbour if channels are no multiple
    const std::size_t channel = whole < channels - kBlock ? whole : channels - kBlock;
    Taps<kSize> taps(layer, block, channel);
    std::uint8_t* out = y + channel;
    for (std::size_t row = start; row < end; ++row) {
      Row slide(taps, layer, x + channel, h, w, row);
      std::size_t left = columns;
      while (left > Row::kOpen) {
        const std::size_t most = left - Row::kOpen, inside = slide.inside(), plain = inside < most ? inside : most;
        left -= plain;
        for (std::uint8_t* const border = out + plain * channels; out != border; out += channels)
          taps.write(slide.template next<false>(), out);
        if (plain == most) break;
        taps.write(slide.template next<true>(), out);
        out += channels;
        --left;
      }
      finish<Row::kOpen>(taps, slide, channels, left, out);
      out += left * channels;
    }
  }
}

template <template <int> class Taps>
void vector_rows(const Depthwise& layer, const std::uint8_t* x, std::size_t h, std::size_t w, std::size_t start,
                 std::size_t end, std::uint8_t* y) {
  if (layer.width == 3)
    (layer.across == 1 ? slide_rows<Taps, 3, 1> : slide_rows<Taps, 3, 2>)(layer, x, h, w, start, end, y);
  else
    (layer.across == 1 ? slide_rows<Taps, 5, 1> : slide_rows<Taps, 5, 2>)(layer, x, h, w, start, end, y);
}

// Whether the kernel and the strides are those that vectors have, with a block of channels at least.
inline bool has_vectors(const Depthwise& layer, std::size_t block) {
  return layer.channels >= block && layer.height == layer.width && (layer.width == 3 || layer.width == 5) &&
         layer.down == layer.across && (layer.across == 1 || layer.across == 2);
}

}  // namespace
}  // namespace leantta
