// What FlagScale reads before it starts its fork of Megatron-LM (flagos-ai/FlagScale@16a2dd5b5). The reader finds it,
// which sees all files (stacks/flagscale/dialect.cc). And what it has no program for.
#include "resolver/rules/core/hybrid_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;

const Rule kRules[] = {
    {.id = "flagscale.settings",
     .area = "cli",
     .at = {Phase::kParse, 1},
     .source = "FlagScale:flagscale/runner/runner_train.py:29",
     .when = FoundByReader,
     .needs = "YAML files that can be read, and overrides in Hydra's grammar"},
    {.id = "flagscale.one-kind-of-layers",
     .area = "hybrid",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kBuild, 249},
     .source = "FlagScale:flagscale/train/train_gpt.py:249",
     .reads = {K::hybrid_layer_pattern, K::hybrid_override_pattern},
     .when = HasPattern,
     .needs =
         "FlagScale has no program for the layers of a pattern: train_gpt.py trains a model of one kind of layers"},
};

}  // namespace

RuleList FlagscaleSettingsRules() { return kRules; }

}  // namespace flightplan
