// The operator QLinearDepthwise: inputs, attributes and results of com.microsoft.QLinearConv with channels last, from
// uint8 to uint8, each channel by itself, with constant weights of int8 around 0. Its function is in
// src/leantta/graph/depthwise.py.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "calls.h"
#include "depthwise.h"
#include "ort_abi.h"

namespace leantta {
namespace {

constexpr char kName[] = "QLinearDepthwise";
constexpr ElementType kInputs[] = {kUint8, kFloat, kUint8, kInt8, kFloat, kInt8, kFloat, kUint8, kInt32};
constexpr std::size_t kInputCount = sizeof kInputs / sizeof *kInputs;
enum Input : std::size_t { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias };

struct Op : OrtCustomOp {
  const DepthwisePath* path = nullptr;
};

// A node of a session.
class Node {
 public:
  Node(const Op& op, const OrtApi* table, const OrtKernelInfo* info) : calls_(table) {
    const Tensor w = calls_.constant(info, kW, "w", kInt8);
    if ((w.rank != 3 && w.rank != 4) || w.sizes[1] != 1 || !w.count())
      throw Failure("w has the shape " + w.shown() + "; it must be (channels, 1, height, width) or 1-D");
    axes_ = w.rank - 2;
    layer_.channels = static_cast<std::size_t>(w.sizes[0]);
    layer_.width = static_cast<std::size_t>(w.sizes[w.rank - 1]);
    if (axes_ == 2) layer_.height = static_cast<std::size_t>(w.sizes[2]);
    place(info);
    weigh(info, static_cast<const std::int8_t*>(w.data));
    path_ = op.path;
    while (!path_->supports(layer_)) path_ = path_->otherwise;
    path_->pack(layer_);
  }

  void compute(OrtKernelContext* context) const {
    const Tensor x = calls_.input(context, kX);
    if (x.type != kUint8) throw Failure("x has the wrong type");
    if (x.rank != axes_ + 2 || x.sizes[x.rank - 1] != static_cast<std::int64_t>(layer_.channels))
      throw Failure("x has the shape " + x.shown() + "; a batch, " + std::to_string(axes_) + " axes of positions and " +
                    std::to_string(layer_.channels) + " channels are needed");
    const std::size_t n = static_cast<std::size_t>(x.sizes[0]), w = static_cast<std::size_t>(x.sizes[axes_]);
    const std::size_t h = axes_ == 2 ? static_cast<std::size_t>(x.sizes[1]) : 1;
    if (h + layer_.top + layer_.bottom < layer_.height || w + layer_.left + layer_.right < layer_.width)
      throw Failure("x has the shape " + x.shown() + ", which with its padding is smaller than the kernel");
    std::array<std::int64_t, kMostRank> sizes = x.sizes;
    sizes[axes_] = static_cast<std::int64_t>(layer_.columns_of(w));
    if (axes_ == 2) sizes[1] = static_cast<std::int64_t>(layer_.rows_of(h));
    void* y = calls_.output(context, 0, sizes.data(), x.rank);
    if (!y && n) throw Failure("its output y is left out");
    Crew crew(calls_.api, context);
    convolve(*path_, layer_, crew.pool(), static_cast<const std::uint8_t*>(x.data), static_cast<std::uint8_t*>(y), n, h,
             w);
    crew.check();
  }

  const Api& api() const { return calls_.api; }

 private:
  // Reads strides and padding, and refuses what the kernel does not do.
  void place(const OrtKernelInfo* info) {
    const auto strides = attribute(info, "strides", axes_, 1), pads = attribute(info, "pads", 2 * axes_, 0);
    layer_.across = strides[axes_ - 1];
    layer_.left = pads[axes_ - 1];
    layer_.right = pads[2 * axes_ - 1];
    if (axes_ == 2) {
      layer_.down = strides[0];
      layer_.top = pads[0];
      layer_.bottom = pads[2];
    }
    if (!layer_.down || !layer_.across) throw Failure("its attribute strides has a 0");
    for (const std::size_t dilation : attribute(info, "dilations", axes_, 1))
      if (dilation != 1) throw Failure("its attribute dilations is not 1");
    const auto kernel = attribute(info, "kernel_shape", axes_, 0);
    std::int64_t group = 0;
    if (OrtStatus* status = calls_.api.attribute(info, "group", &group)) calls_.api.release(status);
    if (group != static_cast<std::int64_t>(layer_.channels))
      throw Failure("its attribute group is " + std::to_string(group) + "; w has " + std::to_string(layer_.channels) +
                    " channels");
    if (kernel.back() && (kernel.back() != layer_.width || (axes_ == 2 && kernel[0] != layer_.height)))
      throw Failure("its attribute kernel_shape is not the shape of w");
  }

