// The passes of a normalization over a batch, and which path runs them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

#include "kernel.h"

namespace leantta {
namespace {

constexpr std::size_t kChunk = 65536;  // values that are worth a task of their own

const Path* const kPaths[] = {
#if defined(LEANTTA_AVX512)
    &kAvx512Vnni, &kAvx512,
#endif
#if defined(LEANTTA_AVX2)
    &kAvx2,
#endif
#if defined(LEANTTA_NEON)
    &kNeon,
#endif
    &kScalar};

// Memory for the time of a call: on the stack where it fits, as that is warm. What is not there is told by `ok`.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes) {
    if (bytes > sizeof here_) there_.reset(new (std::nothrow) unsigned char[bytes]);
    next_ = bytes > sizeof here_ ? there_.get() : here_;
  }
  bool ok() const { return next_ != nullptr; }

  template <typename T>
  T* take(std::size_t count) {
    T* taken = reinterpret_cast<T*>(next_);
    next_ += count * sizeof(T);
    return taken;
  }

 private:
  alignas(64) unsigned char here_[32768];
  std::unique_ptr<unsigned char[]> there_;
  unsigned char* next_;
};

struct Work {
  const Path& path;
  const Layer& layer;
  const std::uint8_t* x;
  const std::uint8_t* r;
  std::uint8_t* y;
  float* distance;
  const Memory& memory;
  std::size_t n, rows, width, chunk_rows, chunks;  // width: padded channels
  std::int32_t* sums;                              // (n, chunks, 2, width)
  double* totals;                                  // (2, width); only where a sample has several chunks
  float* values;                                   // (n, 4, width): mean, excess, scale, offset
};

std::size_t offset_of(const Work& work, std::size_t sample, std::size_t chunk) {
  return (sample * work.rows + chunk * work.chunk_rows) * work.layer.channels;
}

std::size_t rows_of(const Work& work, std::size_t chunk) {
  return std::min(work.chunk_rows, work.rows - chunk * work.chunk_rows);
}

std::int32_t* sums_of(const Work& work, std::size_t sample, std::size_t chunk) {
  return work.sums + 2 * work.width * (sample * work.chunks + chunk);
}

void add_up(const Work& work, std::size_t sample, std::size_t chunk) {
  const std::size_t channels = work.layer.channels, width = work.width;
  std::int32_t* sum = sums_of(work, sample, chunk);
  work.path.sums(work.x + offset_of(work, sample, chunk), rows_of(work, chunk), channels, work.layer.flip, sum,
                 sum + width);
  for (std::size_t c = channels; c < width; ++c) sum[c] = sum[width + c] = 0;
}

void shift_of(const Work& work, std::size_t sample, float* mean, float* excess) {
  const std::size_t width = work.width;
  const double count = static_cast<double>(work.rows);
  const std::int32_t* sum = sums_of(work, sample, 0);
  if (work.chunks == 1) return work.path.shift(work.layer, count, sum, sum + width, mean, excess);
  std::copy(sum, sum + 2 * width, work.totals);
  for (std::size_t chunk = 1; chunk < work.chunks; ++chunk) {
    sum = sums_of(work, sample, chunk);
    for (std::size_t i = 0; i < 2 * width; ++i) work.totals[i] += sum[i];
  }
  return work.path.shift_of_totals(work.layer, count, work.totals, work.totals + width, mean, excess);
}

// The memory of one sample.
Memory of_sample(const Memory& memory, const Layer& layer, std::size_t sample) {
  if (!memory.before) return {};
  return {memory.before + sample * memory.step, 0, memory.after + sample * memory_size(layer)};
}

// From mean and excess to the scale and offset behind them; the answer takes the place of the first two. Returns the
// distance.
float line_of(const Path& path, const Layer& layer, std::size_t width, float* mean, const Memory& memory) {
  float *excess = mean + width, *scale = excess + width, *offset = scale + width;
  const float distance = path.answer(layer, mean, excess, scale, memory);  // it works where scale and offset will be
  path.coefficients(layer, mean, excess, scale, offset);
  return distance;
}

void decide(const Work& work, std::size_t sample) {
  float* mean = work.values + 4 * work.width * sample;
  shift_of(work, sample, mean, mean + work.width);
  const float distance = line_of(work.path, work.layer, work.width, mean, of_sample(work.memory, work.layer, sample));
  if (work.distance) work.distance[sample] = distance;
}

void write(const Work& work, std::size_t sample, std::size_t chunk) {
  const std::size_t at = offset_of(work, sample, chunk);
  const float* scale = work.values + (4 * sample + 2) * work.width;
  work.path.apply(work.layer, work.x + at, work.r ? work.r + at : nullptr, work.y + at, rows_of(work, chunk), scale,
                  scale + work.width);
}

void whole_sample(void* context, std::size_t sample) {
  const Work& work = *static_cast<const Work*>(context);
  add_up(work, sample, 0);
  decide(work, sample);
  write(work, sample, 0);
}

