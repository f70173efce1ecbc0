// The reference: plain loops, for any processor.
#include "answer.h"
#include "channels.h"

namespace leantta {
namespace {

void sums(const std::uint8_t* x, std::size_t rows, std::size_t channels, std::uint8_t flip, std::int32_t* sum,
          std::int32_t* square) {
  std::memset(sum, 0, channels * sizeof *sum);
  std::memset(square, 0, channels * sizeof *square);
  add_rest(x, rows, channels, 0, flip, sum, square);
}

template <bool kResidual, bool kHardSwish>
void apply_form(const Layer& layer, const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows,
                const float* scale, const float* offset) {
  apply_rest<kResidual, kHardSwish>(layer, x, r, y, 0, rows, 0, scale, offset);
}

void apply(const Layer& layer, const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows,
           const float* scale, const float* offset) {
  LEANTTA_FORM(layer, apply_form, layer, x, r, y, rows, scale, offset);
}

bool supported() { return true; }

}  // namespace

const Path kScalar = {"scalar", supported, sums, shift<std::int32_t>, shift<double>, answer,
                      coefficients, apply, plane_moments, plane_apply};

}  // namespace leantta
