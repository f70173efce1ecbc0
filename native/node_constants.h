// The constants of a normalization's node: read from ONNX Runtime, checked, and put in the form that the kernel reads.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "calls.h"
#include "kernel.h"
#include "ort_abi.h"

namespace leantta {

// A gate as its operators have it.
struct GateForm {
  Gate kind;
  const char* name;
  std::size_t constants;  // behind gamma, beta and ratio
  bool remembers;         // it has one more input, `before`, and one more output, `after`
};

constexpr GateForm kGates[] = {
    {Gate::kAdaptive, "Adaptive", 1, false},
    {Gate::kCalibrated, "Calibrated", 2, false},
    {Gate::kFilter, "Filter", 3, false},
    {Gate::kFilter, "DomainFilter", 3, true}};

// What makes one operator differ from another.
struct NormForm {
  GateForm gate = kGates[0];
  ElementType type = kUint8;  // of u, y and r
  bool residual = false, hard_swish = false;
};

// Where the constants are among the inputs.
constexpr std::size_t kByteConstants = 7, kFloatConstants = 2;

constexpr float kLargest = 1e15f, kSmallest = 1e-15f, kMostSteps = 1e4f;

struct Sizes {
  std::size_t rows, columns;
};

class NodeConstants {
 public:
  NodeConstants(const Calls& calls, const OrtKernelInfo* info, const NormForm& form)
      : calls_(calls), type_(form.type) {
    layer_.gate = form.gate.kind;
    layer_.has_residual = form.residual;
    layer_.hard_swish = form.hard_swish;
    layer_.floats = form.type == kFloat;
    layer_.flip = form.type == kInt8 ? 0x80 : 0;
    const bool bytes = form.type != kFloat;
    const std::size_t at = bytes ? kByteConstants : kFloatConstants;
    positions_ = bytes ? counted(info) : behind_channels(info);
    axes_ = positions_ + 2;
    column_axes_ = bytes ? 1 : positions_ + 1;  // the channels are the last axis of bytes, the second one of floats
    layer_.gamma = per_channel(info, at, "gamma", 0);
    layer_.beta = per_channel(info, at + 1, "beta", 0);
    layer_.ratio = per_channel(info, at + 2, "ratio", 1);
    for (std::size_t c = 0; c < layer_.channels; ++c)
      if (layer_.ratio[c] < 0 || layer_.ratio[c] > 1) throw Failure("its input ratio is not between 0 and 1");
    if (bytes) {
      check_flat(info);
      column_axes_ = 2;  // weights are the right side of a product there
    }
    form.gate.kind == Gate::kFilter ? read_filter(info, at + 3) : read_blend(info, at + 3);
    if (form.gate.remembers) layer_.length = attribute(info, "length", 1, kLargest);
    read_u(info, bytes);
    if (!bytes) return;
    layer_.y = affine(info, 3, "y");
    residual_at_ = at + 3 + form.gate.constants;
    if (form.residual) layer_.r = affine(info, residual_at_ + 1, "r");
    check_steps();
  }

  const Layer& layer() const { return layer_; }
  std::size_t residual_at() const { return residual_at_; }  // among the inputs
  std::size_t axes() const { return axes_; }            // of u
  std::size_t positions() const { return positions_; }  // of a map of bytes; of one of floats, how many axes they have

 private:
  // Beyond these bounds a variance may be negative: the body then says what the file says.
  float attribute(const OrtKernelInfo* info, const char* name, float least, float most) const {
    float value = 0;
    OrtStatus* status = calls_.api.attribute(info, name, &value);
    if (status) calls_.api.release(status);
    if (status || !std::isfinite(value)) throw Failure(std::string("its attribute ") + name + " is not a number");
    if (value < least || value > most) throw Failure(std::string("its attribute ") + name + " is out of range");
    return value;
  }

  // The body takes means by a product with `average`. The kernel counts, so each value must be 1 / count.
  std::size_t counted(const OrtKernelInfo* info) const {
    const Tensor average = calls_.constant(info, 5, "average", kFloat);
    const std::size_t count = average.count();
    if (average.rank != 2 || average.sizes[0] != 1)
      throw Failure("its input average has the shape " + average.shown() + "; it must be one row");
    const float* shares = static_cast<const float*>(average.data);
    for (std::size_t i = 0; i < count; ++i)
      if (!(std::fabs(shares[i] * static_cast<float>(count) - 1) < 1e-5f))
        throw Failure("its input average is not 1 / " + std::to_string(count) + " everywhere");
    return count;
  }

