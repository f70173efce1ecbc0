// The part of ONNX Runtime's C interface that we use, declared by us: its wheels carry no header. The interface only
// grows at its end, so positions and order are the same in every version from kOldestApi on.
#pragma once

#include <cstddef>
#include <cstdint>

struct OrtStatus;
struct OrtSessionOptions;
struct OrtCustomOpDomain;
struct OrtKernelInfo;
struct OrtKernelContext;
struct OrtValue;
struct OrtTensorTypeAndShapeInfo;
struct OrtShapeInferContext;
struct OrtCustomOp;

namespace leantta {

constexpr std::uint32_t kOldestApi = 17;   // ONNX Runtime 1.17
constexpr std::uint32_t kInplaceApi = 18;  // the first that asks GetMayInplace

enum ElementType : int { kUndefined = 0, kFloat = 1, kUint8 = 2, kInt8 = 3, kInt32 = 6, kInt64 = 7 };
enum ErrorCode : int { kFail = 1, kInvalidArgument = 2, kNotImplemented = 9 };
enum Characteristic : int { kRequired = 0, kOptional = 1, kVariadic = 2 };

}  // namespace leantta

// A table of functions, found by their positions.
struct OrtApi {
  void* functions[1];
};

struct OrtApiBase {
  const OrtApi* (*GetApi)(std::uint32_t version);
  const char* (*GetVersionString)();
};

// What ONNX Runtime calls; `version` tells it how many of the callbacks are there.
struct OrtCustomOp {
  std::uint32_t version;
  void* (*CreateKernel)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*);
  const char* (*GetName)(const OrtCustomOp*);
  const char* (*GetExecutionProviderType)(const OrtCustomOp*);
  int (*GetInputType)(const OrtCustomOp*, std::size_t);
  std::size_t (*GetInputTypeCount)(const OrtCustomOp*);
  int (*GetOutputType)(const OrtCustomOp*, std::size_t);
  std::size_t (*GetOutputTypeCount)(const OrtCustomOp*);
  void (*KernelCompute)(void*, OrtKernelContext*);
  void (*KernelDestroy)(void*);
  int (*GetInputCharacteristic)(const OrtCustomOp*, std::size_t);
  int (*GetOutputCharacteristic)(const OrtCustomOp*, std::size_t);
  int (*GetInputMemoryType)(const OrtCustomOp*, std::size_t);
  int (*GetVariadicInputMinArity)(const OrtCustomOp*);
  int (*GetVariadicInputHomogeneity)(const OrtCustomOp*);
  int (*GetVariadicOutputMinArity)(const OrtCustomOp*);
  int (*GetVariadicOutputHomogeneity)(const OrtCustomOp*);
  OrtStatus* (*CreateKernelV2)(const OrtCustomOp*, const OrtApi*, const OrtKernelInfo*, void**);
  OrtStatus* (*KernelComputeV2)(void*, OrtKernelContext*);
  OrtStatus* (*InferOutputShapeFn)(const OrtCustomOp*, OrtShapeInferContext*);
  int (*GetStartVersion)(const OrtCustomOp*);
  int (*GetEndVersion)(const OrtCustomOp*);
  std::size_t (*GetMayInplace)(int**, int**);
  void (*ReleaseMayInplace)(int*, int*);
  std::size_t (*GetAliasMap)(int**, int**);
  void (*ReleaseAliasMap)(int*, int*);
};

namespace leantta {

// The functions, each under ONNX Runtime's name for it; a test holds name, position and type to its header. Those that
// return a status return nullptr when all is well.
class Api {
 public:
  explicit Api(const OrtApi* table) : table_(table) {}

