// The operators that ONNX Runtime sees: names, types, checks, and the way to the kernel. They have the names, inputs
// and attributes of the functions in src/leantta/graph/functions.py, and a session that knows them runs them instead.
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "calls.h"
#include "depthwise.h"
#include "kernel.h"
#include "ort_abi.h"

#define LEANTTA_EXPORT extern "C" __attribute__((visibility("default")))

namespace leantta {
namespace {

// A gate as its operators have it.
struct GateForm {
  Gate gate;
  const char* name;
  std::size_t constants;  // behind gamma, beta and ratio
};

constexpr GateForm kGates[] = {
    {Gate::kAdaptive, "Adaptive", 1}, {Gate::kCalibrated, "Calibrated", 2}, {Gate::kFilter, "Filter", 3}};

// One operator for one type of tensor.
struct Op : OrtCustomOp {
  std::string name;
  ElementType type = kUint8;  // of u, y and r
  GateForm form = kGates[0];
  bool residual = false, hard_swish = false;
  const Path* path = nullptr;
  std::vector<ElementType> inputs;
};

const Op& as_op(const OrtCustomOp* op) { return *static_cast<const Op*>(op); }

// Where the constants are among the inputs.
constexpr std::size_t kByteConstants = 7, kFloatConstants = 2;

struct Sizes {
  std::size_t rows, columns;
};

// A node of a session: its constants, in the form that the kernel reads.
class Node {
 public:
  Node(const Op& op, const OrtApi* table, const OrtKernelInfo* info) : op_(op), calls_(table) {
    layer_.gate = op.form.gate;
    layer_.has_residual = op.residual;
    layer_.hard_swish = op.hard_swish;
    layer_.floats = op.type == kFloat;
    layer_.flip = op.type == kInt8 ? 0x80 : 0;
    const bool bytes = op.type != kFloat;
    const std::size_t at = bytes ? kByteConstants : kFloatConstants;
    layer_.gamma = per_channel(info, at, "gamma", 0);
    layer_.beta = per_channel(info, at + 1, "beta", 0);
    layer_.ratio = per_channel(info, at + 2, "ratio", 1);
    op.form.gate == Gate::kFilter ? read_filter(info, at + 3) : read_blend(info, at + 3);
    read_u(info, bytes);
    if (!bytes) return;
    layer_.y = affine(info, 3, "y");
    residual_at_ = at + 3 + op.form.constants;
    if (op.residual) layer_.r = affine(info, residual_at_ + 1, "r");
  }

  void compute(OrtKernelContext* context) const {
    const Tensor u = calls_.input(context, 0);
    if (u.type != op_.type) throw Failure("u has the wrong type");
    if (u.rank < 3) throw Failure("u has the shape " + u.shown() + "; a batch, positions and channels are needed");
    const bool bytes = op_.type != kFloat;
    const std::size_t axis = bytes ? u.rank - 1 : 1;
    if (u.sizes[axis] != static_cast<std::int64_t>(layer_.channels))
      throw Failure("u has the shape " + u.shown() + ", with " + std::to_string(u.sizes[axis]) +
                    " channels; gamma has " + std::to_string(layer_.channels));
    const std::size_t n = static_cast<std::size_t>(u.sizes[0]);
    const std::size_t count = n ? u.count() / n / layer_.channels : 0;
    if (n && !count) throw Failure("u has the shape " + u.shown() + ": no positions to take the mean of");
    const void* r = nullptr;
    if (op_.residual) {
      const Tensor other = calls_.input(context, residual_at_);
      if (other.type != op_.type) throw Failure("r has the wrong type");
      if (other.rank != u.rank || other.sizes != u.sizes)
        throw Failure("r has the shape " + other.shown() + " and u " + u.shown() + "; they must be the same");
      r = other.data;
    }
    void* y = calls_.output(context, 0, u.sizes.data(), u.rank);
    const std::int64_t one_each[] = {u.sizes[0], 1};
    float* distance = static_cast<float*>(calls_.output(context, 1, one_each, 2));
    if (!y && n) throw Failure("its output y is left out");  // nothing has no address
    Crew crew(calls_.api, context);
    const Pool pool = crew.pool();
    const bool done =
        bytes ? normalize(*op_.path, layer_, pool, static_cast<const std::uint8_t*>(u.data),
                          static_cast<const std::uint8_t*>(r), static_cast<std::uint8_t*>(y), distance, n, count)
              : normalize_planes(*op_.path, layer_, pool, static_cast<const float*>(u.data), static_cast<float*>(y),
                                 distance, n, count);
    if (!done) throw std::bad_alloc();
    crew.check();
  }

  const Op& op() const { return op_; }
  const Api& api() const { return calls_.api; }

 private:
  float attribute(const OrtKernelInfo* info, const char* name) const {
    float value = 0;
    OrtStatus* status = calls_.api.attribute(info, name, &value);
    if (status) calls_.api.release(status);
    if (status || !std::isfinite(value)) throw Failure(std::string("its attribute ") + name + " is not a number");
    return value;
  }

