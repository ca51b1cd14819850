// What a run of reinforcement learning refuses once its models are built (NVIDIA/Megatron-LM@d98e8a64dd).
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// Inference runs on the model that is trained: nothing asks for one that is cut otherwise.
bool SharesModel(F f) {
  for (const K size : {K::rl_inference_tensor_model_parallel_size, K::rl_inference_pipeline_model_parallel_size,
                       K::rl_inference_expert_model_parallel_size, K::rl_inference_expert_tensor_model_parallel_size}) {
    if (f.set(size)) return false;
  }
  return !f.core(19) || f.num(K::context_parallel_size) <= 1;
}

const Rule kRules[] = {
    {.id = "build.rl-idle-offload-own-model",
     .area = "rl",
     .at = {Phase::kBuild, 21925},
     .source = "Megatron-LM:megatron/training/training.py:1925",
     .core = {17, kMain},
     .reads = {K::rl_offload_inference_model_weights_when_idle, K::rl_inference_tensor_model_parallel_size,
               K::rl_inference_pipeline_model_parallel_size, K::rl_inference_expert_model_parallel_size,
               K::rl_inference_expert_tensor_model_parallel_size, K::context_parallel_size},
     .when =
         [](F f) {
           return f.on(K::perform_rl_step) && f.on(K::rl_offload_inference_model_weights_when_idle) && SharesModel(f);
         },
     .needs = "idle weights are those of an inference model of its own, which a size of its parallelism asks for, and "
              "context parallelism from 0.19 on",
     .fixes = {{{K::rl_offload_inference_model_weights_when_idle, false}}}},
};

}  // namespace

RuleList MegatronLmRlBuildRules() { return kRules; }

}  // namespace flightplan
