// What users found to train on wrong gradients, in silence, in the releases that are named. Area "field-report", so
// that nobody takes one for an upstream check.
#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/derive/candidate.h"
#include "resolver/rules/core/grid_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr absl::string_view kAllocator = "PYTORCH_CUDA_ALLOC_CONF";

bool SeveralInstances(F f) { return f.num(K::num_distributed_optimizer_instances) > 1; }
bool ShardsGradients(F f) {
  return f.on(K::use_megatron_fsdp) && f.in(K::data_parallel_sharding_strategy, {"optim_grads", "optim_grads_params"});
}

// Each expert is on one rank alone, and a step is more than one microbatch.
bool OneRankOfAnExpert(F f) {
  const std::optional<int64_t> world = WorldSize(f), expert = ExpertSize(f), dense = DenseSize(f);
  if (!f.moe() || !world.has_value() || !expert.has_value() || !dense.has_value() || *dense < 1) return false;
  const int64_t a_pass = f.size(K::micro_batch_size) * std::max<int64_t>(1, *world / *dense);
  return *expert == *world && f.num(K::global_batch_size) > a_pass;
}

bool BalancesByLoss(F f) {
  const bool aux = f.on(K::moe_aux_loss_coeff) && !f.is(K::moe_router_load_balancing_type, "none") &&
                   !f.is(K::moe_router_load_balancing_type, "sinkhorn");
  return f.moe() && (aux || f.on(K::moe_z_loss_coeff));
}
// Ranks that hold a part each of the tokens that one rank's loss counts.
int64_t PartsOfSequence(F f) {
  return (f.on(K::sequence_parallel) ? f.size(K::tensor_model_parallel_size) : 1) * f.size(K::context_parallel_size);
}

bool AdaptsExperts(F f) {
  const Value::List& modules = f.value(K::peft_target_modules).list();
  return std::any_of(modules.begin(), modules.end(), [](const Value& module) {
    return absl::EndsWith(module.text(), "linear_fc1") || absl::EndsWith(module.text(), "linear_fc2");
  });
}

std::vector<Patch> SplitAsDense(F f) {
  return {{Assign(K::expert_tensor_parallel_size, f.size(K::tensor_model_parallel_size))}};
}