void add_up_chunk(void* context, std::size_t task) {
  const Work& work = *static_cast<const Work*>(context);
  add_up(work, task / work.chunks, task % work.chunks);
}

void write_chunk(void* context, std::size_t task) {
  const Work& work = *static_cast<const Work*>(context);
  write(work, task / work.chunks, task % work.chunks);
}

void serial(void*, std::size_t count, void (*f)(void*, std::size_t), void* context) {
  for (std::size_t i = 0; i < count; ++i) f(context, i);
}

const Pool kSerial = {nullptr, serial};

}  // namespace

float blend_weight(const Layer& layer, float distance) {
  if (layer.gate == Gate::kAdaptive) return layer.low + layer.room * std::exp(layer.rate * distance);
  return layer.low + std::max(0.0f, layer.room - layer.room / std::max(distance, 1e-30f));
}

float filter_weight(const Layer& layer, float distance) {
  const float weight = 1 - layer.shrink / std::max(distance, 1e-30f);
  return weight < 0 ? 0 : weight;  // what is not a number stays so
}

const Path* const* paths(std::size_t* count) {
  *count = sizeof kPaths / sizeof *kPaths;
  return kPaths;
}

const Path* choose(const char* name) {
  for (const Path* path : kPaths)
    if (path->supported() && (!name || std::strcmp(name, path->name) == 0)) return path;
  return nullptr;
}

bool normalize(const Path& path, const Layer& layer, const Pool& pool, const std::uint8_t* x, const std::uint8_t* r,
               std::uint8_t* y, float* distance, const Memory& memory, std::size_t n, std::size_t rows) {
  if (n == 0 || rows == 0) return true;  // nothing to do, and no statistics of nothing
  const std::size_t width = padded(layer.channels), size = rows * layer.channels;
  const std::size_t wanted = std::max({std::size_t{1}, size / kChunk, (rows + kMostRows - 1) / kMostRows});
  const std::size_t chunk_rows = (rows + wanted - 1) / wanted, chunks = (rows + chunk_rows - 1) / chunk_rows;
  const std::size_t total_count = chunks > 1 ? 2 * width : 0, value_count = 4 * width * n;
  const std::size_t sum_count = 2 * width * chunks * n;
  Scratch scratch(total_count * sizeof(double) + value_count * sizeof(float) + sum_count * sizeof(std::int32_t));
  if (!scratch.ok()) return false;
  double* totals = scratch.take<double>(total_count);
  float* values = scratch.take<float>(value_count);
  Work work{path, layer, x, r, y, distance, memory, n, rows, width, chunk_rows, chunks,
            scratch.take<std::int32_t>(sum_count), totals, values};
  const Pool& crew = n * size >= 2 * kChunk ? pool : kSerial;
  if (chunks == 1) {
    crew.run(crew.self, n, whole_sample, &work);
    return true;
  }
  crew.run(crew.self, n * chunks, add_up_chunk, &work);
  for (std::size_t sample = 0; sample < n; ++sample) decide(work, sample);
  crew.run(crew.self, n * chunks, write_chunk, &work);
  return true;
}

namespace {

struct Planes {
  const Path& path;
  const Layer& layer;
  const float* x;
  float* y;
  float* distance;
  const Memory& memory;
  std::size_t n, count, width;
  float* values;  // (n, 4, width)
};

void whole_planes(void* context, std::size_t sample) {
  const Planes& work = *static_cast<const Planes*>(context);
  const std::size_t width = work.width, channels = work.layer.channels;
  float* mean = work.values + 4 * width * sample;
  float *excess = mean + width, *scale = excess + width, *offset = scale + width;
  const float* x = work.x + sample * channels * work.count;
  float* y = work.y + sample * channels * work.count;
  std::fill(mean, mean + 2 * width, 0.0f);
  for (std::size_t c = 0; c < channels; ++c) {
    if (work.layer.ratio[c] == 0) continue;  // a dead channel has no shift
    work.path.plane_moments(x + c * work.count, work.count, mean + c, excess + c);
    excess[c] -= work.layer.ratio[c];
  }
  const float distance = line_of(work.path, work.layer, width, mean, of_sample(work.memory, work.layer, sample));
  for (std::size_t c = 0; c < channels; ++c)
    work.path.plane_apply(x + c * work.count, y + c * work.count, work.count, scale[c], offset[c]);
  if (work.distance) work.distance[sample] = distance;
}

}  // namespace

bool normalize_planes(const Path& path, const Layer& layer, const Pool& pool, const float* x, float* y, float* distance,
                      const Memory& memory, std::size_t n, std::size_t count) {
  if (n == 0 || count == 0) return true;
  const std::size_t width = padded(layer.channels);
  Scratch scratch(4 * width * n * sizeof(float));
  if (!scratch.ok()) return false;
  Planes work{path, layer, x, y, distance, memory, n, count, width, scratch.take<float>(4 * width * n)};
  const Pool& crew = n * count * layer.channels >= kChunk ? pool : kSerial;
  crew.run(crew.self, n, whole_planes, &work);
  return true;
}

}  // namespace leantta
