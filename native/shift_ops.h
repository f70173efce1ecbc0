// The operator that ends a file: the distances of all layers, and the shift of each sample.
#pragma once

#include <cstdint>

struct OrtCustomOp;

namespace leantta {

// It lives as long as the library.
const OrtCustomOp* shift_op(std::uint32_t version);

}  // namespace leantta
