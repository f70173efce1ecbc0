// The operators that ONNX Runtime sees: names, types, checks, and the way to the kernel. They have the names, inputs
// and attributes of the functions in src/leantta/graph/functions.py, and a session that knows them runs them instead.
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
#include "node_constants.h"
#include "ort_abi.h"
#include "shift_ops.h"

#define LEANTTA_EXPORT extern "C" __attribute__((visibility("default")))

namespace leantta {
namespace {

// One operator for one type of tensor.
struct Op : OrtCustomOp, NormForm {
  std::string name;
  const Path* path = nullptr;
  std::vector<ElementType> inputs;
};

const Op& as_op(const OrtCustomOp* op) { return *static_cast<const Op*>(op); }

// A node of a session.
class Node {
 public:
  Node(const Op& op, const OrtApi* table, const OrtKernelInfo* info)
      : op_(op), calls_(table), constants_(calls_, info, op) {}

  void compute(OrtKernelContext* context) const {
    const Layer& layer = constants_.layer();
    const Tensor u = calls_.input(context, 0);
    if (u.type != op_.type) throw Failure("u has the wrong type");
    if (u.rank < 3) throw Failure("u has the shape " + u.shown() + "; a batch, positions and channels are needed");
    const bool bytes = op_.type != kFloat;
    const std::size_t axis = bytes ? u.rank - 1 : 1;
    if (u.sizes[axis] != static_cast<std::int64_t>(layer.channels))
      throw Failure("u has the shape " + u.shown() + ", with " + std::to_string(u.sizes[axis]) +
                    " channels; gamma has " + std::to_string(layer.channels));
    const std::size_t n = static_cast<std::size_t>(u.sizes[0]);
    const std::size_t count = n ? u.count() / n / layer.channels : 0;
    if (n && !count) throw Failure("u has the shape " + u.shown() + ": no positions to take the mean of");
    if (const std::size_t given = bytes ? count : u.rank - 2; n && given != constants_.positions())
      throw Failure("u has the shape " + u.shown() + ", whose means are not those of its input " +
                    (bytes ? "average" : "positions"));
    if (u.rank != constants_.axes())
      throw Failure("u has the shape " + u.shown() + "; its input flat has " + std::to_string(constants_.axes()) +
                    " axes");
    const void* r = nullptr;
    if (op_.residual) {
      const Tensor other = calls_.input(context, constants_.residual_at());
      if (other.type != op_.type) throw Failure("r has the wrong type");
      if (other.rank != u.rank || other.sizes != u.sizes)
        throw Failure("r has the shape " + other.shown() + " and u " + u.shown() + "; they must be the same");
      r = other.data;
    }
    void* y = calls_.output(context, 0, u.sizes.data(), u.rank);
    const std::int64_t one_each[] = {u.sizes[0], 1};
    float* distance = static_cast<float*>(calls_.output(context, 1, one_each, 2));
    if (!y && n) throw Failure("its output y is left out");  // nothing has no address
    std::vector<float> unwanted;
    const Memory memory = op_.gate.remembers ? memory_of(context, u.sizes[0], unwanted) : Memory{};
    Crew crew(calls_.api, context);
    const Pool pool = crew.pool();
    const bool done =
        bytes ? normalize(*op_.path, layer, pool, static_cast<const std::uint8_t*>(u.data),
                          static_cast<const std::uint8_t*>(r), static_cast<std::uint8_t*>(y), distance, memory, n,
                          count)
              : normalize_planes(*op_.path, layer, pool, static_cast<const float*>(u.data), static_cast<float*>(y),
                                 distance, memory, n, count);
    if (!done) throw std::bad_alloc();
    crew.check();
  }

  const Op& op() const { return op_; }
  const Api& api() const { return calls_.api; }

 private:
  // What n samples remember; `unwanted` holds what they do after this call if nobody asks for it.
  Memory memory_of(OrtKernelContext* context, std::int64_t n, std::vector<float>& unwanted) const {
    const std::size_t width = memory_size(constants_.layer());
    const std::int64_t size = static_cast<std::int64_t>(width);
    const Tensor before = calls_.input(context, op_.inputs.size() - 1);
    if (before.type != kFloat) throw Failure("before has the wrong type");
    const bool one = before.rank > 0 && before.sizes[0] == 1;
    if (before.rank != 2 || before.sizes[1] != size || !(one || before.sizes[0] == n))
      throw Failure("before has the shape " + before.shown() + "; it must be (" + std::to_string(n) + ", " +
                    std::to_string(size) + "), or one row for all samples");
    const std::int64_t row_each[] = {n, size};
    float* after = static_cast<float*>(calls_.output(context, 2, row_each, 2));
    if (!after) {
      unwanted.resize(static_cast<std::size_t>(n) * width);
      after = unwanted.data();
    }
    return {static_cast<const float*>(before.data), one ? 0 : width, after};
  }

  const Op& op_;
  const Calls calls_;
  const NodeConstants constants_;
};

OrtStatus* create_node(const OrtCustomOp* self, const OrtApi* table, const OrtKernelInfo* info, void** kernel) {
  const Op& op = as_op(self);
  return guarded(Api(table), op.name, [&] { *kernel = new Node(op, table, info); });
}

OrtStatus* compute(void* kernel, OrtKernelContext* context) {
  const Node& node = *static_cast<const Node*>(kernel);
  return guarded(node.api(), node.op().name, [&] { node.compute(context); });
}

Op make_op(const GateForm& gate, ElementType type, bool residual, bool hard_swish, const Path* path,
           std::uint32_t version) {
  Op op{};
  op.type = type;
  op.gate = gate;
  op.residual = residual;
  op.hard_swish = hard_swish;
  op.path = path;
  op.name = std::string(type == kFloat ? "" : "QLinear") + gate.name + "Norm";
  op.name += std::string(residual ? "Add" : "") + (hard_swish ? "HardSwish" : "");
  if (type == kFloat)
    op.inputs = {kFloat, kInt64};
  else
    op.inputs = {type, kFloat, type, kFloat, type, kFloat, kInt64};
  op.inputs.insert(op.inputs.end(), 3 + gate.constants, kFloat);
  if (residual) op.inputs.insert(op.inputs.end(), {type, kFloat, type});
  if (gate.remembers) op.inputs.push_back(kFloat);
  set_usual(op, version);
  op.GetName = [](const OrtCustomOp* self) { return as_op(self).name.c_str(); };
  op.GetInputType = [](const OrtCustomOp* self, std::size_t i) { return static_cast<int>(as_op(self).inputs[i]); };
  op.GetInputTypeCount = [](const OrtCustomOp* self) { return as_op(self).inputs.size(); };
  op.GetOutputType = [](const OrtCustomOp* self, std::size_t i) {
    return static_cast<int>(i == 0 ? as_op(self).type : kFloat);
  };
  op.GetOutputTypeCount = [](const OrtCustomOp* self) { return std::size_t{as_op(self).gate.remembers ? 3u : 2u}; };
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
  for (const GateForm& gate : kGates) {
    ops.push_back(make_op(gate, kFloat, false, false, path, version));
    for (const ElementType type : {kUint8, kInt8})
      for (const bool residual : {false, true})
        for (const bool hard_swish : {false, true})
          ops.push_back(make_op(gate, type, residual, hard_swish, path, version));
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
    if (OrtStatus* status = api.add_op(made, shift_op(version))) return status;
    if (const OrtCustomOp* depthwise = depthwise_op(*path, asked, version))
      if (OrtStatus* status = api.add_op(made, depthwise)) return status;
    domain = made;
  }
  return api.add_domain(options, domain);
}
