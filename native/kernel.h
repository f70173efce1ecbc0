// The adaptive normalization on bytes, channels last, and on floats, channels second: what a layer is, and what a
// processor's path has to offer. The formulas are those of src/leantta/graph/functions.py.
//
// Every path gives the same bytes as the scalar one: sums are integers, and what is computed in floating point is
// computed in one order, with fused multiply-adds exactly where all paths have them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leantta {

constexpr std::size_t kLanes = 16;        // arrays per channel are padded to a multiple of this
constexpr std::size_t kMostRows = 32768;  // of one call of `sums`: 255 * 255 * 32768 fits into 31 bits

inline std::size_t padded(std::size_t channels) { return (channels + kLanes - 1) / kLanes * kLanes; }

// What bytes stand for: scale * (byte - zero). Bytes are unsigned; those of int8 are read with the top bit flipped.
struct Affine {
  float scale = 1;
  float zero = 0;
};

// How a layer answers the shift of a sample.
enum class Gate { kAdaptive, kCalibrated, kFilter };

// The constants of a node; the arrays have padded(channels) values, but for those of the filter.
struct Layer {
  std::size_t channels = 0;
  Affine y, r;                // output, residual
  bool floats = false;        // no bytes: channels second
  std::uint8_t flip = 0;      // 0x80 for int8
  bool has_residual = false;  // y = activation(norm(u) + r)
  bool hard_swish = false;    // ReLU and ReLU6 need nothing: the range of y clips
  Gate gate = Gate::kAdaptive;
  const float* u_scale = nullptr;  // of the input's bytes; channels may differ. There for floats too
  const float* u_zero = nullptr;
  const float* gamma = nullptr;
  const float* beta = nullptr;
  const float* ratio = nullptr;  // 0 in a dead channel, whose statistics stay the source's

  // Of the gates that blend: the paper's, which has a rate, and the calibrated one, which has weights of the variances.
  float low = 0, room = 0, rate = 0;
  const float* mean_weight = nullptr;
  const float* var_weight = nullptr;

  // Of the filter. Its matrices lie in blocks of kLanes columns, and a block has all of its rows.
  float shrink = 0;
  std::size_t rank = 0;                 // at most 2 * channels
  const float* into = nullptr;          // (2 * padded(channels), padded(rank)): rows of means, then of variances
  const float* back = nullptr;          // (rank, 2 * padded(channels)): columns in the same order
  const float* inner_weight = nullptr;  // (padded(rank),)
  float length = 0;                     // of its memory, if it has one: samples that the mean counts for, at most
};

// What a filter keeps of a stream: the running means of its inner values (rank), of the mean and of the mean square of
// each channel (channels, channels), how many samples they count for, and how far samples agree. A row each for n
// samples.
struct Memory {
  const float* before = nullptr;  // nullptr: the filter has no memory
  std::size_t step = 0;           // from a row of `before` to the next; 0 if all samples have the same
  float* after = nullptr;         // (n, memory_size(layer))
};

inline std::size_t means_size(const Layer& layer) { return layer.rank + 2 * layer.channels; }
inline std::size_t memory_size(const Layer& layer) { return means_size(layer) + 2; }

// The weight of the sample's statistics at the distance S, by a gate that blends.
float blend_weight(const Layer& layer, float distance);

// How much of its shift the filter answers at the distance S.
float filter_weight(const Layer& layer, float distance);

// One way to compute, for one kind of processor.
struct Path {
  const char* name;
  bool (*supported)();

  // Sets sum[c] and square[c] to the sums of x and x^2 over `rows` <= kMostRows rows of `channels` bytes.
  void (*sums)(const std::uint8_t* x, std::size_t rows, std::size_t channels, std::uint8_t flip, std::int32_t* sum,
               std::int32_t* square);

  // From the sums over `count` rows, or from totals of several sums: mean and var - ratio of u per channel.
  void (*shift)(const Layer& layer, double count, const std::int32_t* sum, const std::int32_t* square, float* mean,
                float* excess);
  void (*shift_of_totals)(const Layer& layer, double count, const double* sum, const double* square, float* mean,
                          float* excess);

  // Puts the mean and the variance to normalise with in the place of mean and excess. `room` are 2 * padded(channels)
  // floats to work in; `memory` is that of this sample alone. Returns the distance S.
  float (*answer)(const Layer& layer, float* mean, float* excess, float* room, const Memory& memory);

  // y = u * scale + offset per channel, in steps of y (in real numbers for hard-swish), from that mean and variance.
  void (*coefficients)(const Layer& layer, const float* mean, const float* var, float* scale, float* offset);

  // Writes y for `rows` rows; y may be x or r.
  void (*apply)(const Layer& layer, const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows,
                const float* scale, const float* offset);

  // Floats, channels second: mean and mean squared deviation of a plane, and y = x * scale + offset over it.
  void (*plane_moments)(const float* x, std::size_t count, float* mean, float* var);
  void (*plane_apply)(const float* x, float* y, std::size_t count, float scale, float offset);
};

extern const Path kScalar;
#if defined(LEANTTA_AVX2)
extern const Path kAvx2;
#endif
#if defined(LEANTTA_AVX512)
extern const Path kAvx512, kAvx512Vnni;
#endif
#if defined(LEANTTA_NEON)
extern const Path kNeon;
#endif

// All paths of this build, the best first and the scalar one last; `count` is set to their number.
const Path* const* paths(std::size_t* count);

// The best path that this processor has, or the one of that name; nullptr if it is not there.
const Path* choose(const char* name);

// Runs f(context, i) for i in 0 .. count - 1, in any order and perhaps at once.
struct Pool {
  void* self;
  void (*run)(void* self, std::size_t count, void (*f)(void* context, std::size_t i), void* context);
};

// Normalises n samples of `rows` rows; `distance` (n) may be nullptr. Returns false if memory is short.
bool normalize(const Path& path, const Layer& layer, const Pool& pool, const std::uint8_t* x, const std::uint8_t* r,
               std::uint8_t* y, float* distance, const Memory& memory, std::size_t n, std::size_t rows);

// The same for floats, channels second: n samples of layer.channels planes of `count` values.
bool normalize_planes(const Path& path, const Layer& layer, const Pool& pool, const float* x, float* y, float* distance,
                      const Memory& memory, std::size_t n, std::size_t count);

}  // namespace leantta
