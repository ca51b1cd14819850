// Which models NeMo-RL can load (NVIDIA-NeMo/RL@7ea279abf).
#include "resolver/catalog/bridge_converters.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

const Rule kRules[] = {
    {.id = "nemo-rl.model-class",
     .area = "model",
     .at = {Phase::kParse, 70},
     .source = "NeMo-RL:nemo_rl/models/megatron/setup.py:608; "
               "Megatron-Bridge:src/megatron/bridge/models/conversion/auto_bridge.py:2261",
     .reads_env = {"model_class"},
     .when = [](const Facts& f) { return !HasBridgeConverter(f.env()); },
     .needs =
         "Megatron-Bridge has no converter for this model's class; a stack that builds the model from flags, such as "
         "megatron-lm, needs none"},
};

}  // namespace

RuleList NemoRlModelRules() { return kRules; }

}  // namespace flightplan