  // The body brings u into the shape `flat`: each sample as a row for each position. The kernel reads it as such.
  void check_flat(const OrtKernelInfo* info) {
    const Tensor flat = calls_.constant(info, 6, "flat", kInt64);
    const std::int64_t* sizes = static_cast<const std::int64_t*>(flat.data);
    const std::size_t count = flat.count();
    bool fits = flat.rank == 1 && count >= 3 && sizes[0] == 0;
    for (std::size_t i = 1; fits && i < count; ++i) {
      const std::size_t wanted = i + 1 == count ? layer_.channels : i + 2 == count ? positions_ : 1;
      fits = sizes[i] == static_cast<std::int64_t>(wanted);
    }
    if (!fits) throw Failure("its input flat is not the shape of rows of channels, one for each position");
    axes_ = count;
  }

  // The body takes means over the axes `positions`, and the kernel over all behind the channels.
  std::size_t behind_channels(const OrtKernelInfo* info) const {
    const Tensor axes = calls_.constant(info, 1, "positions", kInt64);
    const std::size_t count = axes.count();
    if (axes.rank != 1) throw Failure("its input positions is not a row of axes");
    for (std::size_t i = 0; i < count; ++i)
      if (static_cast<const std::int64_t*>(axes.data)[i] != static_cast<std::int64_t>(i) + 2)
        throw Failure("its input positions is not all axes behind the channels");
    return count;
  }

  const float* per_channel(const OrtKernelInfo* info, std::size_t index, const std::string& name, float filling) {
    const Tensor tensor = calls_.constant(info, index, name, kFloat);
    if (!layer_.channels) layer_.channels = tensor.count();
    if (!layer_.channels) throw Failure("gamma has no channels");
    if (tensor.count() != layer_.channels)
      throw Failure("its input " + name + " has " + std::to_string(tensor.count()) + " values; gamma has " +
                    std::to_string(layer_.channels));
    check_column(tensor, name, column_axes_);
    const float* given = static_cast<const float*>(tensor.data);
    std::vector<float> values(given, given + layer_.channels);
    values.resize(padded(layer_.channels), filling);
    return kept(std::move(values));
  }

  // The body takes a constant in its own shape, and in another one its product would be another.
  static void check_column(const Tensor& tensor, const std::string& name, std::size_t rank) {
    bool fits = tensor.rank == rank;
    for (std::size_t i = 1; fits && i < rank; ++i) fits = tensor.sizes[i] == 1;
    if (!fits)
      throw Failure("its input " + name + " has the shape " + tensor.shown() + "; it must be a column with " +
                    std::to_string(rank) + " axes");
  }

  void read_blend(const OrtKernelInfo* info, std::size_t at) {
    const bool calibrated = layer_.gate == Gate::kCalibrated;
    layer_.low = attribute(info, "low", 0, 1);
    layer_.room = attribute(info, "room", 0, 1);
    layer_.rate = calibrated ? 0 : attribute(info, "rate", -1, 0);
    layer_.mean_weight = per_channel(info, at, "mean_weight", 0);
    if (calibrated) layer_.var_weight = per_channel(info, at + 1, "var_weight", 0);
  }

  void read_filter(const OrtKernelInfo* info, std::size_t at) {
    layer_.shrink = attribute(info, "shrink", 0, HUGE_VALF);
    const Tensor weight = calls_.constant(info, at + 2, "weight", kFloat);
    const std::size_t rank = weight.count(), most = 2 * layer_.channels;
    if (rank < 1 || rank > most)
      throw Failure("its input weight has " + std::to_string(rank) + " values; there must be 1 to " +
                    std::to_string(most) + ", two for each channel");
    check_column(weight, "weight", 2);
    const float* given = static_cast<const float*>(weight.data);
    std::vector<float> weights(given, given + rank);
    weights.resize(padded(rank), 0);
    layer_.rank = rank;
    layer_.inner_weight = kept(std::move(weights));
    // A channel's row or column of variances is behind those of all means, with the padding.
    const std::size_t channels = layer_.channels, width = padded(channels);
    const auto spread = [=](std::size_t i) { return i < channels ? i : i - channels + width; };
    const auto same = [](std::size_t i) { return i; };
    layer_.into = matrix(info, at, "into", {most, rank}, {2 * width, padded(rank)}, spread, same);
    layer_.back = matrix(info, at + 1, "back", {rank, most}, {rank, 2 * width}, same, spread);
  }

