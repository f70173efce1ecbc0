// arm64: 8 channels at a time, whose weights for 3 x 3 stay in registers. Nothing is used that a Cortex-A53 lacks.
#include <arm_neon.h>

#include "depthwise_slide.h"

namespace leantta {
namespace {

template <int kTaps>
class Taps {
 public:
  static constexpr int kSize = kTaps;
  static constexpr std::size_t kBlock = 8;

  struct Sum {
    int32x4_t half[2];
  };

  LEANTTA_INLINE Taps(const Depthwise& layer, std::size_t, std::size_t channel)
      : zero_(vdupq_n_s16(layer.y_zero)) {
    for (int k = 0; k < 2; ++k) {
      bias_.half[k] = vld1q_s32(layer.bias.data() + channel + 4 * k);
      scale_[k] = vld1q_f32(layer.scale.data() + channel + 4 * k);
    }
    for (int i = 0; i < kSize * kSize; ++i)
      weights_[i] = vmovl_s8(vld1_s8(layer.weights.data() + i * layer.channels + channel));
  }

  LEANTTA_INLINE Sum bias() const { return bias_; }

  template <class Positions, int kPhase>
  LEANTTA_INLINE void add(const std::uint8_t* const* x, Sum* sums) const {
    for (int i = 0; i < kSize; ++i) {
      const int16x8_t words = vreinterpretq_s16_u16(vmovl_u8(vld1_u8(x[i])));
      for (int k = 0; k <= Positions::kOpen; ++k) {
        const int tap = Positions::tap(kPhase, k);
        if (tap < 0) continue;
        const int16x8_t weights = weights_[i * kSize + tap];
        sums[k].half[0] = vmlal_s16(sums[k].half[0], vget_low_s16(words), vget_low_s16(weights));
        sums[k].half[1] = vmlal_high_s16(sums[k].half[1], words, weights);
      }
    }
  }

  LEANTTA_INLINE void write(const Sum& sum, std::uint8_t* y) const {
    const int16x4_t low = vqmovn_s32(scaled(sum.half[0], scale_[0]));
    const int16x8_t both = vqmovn_high_s32(low, scaled(sum.half[1], scale_[1]));
    vst1_u8(y, vqmovun_s16(vqaddq_s16(both, zero_)));
  }

 private:
  // To the nearest, ties to even; what does not fit becomes the last number that does.
  LEANTTA_INLINE static int32x4_t scaled(int32x4_t sum, float32x4_t scale) {
    return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sum), scale));
  }

  const int16x8_t zero_;
  Sum bias_;
  float32x4_t scale_[2];
  int16x8_t weights_[kSize * kSize];
};

bool supports(const Depthwise& layer) { return has_vectors(layer, Taps<3>::kBlock); }

void pack(Depthwise&) {}

}  // namespace

const DepthwisePath kNeonDepthwise = {"neon", supports, pack, vector_rows<Taps>, &kScalarDepthwise};

}  // namespace leantta
