// What Primus reads before it hands values to Megatron-LM's parsed arguments (AMD-AGI/Primus@fd1eeabb). The reader
// finds it, which sees all files (stacks/primus/dialect.cc).
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

const Rule kRules[] = {
    {.id = "primus.settings",
     .area = "cli",
     .at = {Phase::kParse, 1},
     .source = "Primus:primus/core/config/yaml_loader.py:18",
     .when = FoundByReader,
     .needs = "YAML files that can be read"},
};

}  // namespace

RuleList PrimusSettingsRules() { return kRules; }

}  // namespace flightplan
