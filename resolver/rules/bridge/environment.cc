// The env_vars section: defaults for the process environment, applied before anything else of a Bridge launch.
// Lines are those of NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/config.py.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

const Rule kRules[] = {
    {.id = "env.vars-setdefault",
     .area = "env",
     .kind = Kind::kChange,
     .at = {Phase::kEnvVars, 1989},
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1989",
     .bridge = {.since = 6},
     .change =
         [](Editor& e) {
           const EnvVars defaults = e.env().recipe_vars;
           for (const auto& [name, value] : defaults) {
             if (!e.facts().var_set(name)) e.SetVar(name, value);
           }
         }},
};

}  // namespace

RuleList BridgeEnvironmentRules() { return kRules; }

}  // namespace flightplan
