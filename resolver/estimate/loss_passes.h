// What the loss moves through memory.
#pragma once

#include "resolver/derive/candidate.h"

namespace flightplan {

// Bytes that the loss moves for a logit, forward and backward. Transformer Engine's kernel reads 16-bit logits twice,
// writes their gradient in their place, or in FP32 (TeLossOf), and scales it backward. The others cast to FP32.
// Unfused, each operator of Megatron-LM@d98e8a64dd core/tensor_parallel/cross_entropy.py goes over all of them: cast,
// maximum, difference, exponential, sum and quotient, then product and cast; native fusion
// (core/fusions/fused_cross_entropy.py) compiles three functions of the forward part, each a pass. LoongForge's chunks
// go through its operators, too, forward and backward, where their product is formed again (LoongForge@c62756618
// docs/source/features/fused_linear_cross_entropy.md).
struct LossPasses {
  double fwd, bwd;
};

constexpr LossPasses PassesOf(LossKind loss) {
  switch (loss) {
    case LossKind::kUnfused:
      return {38, 14};
    case LossKind::kNativeFused:
      return {22, 14};
    case LossKind::kTeFusedInFp32:
      return {8, 14};
    case LossKind::kLinearFused:
      return {28, 28};
    case LossKind::kTeFused:
      return {6, 4};
  }
  return {};
}

}  // namespace flightplan
