// What FlagScale reads before it starts its fork of Megatron-LM (flagos-ai/FlagScale@16a2dd5b5). The reader finds it,
// which sees all files (stacks/flagscale/dialect.cc).
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

const Rule kRules[] = {
    {.id = "flagscale.settings",
     .area = "cli",
     .at = {Phase::kParse, 1},
     .source = "FlagScale:flagscale/runner/runner_train.py:29",
     .when = FoundByReader,
     .needs = "YAML files that can be read, and overrides in Hydra's grammar"},
};

}  // namespace

RuleList FlagscaleSettingsRules() { return kRules; }

}  // namespace flightplan
