// What miles checks of its own command line, beside what Megatron-LM checks of it (radixark/miles@31f1ca961). The
// reader finds these, which sees miles' own flags (stacks/miles/dialect.cc); the rows say what they mean.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

const Rule kRules[] = {
    {.id = "miles.unknown-flag",
     .area = "cli",
     .at = {Phase::kParse, 1},
     .source = "miles:miles/utils/arguments.py:2676",
     .when = FoundByReader,
     .needs = "miles stops at a flag that no parser of its knows, unless a function of the launch's own adds it"},
    {.id = "miles.other-backend",
     .area = "cli",
     .kind = Kind::kWarning,
     .at = {Phase::kParse, 2},
     .source = "miles:miles/utils/arguments.py:2694",
     .when = FoundByReader,
     .needs = "a training by PyTorch's FSDP runs no line of Megatron, and is not judged"},
    {.id = "miles.goes-with",
     .area = "cli",
     .at = {Phase::kParse, 3},
     .source = "miles:miles/utils/arguments.py:2848",
     .when = FoundByReader,
     .needs = "miles refuses some flags without another, and some beside another"},
    {.id = "miles.length",
     .area = "schedule",
     .at = {Phase::kParse, 4},
     .source = "miles:miles/utils/arguments.py:3465",
     .when = FoundByReader,
     .needs = "a training needs prompts for each rollout and a number of rollouts or epochs"},
    {.id = "miles.batch-of-rollout",
     .area = "schedule",
     .at = {Phase::kParse, 5},
     .source = "miles:miles/utils/arguments.py:3435",
     .when = FoundByReader,
     .needs = "global_batch_size is the samples of a rollout over its steps"},
    {.id = "miles.uneven-stages",
     .area = "pipeline",
     .at = {Phase::kParse, 6},
     .source = "miles:miles/utils/arguments.py:2723",
     .when = FoundByReader,
     .needs = "the layers of a first or last stage are said only of a pipeline"},
    {.id = "miles.adapters-need-bridge",
     .area = "rl",
     .kind = Kind::kWarning,
     .at = {Phase::kParse, 7},
     .source = "miles:miles/backends/megatron_utils/model.py:148",
     .when = FoundByReader,
     .needs =
         "miles makes adapters with Megatron-Bridge: without --megatron-to-hf-mode bridge all weights are trained"},
};

}  // namespace

RuleList MilesArgumentsRules() { return kRules; }

}  // namespace flightplan
