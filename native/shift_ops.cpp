// The operator ShiftOfDistances: the distances of all layers side by side, and the shift of each sample from them. Its
// function is in src/leantta/graph/shift.py.
#include "shift_ops.h"

#include <array>
#include <string>
#include <vector>

#include "calls.h"
#include "ort_abi.h"

namespace leantta {
namespace {

constexpr char kName[] = "ShiftOfDistances";
enum Input : std::size_t { kUnit, kMiddle, kFirst };  // the distances are from kFirst on

// A node of a session.
class Node {
 public:
  Node(const OrtApi* table, const OrtKernelInfo* info) : calls_(table) {
    const Tensor unit = calls_.constant(info, kUnit, "unit", kFloat);
    const Tensor middle = calls_.constant(info, kMiddle, "middle", kFloat);
    std::size_t inputs = 0;
    calls_.check(calls_.api.input_count(info, &inputs), "tell the number of inputs");
    if (unit.count() + kFirst != inputs)
      throw Failure("its input unit has " + std::to_string(unit.count()) + " values for " +
                    std::to_string(inputs - kFirst) + " distances");
    if (unit.rank != 1) throw Failure("its input unit has the shape " + unit.shown() + "; it must be a row");
    if (middle.rank > 1) throw Failure("its input middle has the shape " + middle.shown() + "; it must be a number");
    if (middle.count() != 1) throw Failure("its input middle has " + std::to_string(middle.count()) + " values, not 1");
    const float* given = static_cast<const float*>(unit.data);
    unit_.assign(given, given + unit.count());
    middle_ = *static_cast<const float*>(middle.data);
  }

  void compute(OrtKernelContext* context) const {
    const std::int64_t layers = static_cast<std::int64_t>(unit_.size());
    std::int64_t n = 0;
    float *all = nullptr, *shift = nullptr;
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const Tensor distance = calls_.input(context, kFirst + static_cast<std::size_t>(layer));
      if (layer == 0) {
        n = distance.sizes[0];
        const std::int64_t sizes[] = {n, layers};
        all = static_cast<float*>(calls_.output(context, 0, sizes, 2));
        shift = static_cast<float*>(calls_.output(context, 1, sizes, 1));
        if (n && (!all || !shift)) throw Failure("one of its outputs is left out");
      }
      if (distance.type != kFloat || distance.rank != 2 || distance.sizes[0] != n || distance.sizes[1] != 1)
        throw Failure("a distance has the shape " + distance.shown() + "; it must be (" + std::to_string(n) + ", 1)");
      for (std::int64_t i = 0; i < n; ++i) all[i * layers + layer] = static_cast<const float*>(distance.data)[i];
    }
    for (std::int64_t i = 0; i < n; ++i) {
      float total = 0;
      for (std::int64_t layer = 0; layer < layers; ++layer)
        total += all[i * layers + layer] * unit_[static_cast<std::size_t>(layer)];
      const float above = total - middle_;
      shift[i] = above < 0 ? 0 : above;  // what is not a number stays so
    }
  }

  const Api& api() const { return calls_.api; }

 private:
  const Calls calls_;
  std::vector<float> unit_;
  float middle_ = 0;
};

OrtStatus* create_node(const OrtCustomOp*, const OrtApi* table, const OrtKernelInfo* info, void** kernel) {
  return guarded(Api(table), kName, [&] { *kernel = new Node(table, info); });
}

OrtStatus* compute(void* kernel, OrtKernelContext* context) {
  const Node& node = *static_cast<const Node*>(kernel);
  return guarded(node.api(), kName, [&] { node.compute(context); });
}

OrtCustomOp make_op(std::uint32_t version) {
  OrtCustomOp op{};
  set_usual(op, version);
  op.GetName = [](const OrtCustomOp*) { return kName; };
  op.GetInputType = [](const OrtCustomOp*, std::size_t) { return static_cast<int>(kFloat); };
  op.GetInputTypeCount = [](const OrtCustomOp*) { return kFirst + std::size_t{1}; };
  op.GetInputCharacteristic = [](const OrtCustomOp*, std::size_t i) {
    return static_cast<int>(i < kFirst ? kRequired : kVariadic);
  };
  op.GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 1; };
  op.GetOutputType = op.GetInputType;
  op.GetOutputTypeCount = [](const OrtCustomOp*) { return std::size_t{2}; };
  op.KernelDestroy = [](void* kernel) { delete static_cast<Node*>(kernel); };
  op.CreateKernelV2 = create_node;
  op.KernelComputeV2 = compute;
  return op;
}

}  // namespace

const OrtCustomOp* shift_op(std::uint32_t version) {
  static const OrtCustomOp op = make_op(version);
  return &op;
}

}  // namespace leantta
