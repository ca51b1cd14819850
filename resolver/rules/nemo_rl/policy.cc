// What NeMo-RL's policy hands on to the config classes by itself (NVIDIA-NeMo/RL@7ea279abf).
#include "resolver/rules/core/grid_util.h"
#include "resolver/rules/core/packing_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;

const Rule kRules[] = {
    {.id = "nemo-rl.hands-on-types",
     .area = "precision",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 90},
     .source = "NeMo-RL:nemo_rl/models/megatron/setup.py:1046",
     .reads = {K::bf16, K::fp16, K::use_distributed_optimizer},
     .change = HandOnTypes},
    {.id = "nemo-rl.sp-off-at-tp1",
     .area = "sequence-parallel",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 91},
     .source = "NeMo-RL:nemo_rl/models/policy/workers/megatron_policy_worker.py:538; "
               "Megatron-Bridge:src/megatron/bridge/models/transformer_config.py:175",
     .reads = {K::tensor_model_parallel_size, K::sequence_parallel},
     .change = DropSequenceParallelAtTp1},
};

}  // namespace

RuleList NemoRlPolicyRules() { return kRules; }

}  // namespace flightplan
