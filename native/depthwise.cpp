// The rows of a depthwise convolution over a batch, and the path for any kernel and processor.
#include "depthwise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace leantta {
namespace {

constexpr std::size_t kChunk = 32768;  // values of y that are worth a task of their own
constexpr std::size_t kTile = 16384;   // bytes of x that the first cache holds, with what else is needed

struct Work {
  const DepthwisePath& path;
  const Depthwise& layer;
  const std::uint8_t* x;
  std::uint8_t* y;
  std::size_t h, w, rows, columns;  // of x, and of y
  std::size_t chunk_rows, chunks;   // of a sample of y
  std::size_t tile_rows;            // of y, to be computed block by block of channels
};

void chunk_of_rows(void* context, std::size_t task) {
  const Work& work = *static_cast<const Work*>(context);
  const std::size_t sample = task / work.chunks, start = task % work.chunks * work.chunk_rows;
  const std::size_t end = std::min(start + work.chunk_rows, work.rows), size = work.columns * work.layer.channels;
  const std::uint8_t* x = work.x + sample * work.h * work.w * work.layer.channels;
  std::uint8_t* y = work.y + sample * work.rows * size;
  for (std::size_t row = start; row < end; row += work.tile_rows)
    work.path.rows(work.layer, x, work.h, work.w, row, std::min(row + work.tile_rows, end), y + row * size);
}

// The channels at a position that is counted with the padding.
const std::uint8_t* position(const Depthwise& layer, const std::uint8_t* x, std::size_t h, std::size_t w,
                             std::size_t i, std::size_t j) {
  const bool inside = i >= layer.top && i < layer.top + h && j >= layer.left && j < layer.left + w;
  return inside ? x + ((i - layer.top) * w + j - layer.left) * layer.channels : layer.outside.data();
}

void rows(const Depthwise& layer, const std::uint8_t* x, std::size_t h, std::size_t w, std::size_t start,
          std::size_t end, std::uint8_t* y) {
  const std::size_t channels = layer.channels, columns = layer.columns_of(w);
  for (std::size_t place = start * columns; place < end * columns; ++place, y += channels) {
    const std::size_t top = place / columns * layer.down, left = place % columns * layer.across;
    for (std::size_t c = 0; c < channels; ++c) {
      std::uint32_t sum = static_cast<std::uint32_t>(layer.bias[c]);  // modulo 2^32, as that of vectors
      const std::int8_t* weight = layer.weights.data() + c;
      for (std::size_t i = top; i < top + layer.height; ++i)
        for (std::size_t j = left; j < left + layer.width; ++j, weight += channels)
          sum += static_cast<std::uint32_t>(position(layer, x, h, w, i, j)[c] * *weight);
      const float steps = std::nearbyint(static_cast<float>(static_cast<std::int32_t>(sum)) * layer.scale[c]);
      y[c] = static_cast<std::uint8_t>(std::min(std::max(steps + layer.y_zero, 0.0f), 255.0f));
    }
  }
}

bool supports(const Depthwise&) { return true; }

void pack(Depthwise&) {}

// Values to be read by vectors, one after the other.
class Packer {
 public:
  explicit Packer(std::vector<DepthwiseLine>& lines) : lines_(lines) {}

  template <typename T>
  void add(T value) {
    if (at_ % sizeof(DepthwiseLine) == 0) lines_.emplace_back();
    std::memcpy(lines_.back().bytes + at_ % sizeof(DepthwiseLine), &value, sizeof value);
    at_ += sizeof value;
  }

 private:
  std::vector<DepthwiseLine>& lines_;
  std::size_t at_ = 0;
};

}  // namespace

const DepthwisePath kScalarDepthwise = {"scalar", supports, pack, rows, nullptr};

void pack_pairs(Depthwise& layer, std::size_t block) {
  const std::size_t size = layer.width, channels = layer.channels;
  std::vector<std::size_t> order;  // the channels of a block
  for (std::size_t half = 0; half < 2; ++half)
    for (std::size_t i = 0; i < block / 2; ++i) order.push_back(4 * half + i % 4 + i / 4 * 8);
  Packer packer(layer.packed);
  for (std::size_t c = 0; c < channels; c += block) {
    const std::size_t start = std::min(c, channels - block);
    for (const std::size_t channel : order) packer.add(layer.bias[start + channel]);
    for (const std::size_t channel : order) packer.add(layer.scale[start + channel]);
    const auto add = [&](const std::int8_t* first, const std::int8_t* second) {
      for (const std::size_t channel : order) {
        packer.add<std::int16_t>(first ? first[channel] : 0);
        packer.add<std::int16_t>(second[channel]);
      }
    };
    const auto tap = [&](std::size_t i, std::size_t j) { return &layer.weights[(i * size + j) * channels + start]; };
    for (std::size_t i = 0; i + 1 < size; i += 2)
      for (std::size_t j = 0; j < size; ++j) add(tap(i, j), tap(i + 1, j));
    for (std::size_t j = 0; j < size; j += 2) add(j ? tap(size - 1, j - 1) : nullptr, tap(size - 1, j));
  }
}

bool in_range(const Depthwise& layer) {
  for (std::size_t c = 0; c < layer.channels; ++c) {
    double most = std::abs(static_cast<double>(layer.bias[c]));
    for (std::size_t i = c; i < layer.weights.size(); i += layer.channels) most += 255.0 * std::abs(layer.weights[i]);
    if (most * layer.scale[c] >= 0x1p31) return false;
  }
  return true;
}

void convolve(const DepthwisePath& path, const Depthwise& layer, const Pool& pool, const std::uint8_t* x,
              std::uint8_t* y, std::size_t n, std::size_t h, std::size_t w) {
  const std::size_t rows = layer.rows_of(h), columns = layer.columns_of(w), size = rows * columns * layer.channels;
  const std::size_t wanted = std::max<std::size_t>(1, size / kChunk), chunk_rows = (rows + wanted - 1) / wanted;
  const std::size_t chunks = (rows + chunk_rows - 1) / chunk_rows;
  const std::size_t tile_rows = 1 + kTile / (1 + layer.down * w * layer.channels);
  Work work{path, layer, x, y, h, w, rows, columns, chunk_rows, chunks, tile_rows};
  if (n * size >= 2 * kChunk)
    pool.run(pool.self, n * chunks, chunk_of_rows, &work);
  else
    for (std::size_t task = 0; task < n * chunks; ++task) chunk_of_rows(&work, task);
}

}  // namespace leantta
