// Which models verl can load (verl-project/verl@1dda039b9).
#include "resolver/catalog/bridge_converters.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

const Rule kRules[] = {
    {.id = "verl.model-class",
     .area = "model",
     .at = {Phase::kParse, 70},
     .source = "verl:verl/workers/engine/megatron/transformer_impl.py:345; "
               "Megatron-Bridge:src/megatron/bridge/models/conversion/auto_bridge.py:2261",
     .reads_env = {"model_class"},
     .when = [](const Facts& f) { return !HasBridgeConverter(f.env()); },
     .needs = "Megatron-Bridge has no converter for this model's class; mbridge, in its place with "
              "actor_rollout_ref.actor.megatron.vanilla_mbridge=True, has Mixtral's and Qwen2-MoE's; a stack that "
              "builds the model from flags, such as megatron-lm, needs none"},
};

}  // namespace

RuleList VerlModelRules() { return kRules; }

}  // namespace flightplan
