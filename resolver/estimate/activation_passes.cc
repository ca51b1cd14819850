#include "resolver/estimate/activation_passes.h"

namespace flightplan {
namespace {

// Reads and writes of the width by PyTorch's operators one by one, where a fused kernel has 3 for a gated activation
// and 2 for another (Megatron-LM@d98e8a64dd megatron/core/transformer/mlp.py:323): the activation, the offset of the
// linear half, their product; and of an expert the product with the routing weight, which is FP32, and the cast back
// (moe/experts.py:1001).
constexpr double kGluPasses = 7, kWeightPasses = 6;

}  // namespace

double ActivationPasses(Activation activation, bool fused, bool routed, double clamped) {
  const double gated = routed ? kGluPasses + kWeightPasses : kGluPasses, plain = routed ? 2 + kWeightPasses : 4;
  switch (activation) {
    case Activation::kSwiGlu:
      return fused ? 1 : gated / 3;
    case Activation::kGeGlu:
      return fused && !routed ? 1 : gated / 3;
    case Activation::kClampedGeGlu:
      return clamped;
    case Activation::kSquaredRelu:
      return fused || !routed ? 1 : plain / 2;
    case Activation::kPlain:
      return fused && !routed ? 1 : plain / 2;
  }
  return 1;
}

}  // namespace flightplan