  // CreateStatus
  OrtStatus* create_status(ErrorCode code, const char* message) const {
    return call<OrtStatus* (*)(int, const char*)>(0)(code, message);
  }
  // CreateCustomOpDomain
  OrtStatus* create_domain(const char* name, OrtCustomOpDomain** domain) const {
    return call<OrtStatus* (*)(const char*, OrtCustomOpDomain**)>(26)(name, domain);
  }
  // CustomOpDomain_Add
  OrtStatus* add_op(OrtCustomOpDomain* domain, const OrtCustomOp* op) const {
    return call<OrtStatus* (*)(OrtCustomOpDomain*, const OrtCustomOp*)>(27)(domain, op);
  }
  // AddCustomOpDomain
  OrtStatus* add_domain(OrtSessionOptions* options, OrtCustomOpDomain* domain) const {
    return call<OrtStatus* (*)(OrtSessionOptions*, OrtCustomOpDomain*)>(28)(options, domain);
  }
  // GetTensorMutableData
  OrtStatus* data(const OrtValue* value, void** address) const {
    return call<OrtStatus* (*)(OrtValue*, void**)>(51)(const_cast<OrtValue*>(value), address);  // not changed by it
  }
  // GetTensorElementType
  OrtStatus* element_type(const OrtTensorTypeAndShapeInfo* info, int* type) const {
    return call<OrtStatus* (*)(const OrtTensorTypeAndShapeInfo*, int*)>(60)(info, type);
  }
  // GetDimensionsCount
  OrtStatus* rank(const OrtTensorTypeAndShapeInfo* info, std::size_t* count) const {
    return call<OrtStatus* (*)(const OrtTensorTypeAndShapeInfo*, std::size_t*)>(61)(info, count);
  }
  // GetDimensions
  OrtStatus* sizes(const OrtTensorTypeAndShapeInfo* info, std::int64_t* values, std::size_t count) const {
    return call<OrtStatus* (*)(const OrtTensorTypeAndShapeInfo*, std::int64_t*, std::size_t)>(62)(info, values, count);
  }
  // GetTensorTypeAndShape
  OrtStatus* type_and_shape(const OrtValue* value, OrtTensorTypeAndShapeInfo** info) const {
    return call<OrtStatus* (*)(const OrtValue*, OrtTensorTypeAndShapeInfo**)>(65)(value, info);
  }
  // KernelInfoGetAttribute_float
  OrtStatus* attribute(const OrtKernelInfo* info, const char* name, float* value) const {
    return call<OrtStatus* (*)(const OrtKernelInfo*, const char*, float*)>(85)(info, name, value);
  }
  // KernelInfoGetAttribute_int64
  OrtStatus* attribute(const OrtKernelInfo* info, const char* name, std::int64_t* value) const {
    return call<OrtStatus* (*)(const OrtKernelInfo*, const char*, std::int64_t*)>(86)(info, name, value);
  }
  // KernelContext_GetInput
  OrtStatus* input(const OrtKernelContext* context, std::size_t index, const OrtValue** value) const {
    return call<OrtStatus* (*)(const OrtKernelContext*, std::size_t, const OrtValue**)>(90)(context, index, value);
  }
  // KernelContext_GetOutput
  OrtStatus* output(OrtKernelContext* context, std::size_t index, const std::int64_t* sizes, std::size_t rank,
                    OrtValue** value) const {
    return call<OrtStatus* (*)(OrtKernelContext*, std::size_t, const std::int64_t*, std::size_t, OrtValue**)>(91)(
        context, index, sizes, rank, value);
  }
  // ReleaseStatus
  void release(OrtStatus* status) const { call<void (*)(OrtStatus*)>(93)(status); }
  // ReleaseTensorTypeAndShapeInfo
  void release(OrtTensorTypeAndShapeInfo* info) const { call<void (*)(OrtTensorTypeAndShapeInfo*)>(99)(info); }
  // KernelInfoGetAttributeArray_int64: sets `count` to the number of values if `values` is nullptr.
  OrtStatus* attribute(const OrtKernelInfo* info, const char* name, std::int64_t* values, std::size_t* count) const {
    return call<OrtStatus* (*)(const OrtKernelInfo*, const char*, std::int64_t*, std::size_t*)>(163)(info, name, values,
                                                                                                     count);
  }
  // KernelInfo_GetInputCount
  OrtStatus* input_count(const OrtKernelInfo* info, std::size_t* count) const {
    return call<OrtStatus* (*)(const OrtKernelInfo*, std::size_t*)>(230)(info, count);
  }
  // KernelInfoGetConstantInput_tensor
  OrtStatus* constant_input(const OrtKernelInfo* info, std::size_t index, int* is_constant,
                            const OrtValue** value) const {
    return call<OrtStatus* (*)(const OrtKernelInfo*, std::size_t, int*, const OrtValue**)>(249)(info, index,
                                                                                                is_constant, value);
  }
  // KernelContext_ParallelFor
  OrtStatus* parallel_for(const OrtKernelContext* context, void (*f)(void*, std::size_t), std::size_t total,
                          std::size_t batches, void* data) const {
    return call<OrtStatus* (*)(const OrtKernelContext*, void (*)(void*, std::size_t), std::size_t, std::size_t,
                               void*)>(274)(context, f, total, batches, data);
  }

 private:
  template <typename Function>
  Function call(std::size_t position) const {
    return reinterpret_cast<Function>(table_->functions[position]);
  }
  const OrtApi* table_;
};

}  // namespace leantta
