// What Megatron-Bridge's providers of single models refuse although a plain GPT takes it. A configuration names no
// provider: each is told by what no other of Bridge's has (Megatron-Bridge@067f987df).
#pragma once

#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/stack.h"

namespace flightplan {

enum class BridgeProvider { kPlain, kGemma2, kGemma4Moe, kKimiK3 };

// `value`: of a knob.
template <class ValueOf>
BridgeProvider BridgeProviderOf(const ValueOf& value) {
  const auto is = [&value](Knob knob, absl::string_view text) {
    const Value& found = value(knob);
    return found.is_text() && found.text() == text;
  };
  const bool moe = value(Knob::num_moe_experts).truthy();
  if (is(Knob::activation_func, "fast_gelu")) {  // of Gemmas alone
    if (moe) return BridgeProvider::kGemma4Moe;
    // The first has no window; the third and the dense fourth have norms of queries and keys.
    const bool second = !value(Knob::window_size).is_none() && !value(Knob::qk_layernorm).truthy();
    return second ? BridgeProvider::kGemma2 : BridgeProvider::kPlain;
  }
  const bool k3 = moe && is(Knob::position_embedding_type, "none") && value(Knob::moe_latent_size).truthy() &&
                  value(Knob::multi_latent_attention).truthy();
  return k3 ? BridgeProvider::kKimiK3 : BridgeProvider::kPlain;
}

// What the provider takes; all of it in other stacks (rules/bridge/model_providers.cc).
struct ProviderLimits {
  bool context_parallel = true;
  bool virtual_stages = true;
  bool shared_expert_overlap = true;
  bool graphs = true;
  bool layernorm_recompute = true;
};

inline ProviderLimits LimitsOfProvider(const Config& config, const Environment& env) {
  ProviderLimits takes;
  if (!StackOf(env).container) return takes;
  switch (BridgeProviderOf([&config](Knob knob) -> const Value& { return config.Get(knob); })) {
    case BridgeProvider::kPlain:
      break;
    case BridgeProvider::kGemma2:
      takes.context_parallel = false;
      break;
    case BridgeProvider::kGemma4Moe:
      if (env.bridge_release >= 6) takes.shared_expert_overlap = takes.graphs = takes.layernorm_recompute = false;
      break;
    case BridgeProvider::kKimiK3:
      takes.context_parallel = takes.virtual_stages = false;
      break;
  }
  return takes;
}

}  // namespace flightplan
