// What ROLL checks of its settings before the role's model is built (alibaba/ROLL@8eb27cc2). The reader finds these,
// which sees all files (stacks/roll/checks.cc); the rows say what they mean.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

const Rule kRules[] = {
    {.id = "roll.settings",
     .area = "cli",
     .at = {Phase::kParse, 1},
     .source = "ROLL:examples/start_rlvr_pipeline.py:22",
     .when = FoundByReader,
     .needs = "YAML files that can be read"},
    {.id = "roll.argument",
     .area = "cli",
     .at = {Phase::kParse, 2},
     .source = "ROLL:roll/distributed/strategy/megatron_strategy.py:113",
     .when = FoundByReader,
     .needs = "keys of strategy_config are arguments; other fields of the model stand below additional_configs"},
    {.id = "roll.router-replay",
     .area = "cli",
     .at = {Phase::kParse, 3},
     .source = "ROLL:roll/configs/worker_config.py:295",
     .when = FoundByReader,
     .needs = "routing is replayed from rollouts (R3), not from Megatron's own inference (R2)"},
    {.id = "roll.length",
     .area = "cli",
     .at = {Phase::kParse, 4},
     .source = "ROLL:roll/configs/base_config.py:272",
     .when = FoundByReader,
     .needs = "response_length or sequence_length"},
    {.id = "roll.rollout-batch",
     .area = "batch",
     .at = {Phase::kParse, 5},
     .source = "ROLL:roll/utils/config_utils.py:87",
     .when = FoundByReader,
     .needs = "rollout_batch_size is a multiple of the data-parallel size"},
    {.id = "roll.optimizer-offload",
     .area = "offload",
     .kind = Kind::kWarning,
     .at = {Phase::kParse, 6},
     .source = "ROLL:roll/distributed/strategy/megatron_strategy.py:1182",
     .when = FoundByReader,
     .needs = "the strategy builds its optimizer without optimizer_cpu_offload, so that its states stay on the GPU; "
              "is_offload_optimizer_states_in_train_step keeps them on the host while layers run"},
};

}  // namespace

RuleList RollSettingsRules() { return kRules; }

}  // namespace flightplan