  const float* per_channel(const OrtKernelInfo* info, std::size_t index, const std::string& name, float filling) {
    const Tensor tensor = calls_.constant(info, index, name, kFloat);
    if (!layer_.channels) layer_.channels = tensor.count();
    if (!layer_.channels) throw Failure("gamma has no channels");
    if (tensor.count() != layer_.channels)
      throw Failure("its input " + name + " has " + std::to_string(tensor.count()) + " values; gamma has " +
                    std::to_string(layer_.channels));
    const float* given = static_cast<const float*>(tensor.data);
    std::vector<float> values(given, given + layer_.channels);
    values.resize(padded(layer_.channels), filling);
    return kept(std::move(values));
  }

  void read_blend(const OrtKernelInfo* info, std::size_t at) {
    const bool calibrated = layer_.gate == Gate::kCalibrated;
    layer_.low = attribute(info, "low");
    layer_.room = attribute(info, "room");
    layer_.rate = calibrated ? 0 : attribute(info, "rate");
    layer_.mean_weight = per_channel(info, at, "mean_weight", 0);
    if (calibrated) layer_.var_weight = per_channel(info, at + 1, "var_weight", 0);
  }

  void read_filter(const OrtKernelInfo* info, std::size_t at) {
    layer_.shrink = attribute(info, "shrink");
    const Tensor weight = calls_.constant(info, at + 2, "weight", kFloat);  // a column of any rank
    const std::size_t rank = weight.count(), most = 2 * layer_.channels;
    if (rank < 1 || rank > most)
      throw Failure("its input weight has " + std::to_string(rank) + " values; there must be 1 to " +
                    std::to_string(most) + ", two for each channel");
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
    const bool turned = tensor.rank == 2 && tensor.sizes[0] != static_cast<std::int64_t>(from.rows);
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
    const Tensor zero = calls_.constant(info, index + 1, name + "_zero", op_.type);
    if (scale.count() != 1 || zero.count() != 1) throw Failure(name + " must have one scale and one zero point");
    return {scale_at(scale, 0, name), zero_at(zero, 0)};
  }

