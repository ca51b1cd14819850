// What Hydra and verl check of a launch's overrides before its workers start (verl-project/verl@1dda039b9). The reader
// finds these, which sees all roles (stacks/verl/checks.cc); the rows say what they mean.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

const Rule kRules[] = {
    {.id = "verl.value",
     .area = "cli",
     .at = {Phase::kParse, 1},
     .source = "verl:verl/trainer/main_ppo.py:166",
     .when = FoundByReader,
     .needs = "a value in Hydra's grammar"},
    {.id = "verl.override",
     .area = "cli",
     .at = {Phase::kParse, 2},
     .source = "verl:verl/trainer/config/_generated_ppo_megatron_trainer.yaml",
     .when = FoundByReader,
     .needs = "Hydra changes what its files have, and adds what they lack with a '+'"},
    {.id = "verl.missing",
     .area = "cli",
     .at = {Phase::kParse, 3},
     .source = "verl:verl/trainer/config/rollout/rollout.yaml:5",
     .when = FoundByReader,
     .needs = "a launch names the engine that makes its rollouts"},
    {.id = "verl.micro-batch",
     .area = "batch",
     .at = {Phase::kParse, 4},
     .source = "verl:verl/workers/config/actor.py:209",
     .when = FoundByReader,
     .needs = "a microbatch is said once: by samples of each GPU, or by tokens"},
    {.id = "verl.mini-batch",
     .area = "batch",
     .at = {Phase::kParse, 5},
     .source = "verl:verl/workers/config/actor.py:227",
     .when = FoundByReader,
     .needs = "a rollout has at least the prompts of a step"},
    {.id = "verl.batch-divisible",
     .area = "batch",
     .at = {Phase::kParse, 6},
     .source = "verl:verl/utils/config.py:110",
     .when = FoundByReader,
     .needs = "the samples of a rollout are whole microbatches of every replica"},
    {.id = "verl.one-mesh",
     .area = "mesh",
     .kind = Kind::kWarning,
     .at = {Phase::kParse, 7},
     .source = "verl:verl/workers/engine/megatron/transformer_impl.py:245",
     .when = FoundByReader,
     .needs = "roles on the same GPUs share the process groups of the actor"},
    {.id = "verl.rollout-divisible",
     .area = "mesh",
     .at = {Phase::kParse, 8},
     .source = "verl:verl/workers/engine_workers.py:660",
     .when = FoundByReader,
     .needs = "the GPUs are whole engines of the rollout"},
};

}  // namespace

RuleList VerlOverridesRules() { return kRules; }

}  // namespace flightplan
