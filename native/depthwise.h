// The depthwise convolution on bytes, channels last: what a layer is, and what computes its rows. Every path gives the
// bytes of ONNX Runtime's QLinearConv: sums of integers in 32 bits, one product in float32, rounded to the nearest
// whole number, ties to even.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel.h"

struct OrtCustomOp;

namespace leantta {

// Constants in the order in which vectors read them.
struct alignas(64) DepthwiseLine {
  std::uint8_t bytes[64];
};

// The constants of a node. The zero point of x takes a constant part in every sum, at the border too, where padding
// reads as x_zero: it is in the bias.
struct Depthwise {
  std::size_t channels = 0;
  std::size_t height = 1, width = 1;                     // of the kernel
  std::size_t down = 1, across = 1;                      // strides
  std::size_t top = 0, left = 0, bottom = 0, right = 0;  // padding
  std::uint8_t y_zero = 0;
  std::vector<std::int8_t> weights;   // (height, width, channels)
  std::vector<std::int32_t> bias;     // (channels)
  std::vector<float> scale;           // (channels): of the sums, in steps of y
  std::vector<std::uint8_t> outside;  // (channels): x_zero, a position of the padding

  std::vector<DepthwiseLine> packed;  // the same for vectors, see pack_pairs

  std::size_t rows_of(std::size_t h) const { return (h + top + bottom - height) / down + 1; }
  std::size_t columns_of(std::size_t w) const { return (w + left + right - width) / across + 1; }
};

// One way to compute, for one kind of processor.
struct DepthwisePath {
  const char* name;
  bool (*supports)(const Depthwise& layer);
  void (*pack)(Depthwise& layer);  // once, before `rows`

  // Writes the rows from `start` to `end` of one sample of y; `y` is where the first of them begins.
  void (*rows)(const Depthwise& layer, const std::uint8_t* x, std::size_t h, std::size_t w, std::size_t start,
               std::size_t end, std::uint8_t* y);

  const DepthwisePath* otherwise;  // the path for layers that this one does not support
};

extern const DepthwisePath kScalarDepthwise;  // supports every layer
#if defined(LEANTTA_AVX2)
extern const DepthwisePath kAvx2Depthwise;
#endif
#if defined(LEANTTA_AVX512)
extern const DepthwisePath kAvx512Depthwise;
extern const DepthwisePath kAvx512VnniDepthwise;
#endif
#if defined(LEANTTA_NEON)
extern const DepthwisePath kNeonDepthwise;
#endif

// Fills `packed` for square kernels of odd size and blocks of that many channels, a multiple of 16: for each block the
// biases, the scales and the weights, two taps side by side for each channel. First come two rows after two rows, a tap
// and the one below it; then the last row, a tap of even number and the one before it. Of every 8 channels, 0 .. 3 are
// in the first half of a block and 4 .. 7 in the second, where unpacking puts them. The last block overlaps its
// neighbour if `channels`, of which there is a block at least, are no multiple.
void pack_pairs(Depthwise& layer, std::size_t block);

// Whether no result can have 2^31 steps or more, before it is clipped.
bool in_range(const Depthwise& layer);

// Writes y (n, rows_of(h), columns_of(w), channels) for x (n, h, w, channels), which with its padding is not smaller
// than the kernel.
void convolve(const DepthwisePath& path, const Depthwise& layer, const Pool& pool, const std::uint8_t* x,
              std::uint8_t* y, std::size_t n, std::size_t h, std::size_t w);

// The operator for sessions on a path, or nullptr where ONNX Runtime's own is not known to be slower; `asked`: by name.
const OrtCustomOp* depthwise_op(const Path& path, bool asked, std::uint32_t version);

}  // namespace leantta