const Rule kRules[] = {
    {.id = "field.expert-grads-without-ep",
     .area = "field-report",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kHardware, 220},
     .source = "NVIDIA/Megatron-LM#1628, #1622; fixed by #5916 in 0.19; core_v0.18.2 "
               "megatron/core/extensions/transformer_engine.py:2030",
     .core = {.until = 18},
     .reads = {K::expert_model_parallel_size, K::expert_tensor_parallel_size, K::tensor_model_parallel_size},
     .when =
         [](F f) {
           return f.moe() && f.size(K::expert_model_parallel_size) == 1 &&
                  ExpertTp(f) != f.size(K::tensor_model_parallel_size);
         },
     .needs =
         "before Megatron-Core 0.19 experts without expert parallelism are reduced over the ranks of dense weights: "
         "split otherwise than those, their copies get different gradients and drift apart in silence",
     .fix = SplitAsDense},
    {.id = "field.expert-grad-norm",
     .area = "field-report",
     .kind = Kind::kInfo,
     .at = {Phase::kAdvice, 220},
     .source =
         "NVIDIA/Megatron-LM#6470; fixed by #5916 in 0.19; TransformerEngine v2.13 "
         "transformer_engine/pytorch/module/grouped_linear.py:795, which marks no weight as a part of one any more",
     .core = {.until = 18},
     .reads = {K::tensor_model_parallel_size, K::expert_model_parallel_size, K::expert_tensor_parallel_size,
               K::moe_grouped_gemm, K::clip_grad},
     .reads_env = {"te"},
     .when =
         [](F f) {
           return f.moe() && f.on(K::moe_grouped_gemm) && f.on(K::clip_grad) &&
                  f.size(K::tensor_model_parallel_size) > 1 &&
                  f.size(K::expert_model_parallel_size) * ExpertTp(f) > 1 && AtLeast(f.env().te, "2.13");
         },
     .needs = "before Megatron-Core 0.19 the gradient norm counts the experts of the first tensor-parallel rank alone "
              "with Transformer Engine 2.13 and later: the norm that is logged is too small, and clipping too weak"},
    {.id = "field.optimizer-instances-race",
     .area = "field-report",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kHardware, 221},
     .source = "NVIDIA/Megatron-LM#3670; fixed by #3693 in 0.17; core_v0.16.1 "
               "megatron/core/distributed/param_and_grad_buffer.py:422",
     .core = {.until = 16},
     .reads = {K::num_distributed_optimizer_instances, K::overlap_grad_reduce, K::use_megatron_fsdp},
     .when = [](F f) { return SeveralInstances(f) && f.on(K::overlap_grad_reduce) && !f.on(K::use_megatron_fsdp); },
     .needs = "before Megatron-Core 0.17 the reduction of several optimizer instances waits for the default stream and "
              "not for the one that the gradients come from: it may reduce them half written",
     .fixes = {{{K::num_distributed_optimizer_instances, 1}},
               {{K::overlap_grad_reduce, false}, {K::overlap_param_gather, false}}}},
    {.id = "field.fsdp-optimizer-unsharded",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 222},
     .source =
         "NVIDIA/Megatron-LM#2772, NVIDIA-NeMo/Megatron-Bridge#1856; fixed by NVIDIA/TransformerEngine#2535 in 2.12; "
         "v2.10 transformer_engine/pytorch/optimizers/fused_adam.py:377",
     .reads = {K::use_megatron_fsdp, K::use_torch_fsdp2, K::optimizer, K::optimizer_cpu_offload},
     .reads_env = {"te"},
     .when = [](F f) { return HoldsWholeMoments(f.config(), f.env()); },
     .needs = "the Adam of Transformer Engine 2.10 and 2.11 makes its state as large as the whole parameter, where "
              "other releases have a rank's shard (the memory forecast counts it whole): take 2.9 or 2.12"},
    {.id = "field.per-token-aux-loss",
     .area = "field-report",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kHardware, 223},
     .source = "NVIDIA/Megatron-LM#1652, #3768; fixed by #5047 in 0.19",
     .core = {.until = 18},
     .reads = {K::calculate_per_token_loss, K::moe_aux_loss_coeff, K::moe_z_loss_coeff, K::tensor_model_parallel_size,
               K::sequence_parallel, K::context_parallel_size},
     .when = [](F f) { return f.on(K::calculate_per_token_loss) && BalancesByLoss(f) && PartsOfSequence(f) > 1; },
     .needs =
         "before Megatron-Core 0.19 a loss per token divides the router's auxiliary losses once too often by the "
         "ranks that share a sequence, TP with sequence parallelism times CP: coefficients that much larger train as "
         "without them",
     .detail = [](F f) { return absl::StrCat("1/", PartsOfSequence(f), " of the coefficient counts"); }},
    {.id = "field.fsdp-one-expert-rank",
     .area = "field-report",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kHardware, 224},
     .source = "NVIDIA/Megatron-LM#6660; fixed by #6773 after the releases here; core_v0.16.1 "
               "megatron/core/distributed/fsdp/src/megatron_fsdp/param_and_grad_buffer.py:3257, core_v0.19.0 with a "
               "megatron_fsdp_grad_comm_dtype of its own",
     .reads = {K::use_megatron_fsdp, K::data_parallel_sharding_strategy, K::megatron_fsdp_grad_comm_dtype,
               K::expert_model_parallel_size, K::expert_tensor_parallel_size, K::micro_batch_size,
               K::global_batch_size},
     .reads_env = {"world_size"},
     .when =
         [](F f) {
           const bool unguarded = f.core(0, 16) || f.in(K::megatron_fsdp_grad_comm_dtype, {"bf16", "fp16"});
           return ShardsGradients(f) && unguarded && OneRankOfAnExpert(f);
         },
     .needs =
         "where each expert is on one rank alone, Megatron-FSDP doubles its gradients with every microbatch, which "
         "clipping hides until they overflow: leave EP x ETP x PP smaller than the job, or take a fixed core",
     .fixes = {{{K::data_parallel_sharding_strategy, "optim"}}}},
    {.id = "field.fsdp-user-buffers-instances",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 225},
     .source = "NVIDIA/Megatron-LM#3565 (open)",
     .reads = {K::use_megatron_fsdp, K::nccl_ub, K::disable_symmetric_registration,
               K::num_distributed_optimizer_instances},
     .when =
         [](F f) {
           return f.on(K::use_megatron_fsdp) && f.on(K::nccl_ub) && !f.on(K::disable_symmetric_registration) &&
                  SeveralInstances(f);
         },
     .needs =
         "Megatron-FSDP with several optimizer instances hangs where NCCL registers its user buffers symmetrically",
     .fixes = {{{K::disable_symmetric_registration, true}}, {{K::num_distributed_optimizer_instances, 1}}}},
    {.id = "field.aux-loss-context-parallel",
     .area = "field-report",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kHardware, 227},
     .source =
         "fixed by NVIDIA/Megatron-LM#2217 in 0.16; core_v0.15.3 megatron/core/pipeline_parallel/schedules.py:271",
     .core = {.until = 15},
     .reads = {K::calculate_per_token_loss, K::moe_aux_loss_coeff, K::moe_z_loss_coeff, K::context_parallel_size},
     .when =
         [](F f) {
           return !f.fork() && !f.on(K::calculate_per_token_loss) && BalancesByLoss(f) &&
                  f.size(K::context_parallel_size) > 1;
         },
     .needs = "before Megatron-Core 0.16 the router's auxiliary losses are averaged over the ranks that share a "
              "sequence, of which each has its part alone: coefficients times the context parallel size train as "
              "without it",
     .detail = [](F f) { return absl::StrCat("1/", f.size(K::context_parallel_size), " of the coefficient counts"); }},
    {.id = "field.gdn-norm-without-sp",
     .area = "field-report",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kHardware, 228},
     .source = "NVIDIA/Megatron-LM#7452, finding 11 (open); "
               "core_v0.18.2 megatron/core/distributed/finalize_model_grads.py:403, core_v0.18.2 "
               "megatron/core/ssm/gated_delta_net.py:217",
     .reads = {K::experimental_attention_variant, K::tensor_model_parallel_size, K::sequence_parallel},
     .when =
         [](F f) {
           return f.in(K::experimental_attention_variant, {"gdn", "gated_delta_net"}) &&
                  f.size(K::tensor_model_parallel_size) > 1 && !f.on(K::sequence_parallel);
         },
     .needs = "without sequence parallelism nothing sums the gradients of the gated delta net's output norm over the "
              "TP ranks, of which each has that of its own heads: the copies of the weight drift apart",
     .fixes = {{{K::sequence_parallel, true}}}},
    {.id = "field.lora-of-experts-apart",
     .area = "field-report",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kHardware, 229},
     .source = "NVIDIA-NeMo/Megatron-Bridge#6009 (fixed in September 2026); v0.6.0 "
               "src/megatron/bridge/peft/utils.py:1322",
     .bridge = {.since = 6},
     .reads = {K::peft_scheme, K::peft_target_modules, K::peft_share_expert_adapters, K::expert_model_parallel_size,
               K::gradient_accumulation_fusion},
     .when =
         [](F f) {
           return f.container() && f.moe() && f.is(K::peft_scheme, "lora") && AdaptsExperts(f) &&
                  f.on(K::peft_share_expert_adapters) && f.size(K::expert_model_parallel_size) > 1 &&
                  f.on(K::gradient_accumulation_fusion);
         },
     .needs = "with fused weight gradients the hook that sums the gradients of the experts' one adapter over the "
              "expert-parallel ranks gets none: each rank trains an adapter of its own, and one of them is saved",
     .fixes = {{{K::gradient_accumulation_fusion, false}}, {{K::peft_share_expert_adapters, false}}}},
    {.id = "field.expandable-segments-beside-rollouts",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kHardware, 226},
     .source = "vllm-project/vllm#14189, fzyzcjy/torch_memory_saver#24, NVIDIA-NeMo/RL#2319, OpenRLHF/OpenRLHF#1274",
     .reads_env = {kAllocator},
     .when =
         [](F f) {
           return f.stack().exports_to_engine && !f.env().engine_apart &&
                  absl::StrContains(f.var(kAllocator), "expandable_segments:True");
         },
     .needs = "an engine on the same GPUs that gives its memory back while a step runs (vLLM's sleep mode until April "
              "2026, SGLang's torch_memory_saver) stops on this variable, which all processes of a launch get (slime "
              "0.3.1 keeps it from its engines): give it to the training processes alone, or leave it out",
     .fixes = {{{.value = "", .env_var = kAllocator}}}},
};

}  // namespace

RuleList CoreGradientReportsRules() { return kRules; }

}  // namespace flightplan