  // A matrix of the shape `from` as the filter reads it: of the shape `to`, filled up with 0, in blocks of kLanes
  // columns. `row` and `column` tell where a row and a column go.
  template <typename Row, typename Column>
  const float* matrix(const OrtKernelInfo* info, std::size_t index, const std::string& name, const Sizes& from,
                      const Sizes& to, Row row, Column column) {
    const Tensor tensor = calls_.constant(info, index, name, kFloat);
    const bool turned = tensor.rank != 2 || tensor.sizes[0] != static_cast<std::int64_t>(from.rows);
    if (turned || tensor.count() != from.rows * from.columns)
      throw Failure("its input " + name + " has the shape " + tensor.shown() + "; it must be (" +
                    std::to_string(from.rows) + ", " + std::to_string(from.columns) + ")");
    const float* given = static_cast<const float*>(tensor.data);
    std::vector<float> values(to.rows * to.columns, 0.0f);
    for (std::size_t i = 0; i < from.rows; ++i)
      for (std::size_t j = 0; j < from.columns; ++j) {
        const std::size_t block = column(j) / kLanes, lane = column(j) % kLanes;
        values[(block * to.rows + row(i)) * kLanes + lane] = given[i * from.columns + j];
      }
    return kept(std::move(values));
  }

  Affine affine(const OrtKernelInfo* info, std::size_t index, const std::string& name) const {
    const Tensor scale = calls_.constant(info, index, name + "_scale", kFloat);
    const Tensor zero = calls_.constant(info, index + 1, name + "_zero", type_);
    if (scale.count() != 1 || zero.count() != 1 || scale.rank > 1 || zero.rank > 1)
      throw Failure(name + " must have one scale and one zero point");
    return {scale_at(scale, 0, name), zero_at(zero, 0)};
  }

  // What the bytes of u stand for: one scale and zero point, or those of each channel. Floats stand for themselves.
  void read_u(const OrtKernelInfo* info, bool bytes) {
    std::vector<float> scales(padded(layer_.channels), 1.0f), zeros(padded(layer_.channels), 0.0f);
    if (bytes) {
      const Tensor scale = calls_.constant(info, 1, "u_scale", kFloat);
      const Tensor zero = calls_.constant(info, 2, "u_zero", type_);
      const std::size_t count = scale.count();
      if (zero.count() != count || (count != 1 && count != layer_.channels) || scale.rank > 1 || zero.rank > 1)
        throw Failure("u must have one scale and one zero point, or " + std::to_string(layer_.channels) +
                      ", for each channel");
      for (std::size_t c = 0; c < layer_.channels; ++c) {
        scales[c] = scale_at(scale, count == 1 ? 0 : c, "u");
        zeros[c] = zero_at(zero, count == 1 ? 0 : c);
      }
    }
    layer_.u_scale = kept(std::move(scales));
    layer_.u_zero = kept(std::move(zeros));
  }

  // The kernel multiplies bytes as they are and takes their zero points off at the end, in float32. So a step of u or r
  // must not be so many of y that this rounds to another one.
  void check_steps() const {
    const float most = kMostSteps * layer_.y.scale;
    for (std::size_t c = 0; c < layer_.channels; ++c)
      if (std::fabs(layer_.gamma[c]) * layer_.u_scale[c] > most) throw Failure("a step of u is too many of y");
    if (layer_.has_residual && layer_.r.scale > most) throw Failure("a step of r is too many of y");
  }

  static float scale_at(const Tensor& tensor, std::size_t i, const std::string& name) {
    const float value = static_cast<const float*>(tensor.data)[i];
    if (!std::isnormal(value) || value < 0) throw Failure("its " + name + "_scale is not above 0");
    if (value > kLargest || value < kSmallest)
      throw Failure("its " + name + "_scale is not between 1e-15 and 1e15");
    return value;
  }

  float zero_at(const Tensor& tensor, std::size_t i) const {
    return static_cast<float>(static_cast<const std::uint8_t*>(tensor.data)[i] ^ layer_.flip);
  }

  // What is no number, or so large that a sum of squares is none, becomes any byte at all: the body says what it is.
  const float* kept(std::vector<float> values) {
    for (const float value : values)
      if (!(std::fabs(value) <= kLargest)) throw Failure("one of its constants is not finite, or above 1e15");
    kept_.push_back(std::move(values));
    return kept_.back().data();
  }

  const Calls& calls_;
  const ElementType type_;
  Layer layer_;
  std::size_t positions_ = 0;
  std::size_t residual_at_ = 0;
  std::size_t column_axes_ = 0;
  std::size_t axes_ = 0;
  std::vector<std::vector<float>> kept_;
};

}  // namespace leantta
