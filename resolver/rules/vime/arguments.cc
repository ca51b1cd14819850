// What vime checks of its own command line, beside what Megatron-LM checks of it (vllm-project/vime@035f98340). The
// reader finds these, which sees vime's own flags (stacks/vime/dialect.cc); the rows say what they mean.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

const Rule kRules[] = {
    {.id = "vime.unread-flag",
     .area = "cli",
     .kind = Kind::kWarning,
     .at = {Phase::kParse, 1},
     .source = "vime:vime/backends/megatron_utils/arguments.py (megatron_parse_args)",
     .when = FoundByReader,
     .needs = "vime ignores flags that no parser of its knows: what is misspelt has no effect"},
    {.id = "vime.goes-with",
     .area = "cli",
     .at = {Phase::kParse, 2},
     .source = "vime:vime/utils/arguments.py (vime_validate_args)",
     .when = FoundByReader,
     .needs = "vime refuses some flags without another, and some beside another"},
    {.id = "vime.length",
     .area = "schedule",
     .at = {Phase::kParse, 3},
     .source = "vime:vime/utils/arguments.py (vime_validate_args)",
     .when = FoundByReader,
     .needs = "a training needs prompts for each rollout and a number of rollouts or epochs"},
    {.id = "vime.batch-of-rollout",
     .area = "schedule",
     .at = {Phase::kParse, 4},
     .source = "vime:vime/utils/arguments.py (vime_validate_args)",
     .when = FoundByReader,
     .needs = "global_batch_size is the samples of a rollout over its steps"},
    {.id = "vime.uneven-stages",
     .area = "pipeline",
     .at = {Phase::kParse, 5},
     .source = "vime:vime/backends/megatron_utils/arguments.py (validate_args)",
     .when = FoundByReader,
     .needs = "the layers of a first or last stage are said only of a pipeline"},
};

}  // namespace

RuleList VimeArgumentsRules() { return kRules; }

}  // namespace flightplan
