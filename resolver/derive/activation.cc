#include "resolver/derive/activation.h"

#include "absl/strings/match.h"
#include "resolver/plan/knob.h"

namespace flightplan {

using K = Knob;

Activation ActivationOf(absl::string_view name) {
  if (name == "swiglu") return Activation::kSwiGlu;
  if (name == "swiglu_oai") return Activation::kClampedGeGlu;
  if (name == "squared_relu") return Activation::kSquaredRelu;
  return absl::StrContains(name, "glu") ? Activation::kGeGlu : Activation::kPlain;
}

// By default every stack fuses what it has a kernel for: SwiGLU, and GELU with its bias. Kernels for others are asked
// for.
bool FusesActivation(const Config& config, Activation activation) {
  const auto off = [&](Knob knob) { return config.origin(knob) == Origin::kCaller && !config.Get(knob).truthy(); };
  switch (activation) {
    case Activation::kSwiGlu:
      return !off(K::bias_activation_fusion) && !off(K::bias_swiglu_fusion);
    case Activation::kPlain:
      return !off(K::bias_activation_fusion) && !off(K::bias_gelu_fusion);
    case Activation::kGeGlu:
    case Activation::kClampedGeGlu:
      return config.Get(K::bias_activation_fusion).truthy();
    case Activation::kSquaredRelu:
      return config.Get(K::use_fused_weighted_squared_relu).truthy();
  }
  return true;
}

}  // namespace flightplan
