// What a file may give the kernel, through ONNX Runtime: libFuzzer chooses an operator, its constants, attributes and
// inputs, the kernel is instrumented, and the sanitizers stop whatever it reads or writes beside its memory.
//
//     fuzz_entry CORPUS -max_total_time=300     with LEANTTA_ONNXRUNTIME=path/to/libonnxruntime.so
//
// ONNX Runtime may refuse anything; the process may not end.
#include <dlfcn.h>
#include <fuzzer/FuzzedDataProvider.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "../node_constants.h"
#include "onnx_file.h"

extern "C" OrtStatus* RegisterCustomOps(OrtSessionOptions* options, const OrtApiBase* base);

namespace {

using leantta::ElementType;
using leantta_test::Array;
using leantta_test::Node;

// ONNX Runtime, by the positions of its functions; tests/native/ort_c_api_slots.txt has their names.
class Runtime {
 public:
  Runtime() {
    const char* place = std::getenv("LEANTTA_ONNXRUNTIME");
    void* library = place ? dlopen(place, RTLD_NOW | RTLD_LOCAL) : nullptr;
    if (!library) stop("LEANTTA_ONNXRUNTIME is not the path of a libonnxruntime.so");
    base_ = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"))();
    table_ = base_->GetApi(leantta::kOldestApi);
    if (!table_) stop("this ONNX Runtime is too old");
    done(call<int, const char*, void**>(3, 4, "fuzz", &environment_));                   // CreateEnv, fatal errors only
    done(call<void**>(10, &options_));                                                   // CreateSessionOptions
    done(call<void*, int>(24, options_, 1));                                             // SetIntraOpNumThreads
    done(call<void*, int>(22, options_, 4));                                             // SetSessionLogSeverityLevel
    done(call<int, int, void**>(69, 0, 0, &memory_));                                    // CreateCpuMemoryInfo
    done(RegisterCustomOps(static_cast<OrtSessionOptions*>(options_), base_));
  }

  // Loads the file and runs it; whether it answered.
  bool run(const std::string& file, const std::vector<const char*>& names, std::vector<Array>& inputs,
           const std::vector<const char*>& outputs) {
    void* session = nullptr;
    if (!fine(call<void*, const void*, std::size_t, void*, void**>(8, environment_, file.data(), file.size(), options_,
                                                                  &session)))
      return false;
    std::vector<void*> values, answers(outputs.size(), nullptr);
    bool good = true;
    for (Array& input : inputs) {
      void* value = nullptr;
      good = good && fine(call<void*, void*, std::size_t, const std::int64_t*, std::size_t, int, void**>(
                         49, memory_, input.data.data(), input.data.size(), input.sizes.data(), input.sizes.size(),
                         input.type, &value));
      values.push_back(value);
    }
    good = good && fine(call<void*, const void*, const char* const*, void* const*, std::size_t, const char* const*,
                             std::size_t, void**>(9, session, nullptr, names.data(), values.data(), values.size(),
                                                  outputs.data(), outputs.size(), answers.data()));
    for (void* value : values) release(96, value);
    for (void* value : answers) release(96, value);
    release(95, session);
    return good;
  }

 private:
  template <typename... Arguments>
  OrtStatus* call(std::size_t position, Arguments... arguments) const {
    return reinterpret_cast<OrtStatus* (*)(Arguments...)>(table_->functions[position])(arguments...);
  }
  void release(std::size_t position, void* what) const {
    if (what) reinterpret_cast<void (*)(void*)>(table_->functions[position])(what);
  }
  bool fine(OrtStatus* status) const {
    if (status) leantta::Api(table_).release(status);
    return !status;
  }
  void done(OrtStatus* status) const {
    if (status) stop(reinterpret_cast<const char* (*)(OrtStatus*)>(table_->functions[2])(status));
  }
  [[noreturn]] static void stop(const char* why) {
    std::fprintf(stderr, "fuzz_entry: %s\n", why);
    std::exit(2);
  }

