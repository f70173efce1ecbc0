// Paths with a fault, to show that the tests find it. Each does what the scalar path does, but for one thing.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "../kernel.h"

namespace leantta_test {

using leantta::Gate;
using leantta::kScalar;
using leantta::Layer;
using leantta::Memory;
using leantta::Path;

struct Fault {
  const char* name;
  bool formulas;  // to be found by the formulas alone; else against the scalar path
  void (*put)(Path& path);
};

using Byte = std::uint8_t;
using Int = std::int32_t;

// The mean, slope or offset of a layer off by a share.
template <int kWhich>
void off_by_a_share(const Layer& layer, const float* mean, const float* var, float* scale, float* offset) {
  const std::size_t width = leantta::padded(layer.channels);
  std::vector<float> moved(mean, mean + width);
  for (float& value : moved) value *= kWhich == 0 ? 1.001f : 1.0f;
  kScalar.coefficients(layer, moved.data(), var, scale, offset);
  for (std::size_t c = 0; c < width; ++c) {
    if (kWhich == 1) scale[c] *= 1.001f;
    if (kWhich == 2) offset[c] += 0.01f;
  }
}

inline const Fault kFaults[] = {
    {"a sum of many rows", false,
     [](Path& path) {
       path.sums = [](const Byte* x, std::size_t rows, std::size_t channels, Byte flip, Int* sum, Int* square) {
         kScalar.sums(x, rows, channels, flip, sum, square);
         if (rows > 256) ++sum[channels - 1];
       };
     }},
    {"a square of an odd row", false,
     [](Path& path) {
       path.sums = [](const Byte* x, std::size_t rows, std::size_t channels, Byte flip, Int* sum, Int* square) {
         kScalar.sums(x, rows, channels, flip, sum, square);
         if (rows % 2 && channels > 32) ++square[32];
       };
     }},
    {"a read past the end", false,
     [](Path& path) {
       path.sums = [](const Byte* x, std::size_t rows, std::size_t channels, Byte flip, Int* sum, Int* square) {
         kScalar.sums(x, rows, channels, flip, sum, square);
         const volatile Byte next = x[rows * channels];
         static_cast<void>(next);
       };
     }},
    {"a write past the end", false,
     [](Path& path) {
       path.apply = [](const Layer& layer, const Byte* x, const Byte* r, Byte* y, std::size_t rows, const float* scale,
                       const float* offset) {
         kScalar.apply(layer, x, r, y, rows, scale, offset);
         y[rows * layer.channels] = 0;
       };
     }},
    {"ties to the larger", false,
     [](Path& path) {
       path.apply = [](const Layer& layer, const Byte* x, const Byte* r, Byte* y, std::size_t rows, const float* scale,
                       const float* offset) {
         std::vector<float> up(offset, offset + leantta::padded(layer.channels));
         for (float& value : up) value += 1e-4f;
         kScalar.apply(layer, x, r, y, rows, scale, up.data());
       };
     }},
    {"a distance in another order", false,
     [](Path& path) {
       path.answer = [](const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
         const float distance = kScalar.answer(layer, mean, excess, room, memory);
         return distance + 0x1p-23f * distance;
       };
     }},
    {"an answer in another order", false,
     [](Path& path) {
       path.answer = [](const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
         const float distance = kScalar.answer(layer, mean, excess, room, memory);
         if (layer.gate == Gate::kFilter) excess[layer.channels - 1] *= 1 + 0x1p-23f;
         return distance;
       };
     }},
    {"a filter that reads past its matrix", false,
     [](Path& path) {
       path.answer = [](const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
         if (layer.gate == Gate::kFilter) {
           const volatile float next = layer.back[layer.rank * 2 * leantta::padded(layer.channels)];
           static_cast<void>(next);
         }
         return kScalar.answer(layer, mean, excess, room, memory);
       };
     }},
    {"a filter that does not shrink", true,
     [](Path& path) {
       path.answer = [](const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
         Layer other = layer;
         other.shrink = 0;
         return kScalar.answer(other, mean, excess, room, memory);
       };
     }},
    {"a filter that sees variances and not their logarithms", true,
     [](Path& path) {
       path.answer = [](const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
         for (std::size_t c = 0; layer.gate == Gate::kFilter && c < layer.channels; ++c)
           excess[c] = std::exp(excess[c]) - 1;
         return kScalar.answer(layer, mean, excess, room, memory);
       };
     }},
    {"a filter's variance off by a thousandth", true,
     [](Path& path) {
       path.answer = [](const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
         const float distance = kScalar.answer(layer, mean, excess, room, memory);
         for (std::size_t c = 0; layer.gate == Gate::kFilter && c < layer.channels; ++c) excess[c] *= 1.001f;
         return distance;
       };
     }},
    {"a memory in another order", false,
     [](Path& path) {
       path.answer = [](const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
         const float distance = kScalar.answer(layer, mean, excess, room, memory);
         if (memory.before) memory.after[layer.rank - 1] *= 1 + 0x1p-23f;
         return distance;
       };
     }},
    {"a filter that reads past its memory", false,
     [](Path& path) {
       path.answer = [](const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
         if (memory.before) {
           const volatile float next = memory.before[leantta::memory_size(layer)];
           static_cast<void>(next);
         }
         return kScalar.answer(layer, mean, excess, room, memory);
       };
     }},
    {"a memory that is longer", true,
     [](Path& path) {
       path.answer = [](const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
         Layer other = layer;
         other.length += 1;
         return kScalar.answer(other, mean, excess, room, memory);
       };
     }},
    {"a memory that is not forgotten", true,
     [](Path& path) {
       path.answer = [](const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
         const float distance = kScalar.answer(layer, mean, excess, room, memory);
         if (!memory.before) return distance;
         float& count = memory.after[leantta::means_size(layer)];
         const float before = memory.before[leantta::means_size(layer)];
         if (count < std::fmin(before, layer.length)) count = before;
         return distance;
       };
     }},
    {"an agreement off by a thousandth", true,
     [](Path& path) {
       path.answer = [](const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
         const float distance = kScalar.answer(layer, mean, excess, room, memory);
         if (memory.before) memory.after[leantta::means_size(layer) + 1] += 0.001f;
         return distance;
       };
     }},
    {"a domain whose mean square is off by a thousandth", true,
     [](Path& path) {
       path.answer = [](const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
         const float distance = kScalar.answer(layer, mean, excess, room, memory);
         if (memory.before) memory.after[leantta::means_size(layer) - 1] *= 1.001f;
         return distance;
       };
     }},
    {"a memory that is never used", true,
     [](Path& path) {
       path.answer = [](const Layer& layer, float* mean, float* excess, float* room, const Memory& memory) {
         const std::size_t width = leantta::padded(layer.channels);
         std::vector<float> other_mean(mean, mean + width), other_excess(excess, excess + width);
         kScalar.answer(layer, other_mean.data(), other_excess.data(), room, memory);
         return kScalar.answer(layer, mean, excess, room, Memory{});
       };
     }},
    {"a rounding too few", false,
     [](Path& path) {
       path.plane_apply = [](const float* x, float* y, std::size_t count, float scale, float offset) {
         for (std::size_t i = 0; i < count; ++i) y[i] = __builtin_fmaf(x[i], scale, offset);
       };
     }},
    {"a dead channel that moves", true,
     [](Path& path) {
       path.shift = [](const Layer& layer, double count, const Int* sum, const Int* square, float* mean,
                       float* excess) {
         std::vector<float> ratio(layer.ratio, layer.ratio + leantta::padded(layer.channels));
         for (float& value : ratio) value = value == 0 ? 1e-30f : value;
         Layer moving = layer;
         moving.ratio = ratio.data();
         kScalar.shift(moving, count, sum, square, mean, excess);
       };
     }},
    {"a mean off by a thousandth", true, [](Path& path) { path.coefficients = off_by_a_share<0>; }},
    {"a slope off by a thousandth", true, [](Path& path) { path.coefficients = off_by_a_share<1>; }},
    {"an offset off by a hundredth of a step", true, [](Path& path) { path.coefficients = off_by_a_share<2>; }},
    {"a variance off by a thousandth", true,
     [](Path& path) {
       path.plane_moments = [](const float* x, std::size_t count, float* mean, float* var) {
         kScalar.plane_moments(x, count, mean, var);
         *var *= 1.001f;
       };
     }},
};

// The path with the fault that was asked for, if one was.
inline Path faulty_path = {};
inline const Fault* fault = nullptr;

inline bool put_fault(const char* name) {
  for (const Fault& one : kFaults)
    if (std::strcmp(one.name, name) == 0) {
      faulty_path = kScalar;
      faulty_path.name = "with a fault";
      one.put(faulty_path);
      fault = &one;
      return true;
    }
  return false;
}

// What the formulas check: the scalar path.
inline const Path& plain_path() { return fault && fault->formulas ? faulty_path : kScalar; }

}  // namespace leantta_test
