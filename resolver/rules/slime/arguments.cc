// What slime checks of its own command line, beside what Megatron-LM checks of it (THUDM/slime@624b824a8). The reader
// finds these, which sees slime's own flags (stacks/slime/dialect.cc); the rows say what they mean.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

const Rule kRules[] = {
    {.id = "slime.unread-flag",
     .area = "cli",
     .kind = Kind::kWarning,
     .at = {Phase::kParse, 1},
     .source = "slime:slime/backends/megatron_utils/arguments.py:195",
     .when = FoundByReader,
     .needs = "slime ignores flags that no parser of its knows: what is misspelt has no effect"},
    {.id = "slime.goes-with",
     .area = "cli",
     .at = {Phase::kParse, 2},
     .source = "slime:slime/utils/arguments.py:1762",
     .when = FoundByReader,
     .needs = "slime refuses some flags without another"},
    {.id = "slime.length",
     .area = "schedule",
     .at = {Phase::kParse, 3},
     .source = "slime:slime/utils/arguments.py:2003",
     .when = FoundByReader,
     .needs = "a training needs prompts for each rollout and a number of rollouts or epochs"},
    {.id = "slime.batch-of-rollout",
     .area = "schedule",
     .at = {Phase::kParse, 4},
     .source = "slime:slime/utils/arguments.py:1974",
     .when = FoundByReader,
     .needs = "global_batch_size is the samples of a rollout over its steps"},
    {.id = "slime.uneven-stages",
     .area = "pipeline",
     .at = {Phase::kParse, 5},
     .source = "slime:slime/backends/megatron_utils/arguments.py:91",
     .when = FoundByReader,
     .needs = "the layers of a first or last stage are said only of a pipeline"},
};

}  // namespace

RuleList SlimeArgumentsRules() { return kRules; }

}  // namespace flightplan
