// The reference: plain loops, for any processor.
#include "channels.h"

namespace leantta {
namespace {

void sums(const std::uint8_t* x, std::size_t rows, std::size_t channels, std::uint8_t flip, std::int32_t* sum,
          std::int32_t* square) {
  std::memset(sum, 0, channels * sizeof *sum);
  std::memset(square, 0, channels * sizeof *square);
  for (std::size_t row = 0; row < rows; ++row, x += channels)
    for (std::size_t c = 0; c < channels; ++c) {
      const std::int32_t value = x[c] ^ flip;
      sum[c] += value;
      square[c] += value * value;
    }
}

template <bool kResidual, bool kHardSwish>
void apply_form(const Layer& layer, const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows,
                const float* scale, const float* offset) {
  const std::size_t channels = layer.channels;
  const float residual = residual_scale(layer);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t c = 0, i = row * channels; c < channels; ++c, ++i)
      y[i] = byte_of<kResidual, kHardSwish>(layer, static_cast<float>(x[i] ^ layer.flip),
                                            kResidual ? static_cast<float>(r[i] ^ layer.flip) : 0, scale[c], offset[c],
                                            residual);
}

void apply(const Layer& layer, const std::uint8_t* x, const std::uint8_t* r, std::uint8_t* y, std::size_t rows,
           const float* scale, const float* offset) {
  LEANTTA_FORM(layer, apply_form, layer, x, r, y, rows, scale, offset);
}

bool supported() { return true; }

}  // namespace

const Path kScalar = {"scalar", supported, sums, shift<std::int32_t>, shift<double>, coefficients,
                      apply, plane_moments, plane_apply, distance};

}  // namespace leantta