  // What the bytes of u stand for: one scale and zero point, or those of each channel. Floats stand for themselves.
  void read_u(const OrtKernelInfo* info, bool bytes) {
    std::vector<float> scales(padded(layer_.channels), 1.0f), zeros(padded(layer_.channels), 0.0f);
    if (bytes) {
      const Tensor scale = calls_.constant(info, 1, "u_scale", kFloat);
      const Tensor zero = calls_.constant(info, 2, "u_zero", op_.type);
      const std::size_t count = scale.count();
      if (zero.count() != count || (count != 1 && count != layer_.channels))
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

  static float scale_at(const Tensor& tensor, std::size_t i, const std::string& name) {
    const float value = static_cast<const float*>(tensor.data)[i];
    if (!std::isnormal(value) || value < 0) throw Failure("its " + name + "_scale is not above 0");
    return value;
  }

  float zero_at(const Tensor& tensor, std::size_t i) const {
    return static_cast<float>(static_cast<const std::uint8_t*>(tensor.data)[i] ^ layer_.flip);
  }

  const float* kept(std::vector<float> values) {
    constants_.push_back(std::move(values));
    return constants_.back().data();
  }

  const Op& op_;
  const Calls calls_;
  Layer layer_;
  std::size_t residual_at_ = 0;
  std::vector<std::vector<float>> constants_;
};

OrtStatus* create_node(const OrtCustomOp* self, const OrtApi* table, const OrtKernelInfo* info, void** kernel) {
  const Op& op = as_op(self);
  return guarded(Api(table), op.name, [&] { *kernel = new Node(op, table, info); });
}

OrtStatus* compute(void* kernel, OrtKernelContext* context) {
  const Node& node = *static_cast<const Node*>(kernel);
  return guarded(node.api(), node.op().name, [&] { node.compute(context); });
}

Op make_op(const GateForm& form, ElementType type, bool residual, bool hard_swish, const Path* path,
           std::uint32_t version) {
  Op op{};
  op.type = type;
  op.form = form;
  op.residual = residual;
  op.hard_swish = hard_swish;
  op.path = path;
  op.name = std::string(type == kFloat ? "" : "QLinear") + form.name + "Norm";
  op.name += std::string(residual ? "Add" : "") + (hard_swish ? "HardSwish" : "");
  if (type == kFloat)
    op.inputs = {kFloat, kInt64};
  else
    op.inputs = {type, kFloat, type, kFloat, type, kFloat, kInt64};
  op.inputs.insert(op.inputs.end(), 3 + form.constants, kFloat);
  if (residual) op.inputs.insert(op.inputs.end(), {type, kFloat, type});
  set_usual(op, version);
  op.GetName = [](const OrtCustomOp* self) { return as_op(self).name.c_str(); };
  op.GetInputType = [](const OrtCustomOp* self, std::size_t i) { return static_cast<int>(as_op(self).inputs[i]); };
  op.GetInputTypeCount = [](const OrtCustomOp* self) { return as_op(self).inputs.size(); };
  op.GetOutputType = [](const OrtCustomOp* self, std::size_t i) {
    return static_cast<int>(i == 0 ? as_op(self).type : kFloat);
  };
  op.GetOutputTypeCount = [](const OrtCustomOp*) { return std::size_t{2}; };
  op.KernelDestroy = [](void* kernel) { delete static_cast<Node*>(kernel); };
  op.GetOutputCharacteristic = [](const OrtCustomOp*, std::size_t i) {
    return static_cast<int>(i == 0 ? kRequired : kOptional);
  };
  op.CreateKernelV2 = create_node;
  op.KernelComputeV2 = compute;
  op.GetMayInplace = [](int** inputs, int** outputs) {  // y may take the place of u
    static int first = 0;
    *inputs = *outputs = &first;
    return std::size_t{1};
  };
  return op;
}

std::vector<Op> make_ops(const Path* path, std::uint32_t version) {
  std::vector<Op> ops;
  for (const GateForm& form : kGates) {
    ops.push_back(make_op(form, kFloat, false, false, path, version));
    for (const ElementType type : {kUint8, kInt8})
      for (const bool residual : {false, true})
        for (const bool hard_swish : {false, true})
          ops.push_back(make_op(form, type, residual, hard_swish, path, version));
  }
  return ops;
}

// All operators for a path; they live as long as the library, as sessions keep pointing to them.
const std::vector<Op>& ops_of(const Path* path, std::uint32_t version) {
  static const std::vector<std::vector<Op>> all = [version] {
    std::vector<std::vector<Op>> made;
    std::size_t count = 0;
    const Path* const* list = paths(&count);
    for (std::size_t i = 0; i < count; ++i) made.push_back(make_ops(list[i], version));
    return made;
  }();
  for (const std::vector<Op>& ops : all)
    if (ops.front().path == path) return ops;
  return all.back();
}

}  // namespace
}  // namespace leantta

namespace {

// What LEANTTA_PATH names; nullptr if it is not set.
const char* wanted_path() {
  const char* name = std::getenv("LEANTTA_PATH");
  return name && *name ? name : nullptr;
}

}  // namespace

// The path that sessions get now: the best one, or that of the environment variable LEANTTA_PATH; "" if this processor
// does not have that.
LEANTTA_EXPORT const char* leantta_path() {
  const leantta::Path* path = leantta::choose(wanted_path());
  return path ? path->name : "";
}

// The paths of this build that this processor has, by comma, the best first.
LEANTTA_EXPORT const char* leantta_paths() {
  static const std::string names = [] {
    std::string text;
    std::size_t count = 0;
    const leantta::Path* const* list = leantta::paths(&count);
    for (std::size_t i = 0; i < count; ++i)
      if (list[i]->supported()) text += (text.empty() ? "" : ",") + std::string(list[i]->name);
    return text;
  }();
  return names.c_str();
}

LEANTTA_EXPORT OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base) {
  using namespace leantta;
  const OrtApi* table = base->GetApi(kOldestApi);
  if (!table) {
    const OrtApi* older = base->GetApi(1);
    if (!older) return nullptr;
    const std::string found = base->GetVersionString();
    return Api(older).create_status(
        kNotImplemented, ("the kernel of leantta needs ONNX Runtime 1.17 or newer; this is " + found).c_str());
  }
  const Api api(table);
  const char* wanted = wanted_path();
  const Path* path = choose(wanted);
  if (!path) {
    const std::string text = std::string("LEANTTA_PATH asks for the path '") + wanted + "'; this processor has " +
                             leantta_paths() + ".";
    return api.create_status(kInvalidArgument, text.c_str());
  }
  // One domain per choice for the whole process: sessions of all options point to it, so it is never released.
  static std::mutex guard;
  static std::map<std::pair<const Path*, bool>, OrtCustomOpDomain*> domains;
  const std::lock_guard<std::mutex> held(guard);
  const bool asked = wanted != nullptr;
  OrtCustomOpDomain*& domain = domains[{path, asked}];
  if (!domain) {
    OrtCustomOpDomain* made = nullptr;
    if (OrtStatus* status = api.create_domain("leantta", &made)) return status;
    const std::uint32_t version = base->GetApi(kInplaceApi) ? kInplaceApi : kOldestApi;
    for (const Op& op : ops_of(path, version))
      if (OrtStatus* status = api.add_op(made, &op)) return status;
#if defined(LEANTTA_AVX2)  // measured to be faster than ONNX Runtime's own there, and only there; scalar is for tests
    if (path == &kAvx2 || (path == &kScalar && asked))
      if (OrtStatus* status = api.add_op(made, depthwise_op(path == &kAvx2, version))) return status;
#endif
    domain = made;
  }
  return api.add_domain(options, domain);
}