  void weigh(const OrtKernelInfo* info, const std::int8_t* w) {
    const std::size_t channels = layer_.channels, taps = layer_.height * layer_.width;
    const Tensor bias = constant(info, kBias, "bias", channels), w_scale = constant(info, kWScale, "w_scale", 0);
    const Tensor w_zero = constant(info, kWZero, "w_zero", 0);
    for (std::size_t i = 0; i < w_zero.count(); ++i)
      if (static_cast<const std::int8_t*>(w_zero.data)[i]) throw Failure("its input w_zero is not 0");
    const std::uint8_t x_zero = *static_cast<const std::uint8_t*>(constant(info, kXZero, "x_zero", 1).data);
    layer_.y_zero = *static_cast<const std::uint8_t*>(constant(info, kYZero, "y_zero", 1).data);
    const float x_scale = *static_cast<const float*>(constant(info, kXScale, "x_scale", 1).data);
    const float y_scale = *static_cast<const float*>(constant(info, kYScale, "y_scale", 1).data);
    layer_.outside.assign(channels, x_zero);
    layer_.weights.resize(taps * channels);
    for (std::size_t c = 0; c < channels; ++c) {
      std::int32_t sum = 0;
      for (std::size_t tap = 0; tap < taps; ++tap) sum += layer_.weights[tap * channels + c] = w[c * taps + tap];
      const std::int64_t whole = static_cast<const std::int32_t*>(bias.data)[c] - std::int64_t{x_zero} * sum;
      layer_.bias.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(whole)));  // sums are modulo 2^32
      layer_.scale.push_back(x_scale * static_cast<const float*>(w_scale.data)[w_scale.count() > 1 ? c : 0] / y_scale);
      if (!std::isfinite(layer_.scale[c]) || layer_.scale[c] < 0)
        throw Failure("x_scale * w_scale / y_scale is negative or not finite for channel " + std::to_string(c));
    }
  }

  // A constant of `count` values; 0: one value, or one per channel.
  Tensor constant(const OrtKernelInfo* info, Input index, const std::string& name, std::size_t count) const {
    const Tensor tensor = calls_.constant(info, index, name, kInputs[index]);
    if (count ? tensor.count() != count : tensor.count() != 1 && tensor.count() != layer_.channels)
      throw Failure("its input " + name + " has " + std::to_string(tensor.count()) + " values; w has " +
                    std::to_string(layer_.channels) + " channels");
    if (tensor.rank > 1) throw Failure("its input " + name + " has the shape " + tensor.shown() + "; it must be a row");
    return tensor;
  }

  std::vector<std::size_t> attribute(const OrtKernelInfo* info, const char* name, std::size_t count,
                                     std::int64_t otherwise) const {
    constexpr std::int64_t kMost = 1 << 20;  // so that no sum of sizes overflows
    std::size_t found = 0;
    if (OrtStatus* status = calls_.api.attribute(info, name, nullptr, &found)) {
      calls_.api.release(status);
      return std::vector<std::size_t>(count, static_cast<std::size_t>(otherwise));
    }
    std::vector<std::int64_t> values(found);
    calls_.check(calls_.api.attribute(info, name, values.data(), &found), "give an attribute");
    if (found != count)
      throw Failure(std::string("its attribute ") + name + " has " + std::to_string(found) + " values, not " +
                    std::to_string(count));
    for (const std::int64_t value : values)
      if (value < 0 || value > kMost) throw Failure(std::string("its attribute ") + name + " is out of range");
    return {values.begin(), values.end()};
  }

  const Calls calls_;
  Depthwise layer_;
  std::size_t axes_ = 2;  // of positions
  const DepthwisePath* path_ = nullptr;
};

OrtStatus* create_node(const OrtCustomOp* self, const OrtApi* table, const OrtKernelInfo* info, void** kernel) {
  return guarded(Api(table), kName, [&] { *kernel = new Node(*static_cast<const Op*>(self), table, info); });
}

OrtStatus* compute(void* kernel, OrtKernelContext* context) {
  const Node& node = *static_cast<const Node*>(kernel);
  return guarded(node.api(), kName, [&] { node.compute(context); });
}

Op make_op(const DepthwisePath* path, std::uint32_t version) {
  Op op{};
  op.path = path;
  set_usual(op, version);
  op.GetName = [](const OrtCustomOp*) { return kName; };
  op.GetInputType = [](const OrtCustomOp*, std::size_t i) { return static_cast<int>(kInputs[i]); };
  op.GetInputTypeCount = [](const OrtCustomOp*) { return kInputCount; };
  op.GetOutputType = [](const OrtCustomOp*, std::size_t) { return static_cast<int>(kUint8); };
  op.GetOutputTypeCount = [](const OrtCustomOp*) { return std::size_t{1}; };
  op.KernelDestroy = [](void* kernel) { delete static_cast<Node*>(kernel); };
  op.CreateKernelV2 = create_node;
  op.KernelComputeV2 = compute;
  return op;
}

}  // namespace

// Where it was measured to be faster than ONNX Runtime's own in every layer: on x86-64. NEON was counted, and has more
// instructions in some layers; see docs/performance.md.
const OrtCustomOp* depthwise_op(const Path& path, bool asked, std::uint32_t version) {
#if defined(LEANTTA_AVX512)
  static const Op vnni = make_op(&kAvx512VnniDepthwise, version), avx512 = make_op(&kAvx512Depthwise, version);
  if (&path == &kAvx512Vnni) return &vnni;
  if (&path == &kAvx512) return &avx512;
#endif
#if defined(LEANTTA_AVX2)
  static const Op avx2 = make_op(&kAvx2Depthwise, version);
  if (&path == &kAvx2) return &avx2;
#endif
  static const Op scalar = make_op(&kScalarDepthwise, version);  // slower than ONNX Runtime's own: for tests
  return &path == &kScalar && asked ? &scalar : nullptr;
}

}  // namespace leantta
