// ONNX Runtime's interface as the operators use it: values instead of status codes, and failures thrown on our side of
// its border only.
#pragma once

#include <array>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "kernel.h"
#include "ort_abi.h"

namespace leantta {

constexpr std::size_t kMostRank = 16;

class Failure {
 public:
  explicit Failure(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

struct Tensor {
  ElementType type = kUndefined;
  std::array<std::int64_t, kMostRank> sizes{};
  std::size_t rank = 0;
  void* data = nullptr;

  std::size_t count() const {
    std::size_t product = 1;
    for (std::size_t i = 0; i < rank; ++i) product *= static_cast<std::size_t>(sizes[i]);
    return product;
  }
  std::string shown() const {
    std::string text = "(";
    for (std::size_t i = 0; i < rank; ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
    return text + ")";
  }
};

// Calls that throw what ONNX Runtime complains of; nothing is thrown across its border.
class Calls {
 public:
  explicit Calls(const OrtApi* table) : api(table) {}

  void check(OrtStatus* status, const char* what) const {
    if (!status) return;
    api.release(status);
    throw Failure(std::string("ONNX Runtime could not ") + what);
  }

  Tensor read(const OrtValue* value) const {
    Tensor tensor;
    OrtTensorTypeAndShapeInfo* info = nullptr;
    check(api.type_and_shape(value, &info), "tell the shape of a tensor");
    const std::unique_ptr<OrtTensorTypeAndShapeInfo, Release> held(info, Release{api});
    int type = 0;
    check(api.element_type(info, &type), "tell the type of a tensor");
    check(api.rank(info, &tensor.rank), "tell the rank of a tensor");
    if (tensor.rank > kMostRank) throw Failure("a tensor has more than 16 axes");
    check(api.sizes(info, tensor.sizes.data(), tensor.rank), "tell the shape of a tensor");
    check(api.data(const_cast<OrtValue*>(value), &tensor.data), "give the data of a tensor");
    tensor.type = static_cast<ElementType>(type);
    return tensor;
  }

  Tensor input(const OrtKernelContext* context, std::size_t index) const {
    const OrtValue* value = nullptr;
    check(api.input(context, index, &value), "give an input");
    if (!value) throw Failure("input " + std::to_string(index) + " is missing");
    return read(value);
  }

  // The address of an output; nullptr if nobody wants it.
  void* output(OrtKernelContext* context, std::size_t index, const std::int64_t* sizes, std::size_t rank) const {
    OrtValue* value = nullptr;
    check(api.output(context, index, sizes, rank, &value), "make an output");
    void* data = nullptr;
    if (value) check(api.data(value, &data), "give the data of an output");
    return data;
  }

  Tensor constant(const OrtKernelInfo* info, std::size_t index, const std::string& name, ElementType type) const {
    const OrtValue* value = nullptr;
    int is_constant = 0;
    check(api.constant_input(info, index, &is_constant, &value), "give a constant");
    if (!is_constant || !value) throw Failure("its input " + name + " is not a constant");
    const Tensor tensor = read(value);
    if (tensor.type != type) throw Failure("its input " + name + " has the wrong type");
    return tensor;
  }

  const Api api;

 private:
  struct Release {
    Api api;
    void operator()(OrtTensorTypeAndShapeInfo* info) const { api.release(info); }
  };
};

// Sets what all our operators answer alike; one that differs sets its own answer after it.
inline void set_usual(OrtCustomOp& op, std::uint32_t version) {
  op.version = version;
  op.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return "CPUExecutionProvider"; };
  op.GetInputCharacteristic = [](const OrtCustomOp*, std::size_t) { return static_cast<int>(kRequired); };
  op.GetOutputCharacteristic = op.GetInputCharacteristic;
  op.GetInputMemoryType = [](const OrtCustomOp*, std::size_t) { return 0; };
  op.GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
  op.GetVariadicInputHomogeneity = [](const OrtCustomOp*) { return 0; };
  op.GetVariadicOutputMinArity = op.GetVariadicInputMinArity;
  op.GetVariadicOutputHomogeneity = op.GetVariadicInputHomogeneity;
  op.GetMayInplace = [](int**, int**) { return std::size_t{0}; };
  op.ReleaseMayInplace = [](int*, int*) {};
  op.GetAliasMap = op.GetMayInplace;
  op.ReleaseAliasMap = op.ReleaseMayInplace;
  op.GetStartVersion = [](const OrtCustomOp*) { return 1; };
  op.GetEndVersion = op.GetStartVersion;
}

inline OrtStatus* failed(const Api& api, ErrorCode code, const std::string& node, const std::string& text) {
  return api.create_status(code, (node + ": " + text + ".").c_str());
}

// Runs a function, and turns what it throws into a status.
template <typename Function>
OrtStatus* guarded(const Api& api, const std::string& node, Function function) {
  try {
    function();
    return nullptr;
  } catch (const Failure& failure) {
    return failed(api, kInvalidArgument, node, failure.text());
  } catch (const std::bad_alloc&) {
    return failed(api, kFail, node, "memory is short");
  } catch (const std::exception& error) {
    return failed(api, kFail, node, error.what());
  }
}

// ONNX Runtime's threads, as a pool for the kernel.
class Crew {
 public:
  Crew(const Api& api, OrtKernelContext* context) : api_(api), context_(context) {}

  Pool pool() { return {this, run}; }
  void check() const {
    if (failed_) throw Failure("ONNX Runtime could not run tasks in its threads");
  }

 private:
  static void run(void* self, std::size_t count, void (*f)(void*, std::size_t), void* context) {
    Crew& crew = *static_cast<Crew*>(self);
    OrtStatus* status = crew.api_.parallel_for(crew.context_, f, count, 0, context);
    if (!status) return;
    crew.api_.release(status);
    crew.failed_ = true;
  }

  const Api& api_;
  OrtKernelContext* const context_;
  bool failed_ = false;
};

}  // namespace leantta