  const OrtApiBase* base_;
  const OrtApi* table_;
  void *environment_ = nullptr, *options_ = nullptr, *memory_ = nullptr;
};

// Any type, mostly the one that is right.
ElementType some_type(FuzzedDataProvider& from, ElementType right) {
  constexpr ElementType kTypes[] = {leantta::kFloat, leantta::kUint8, leantta::kInt8, leantta::kInt32, leantta::kInt64};
  return from.ConsumeProbability<float>() < 0.95f ? right : from.PickValueInArray(kTypes);
}

// An array of nearly that shape; values from the fuzzer, or all the same.
Array some_array(FuzzedDataProvider& from, ElementType type, std::vector<std::int64_t> sizes, float usual) {
  type = some_type(from, type);
  switch (from.ConsumeIntegralInRange(0, 15)) {
    case 0:
      sizes.push_back(from.ConsumeIntegralInRange(0, 3));
      break;
    case 1:
      if (!sizes.empty()) sizes.pop_back();
      break;
    case 2:
      if (!sizes.empty()) {
        const std::size_t place = from.ConsumeIntegralInRange<std::size_t>(0, sizes.size() - 1);
        sizes[place] = from.ConsumeIntegralInRange(0, 40);
      }
      break;
    case 3:
      sizes.assign(from.ConsumeIntegralInRange<std::size_t>(0, 18), 1);
      break;
    default:
      break;
  }
  Array array{type, sizes, {}};
  array.fill(usual);
  const bool changes = from.ConsumeIntegralInRange(0, 15) < 5;
  const std::size_t most = changes ? from.ConsumeIntegralInRange<std::size_t>(0, 16) : 0;
  const std::vector<std::uint8_t> bytes = from.ConsumeBytes<std::uint8_t>(most);
  for (std::size_t i = 0; i < bytes.size() && i < array.data.size(); ++i) array.data[i] = bytes[i];
  return array;
}

struct Made {
  Node node;
  std::vector<Array> given;  // at run time: u or x, and what else is none of the constants
  std::vector<std::string> names, outputs;
};

void constant(Made& made, FuzzedDataProvider& from, const char* name, ElementType type, std::vector<std::int64_t> sizes,
              float usual) {
  made.node.inputs.push_back(name);
  made.node.constants.emplace_back(name, some_array(from, type, std::move(sizes), usual));
}

void given(Made& made, FuzzedDataProvider& from, const char* name, ElementType type, std::vector<std::int64_t> sizes,
           float usual) {
  made.node.inputs.push_back(name);
  made.names.push_back(name);
  made.given.push_back(some_array(from, type, std::move(sizes), usual));
}

void number(Made& made, FuzzedDataProvider& from, const char* name, float usual) {
  const int which = from.ConsumeIntegralInRange(0, 30);
  if (which == 0) return;
  made.node.floats.emplace_back(name, which == 1 ? from.ConsumeFloatingPoint<float>() : usual);
}

// A normalization of any gate and type.
Made normalization(FuzzedDataProvider& from) {
  using leantta::Gate;
  const leantta::GateForm& gate = from.PickValueInArray(leantta::kGates);
  const ElementType type = from.PickValueInArray({leantta::kUint8, leantta::kInt8, leantta::kFloat});
  const bool floats = type == leantta::kFloat;
  const bool residual = !floats && from.ConsumeBool(), hard_swish = !floats && from.ConsumeBool();
  const std::int64_t n = from.ConsumeIntegralInRange(1, 3), c = from.ConsumeIntegralInRange(1, 40);
  const std::int64_t high = from.ConsumeIntegralInRange(1, 9), wide = from.ConsumeIntegralInRange(1, 9);
  const std::int64_t rank = from.ConsumeIntegralInRange<std::int64_t>(1, 2 * c), count = high * wide;
  const std::vector<std::int64_t> shape = floats ? std::vector<std::int64_t>{n, c, high, wide}
                                                 : std::vector<std::int64_t>{n, high, wide, c};
  const std::vector<std::int64_t> row = floats ? std::vector<std::int64_t>{c, 1, 1} : std::vector<std::int64_t>{c};
  const std::vector<std::int64_t> column = floats ? row : std::vector<std::int64_t>{c, 1};
  Made made;
  made.node.op = std::string(floats ? "" : "QLinear") + gate.name + "Norm" + (residual ? "Add" : "") +
                 (hard_swish ? "HardSwish" : "");
  given(made, from, "u", type, shape, 3);
  if (floats) {
    constant(made, from, "positions", leantta::kInt64, {2}, 0);
    made.node.constants.back().second.count_up(2);
  } else {
    constant(made, from, "u_scale", leantta::kFloat, {}, 0.04f);
    constant(made, from, "u_zero", type, {}, 7);
    constant(made, from, "y_scale", leantta::kFloat, {}, 0.05f);
    constant(made, from, "y_zero", type, {}, 9);
    constant(made, from, "average", leantta::kFloat, {1, count}, 1.0f / static_cast<float>(count));
    constant(made, from, "flat", leantta::kInt64, {4}, 0);
    made.node.constants.back().second.say({0, 1, count, c});
  }
  constant(made, from, "gamma", leantta::kFloat, row, 1);
  constant(made, from, "beta", leantta::kFloat, row, 0.1f);
  constant(made, from, "ratio", leantta::kFloat, row, 1);
  if (gate.kind == Gate::kFilter) {
    constant(made, from, "into", leantta::kFloat, {2 * c, rank}, 0.1f);
    constant(made, from, "back", leantta::kFloat, {rank, 2 * c}, 0.1f);
    constant(made, from, "weight", leantta::kFloat, {rank, 1}, 1.0f / static_cast<float>(rank));
    number(made, from, "shrink", 0.2f);
  } else {
    constant(made, from, "mean_weight", leantta::kFloat, column, 1.0f / static_cast<float>(c));
    if (gate.kind == Gate::kCalibrated) constant(made, from, "var_weight", leantta::kFloat, column, 0.1f);
    number(made, from, "low", 0.1f);
    number(made, from, "room", 0.5f);
    if (gate.kind != Gate::kCalibrated) number(made, from, "rate", -0.3f);
  }
  if (residual) {
    given(made, from, "r", type, shape, 5);
    constant(made, from, "r_scale", leantta::kFloat, {}, 0.03f);
    constant(made, from, "r_zero", type, {}, 2);
  }
  made.outputs = {"y", "distance"};
  if (gate.remembers) {
    number(made, from, "length", 8);
    given(made, from, "before", leantta::kFloat, {from.ConsumeBool() ? n : 1, rank + 2 * c + 2}, 1);
    made.outputs.push_back("after");
  }
  return made;
}

// A depthwise convolution.
Made depthwise(FuzzedDataProvider& from) {
  const std::int64_t n = from.ConsumeIntegralInRange(1, 2), c = from.ConsumeIntegralInRange(1, 80);
  const std::int64_t high = from.ConsumeIntegralInRange(1, 14), wide = from.ConsumeIntegralInRange(1, 14);
  const std::int64_t tall = from.ConsumeIntegralInRange(1, 7), broad = from.ConsumeIntegralInRange(1, 7);
  Made made;
  made.node.op = "QLinearDepthwise";
  given(made, from, "x", leantta::kUint8, {n, high, wide, c}, 3);
  constant(made, from, "x_scale", leantta::kFloat, {}, 0.04f);
  constant(made, from, "x_zero", leantta::kUint8, {}, 7);
  constant(made, from, "w", leantta::kInt8, {c, 1, tall, broad}, 2);
  constant(made, from, "w_scale", leantta::kFloat, {c}, 0.05f);
  constant(made, from, "w_zero", leantta::kInt8, {c}, 0);
  constant(made, from, "y_scale", leantta::kFloat, {}, 0.05f);
  constant(made, from, "y_zero", leantta::kUint8, {}, 9);
  constant(made, from, "bias", leantta::kInt32, {c}, 4);
  const auto few = [&](int usual) {
    return from.ConsumeIntegralInRange(0, 30) ? std::int64_t{usual} : from.ConsumeIntegral<std::int64_t>();
  };
  const int step = from.ConsumeIntegralInRange(1, 3), side = from.ConsumeIntegralInRange(0, 7);
  made.node.lists = {{"strides", {few(step), few(step)}},
                     {"pads", {few(side), few(side), few(side), few(side)}},
                     {"dilations", {few(1), few(1)}},
                     {"kernel_shape", {few(static_cast<int>(tall)), few(static_cast<int>(broad))}}};
  made.node.whole = {"group", few(static_cast<int>(c))};
  made.outputs = {"y"};
  return made;
}

// The operator at the end of a file, with as many distances as there are.
Made shift(FuzzedDataProvider& from) {
  const std::int64_t n = from.ConsumeIntegralInRange(1, 4), layers = from.ConsumeIntegralInRange(1, 20);
  static const char* const kNames[] = {"d0", "d1", "d2", "d3", "d4", "d5", "d6", "d7", "d8", "d9",
                                       "da", "db", "dc", "dd", "de", "df", "dg", "dh", "di", "dj"};
  Made made;
  made.node.op = "ShiftOfDistances";
  constant(made, from, "unit", leantta::kFloat, {layers}, 2);
  constant(made, from, "middle", leantta::kFloat, {}, 0.5f);
  for (std::int64_t i = 0; i < layers; ++i) given(made, from, kNames[i], leantta::kFloat, {n, 1}, 0.3f);
  made.outputs = {"distance", "shift"};
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Runtime runtime;
  FuzzedDataProvider from(data, size);
  const int which = from.ConsumeIntegralInRange(0, 5);
  Made made = which == 0 ? depthwise(from) : which == 1 ? shift(from) : normalization(from);
  if (!from.ConsumeIntegralInRange(0, 20) && !made.node.inputs.empty())
    made.node.inputs.resize(from.ConsumeIntegralInRange<std::size_t>(0, made.node.inputs.size()));
  const std::string file = leantta_test::onnx_file(made.node, made.names, made.given, made.outputs);
  std::vector<const char*> names, outputs;
  for (const std::string& name : made.names) names.push_back(name.c_str());
  for (const std::string& name : made.outputs) outputs.push_back(name.c_str());
  static const bool counts = std::getenv("LEANTTA_FUZZ_COUNTS") != nullptr;
  static std::size_t all = 0, answered = 0;
  ++all;
  answered += runtime.run(file, names, made.given, outputs);
  if (counts && all % 50 == 0) std::fprintf(stderr, "answered %zu of %zu\n", answered, all);
  return 0;
}
