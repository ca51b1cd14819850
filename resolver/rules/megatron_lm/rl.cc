// Reinforcement learning (--perform-rl-step).
#include "resolver/base/integers.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Rl(F f) { return f.on(K::perform_rl_step); }
bool GraphsOff(F f) { return f.is(K::cuda_graph_impl, "none"); }
bool Uvm(F f) { return f.num(K::inference_dynamic_batching_unified_memory_level) > 0; }
bool KvOffload(F f) { return f.is(K::rl_kv_cache_management_mode, "offload"); }
std::optional<int64_t> Requests(F f) { return Product({f.num(K::grpo_prompts_per_step), f.num(K::grpo_group_size)}); }
std::optional<int64_t> Samples(F f) {
  return Product({f.num(K::grpo_prompts_per_step), f.num(K::grpo_group_size), f.num(K::grpo_iterations)});
}
// Global batches of one generation; 1 where the sizes do not fit yet.
int64_t Batches(F f) {
  const std::optional<int64_t> samples = Samples(f);
  return samples.has_value() ? std::max<int64_t>(FloorDiv(*samples, f.num(K::global_batch_size)), 1) : 1;
}
void DeriveLag(Editor& e) {
  const Facts& f = e.facts();
  if (!Rl(f) || !f.core(kMain)) return;
  const std::optional<int64_t> requests = Requests(f);
  if (f.set(K::rl_max_inflight_requests) && requests.has_value() && *requests != 0) {
    e.Set(K::rl_generation_lag, f.real(K::rl_max_inflight_requests) / static_cast<double>(*requests) - 1);
  } else if (f.none(K::rl_generation_lag) && !f.on(K::rl_partial_rollouts)) {
    e.Set(K::rl_generation_lag, 0);
  }
}

const Rule kRules[] = {
    {.id = "mlm.rl-persist-cg",
     .area = "rl",
     .at = {Phase::kCliValidate, 481},
     .source = "Megatron-LM:megatron/training/arguments.py:481",
     .core = {17, kMain},
     .reads = {K::rl_persist_cuda_graphs, K::cuda_graph_impl},
     .when = [](F f) { return Rl(f) && f.on(K::rl_persist_cuda_graphs) && GraphsOff(f); },
     .needs = "rl_persist_cuda_graphs needs CUDA graphs",
     .fixes = {{{K::rl_persist_cuda_graphs, false}}}},
    {.id = "mlm.rl-training-cg",
     .area = "rl",
     .at = {Phase::kCliValidate, 485},
     .source = "Megatron-LM:megatron/training/arguments.py:485",
     .core = {17, kMain},
     .reads = {K::rl_training_cuda_graphs, K::cuda_graph_impl},
     .when = [](F f) { return Rl(f) && f.on(K::rl_training_cuda_graphs) && GraphsOff(f); },
     .needs = "rl_training_cuda_graphs needs CUDA graphs",
     .fixes = {{{K::rl_training_cuda_graphs, false}}}},
    {.id = "mlm.rl-kv-static",
     .area = "rl",
     .at = {Phase::kCliValidate, 494},
     .source = "Megatron-LM:megatron/training/arguments.py:494",
     .core = {17, kMain},
     .reads = {K::rl_persist_cuda_graphs, K::rl_kv_cache_management_mode,
               K::inference_dynamic_batching_unified_memory_level},
     .reads_env = {"torch_memory_saver"},
     .when =
         [](F f) {
           return Rl(f) && f.on(K::rl_persist_cuda_graphs) && !f.is(K::rl_kv_cache_management_mode, "persist") &&
                  PackageMissing(f, "torch_memory_saver") && !Uvm(f);
         },
     .needs = "persistent graphs need key-value memory that does not move: mode persist, unified memory, or "
              "torch_memory_saver",
     .fixes = {{{K::rl_kv_cache_management_mode, "persist"}}}},
    {.id = "mlm.rl-kv-offload-persist",
     .area = "rl",
     .at = {Phase::kCliValidate, 501},
     .source = "Megatron-LM:megatron/training/arguments.py:501",
     .core = {17, kMain},
     .reads = {K::rl_kv_cache_management_mode, K::rl_persist_cuda_graphs},
     .when = [](F f) { return Rl(f) && KvOffload(f) && !f.on(K::rl_persist_cuda_graphs); },
     .needs = "offloading the key-value cache needs rl_persist_cuda_graphs",
     .fixes = {{{K::rl_kv_cache_management_mode, "persist"}}}},
    {.id = "mlm.rl-kv-offload-uvm",
     .area = "rl",
     .at = {Phase::kCliValidate, 506},
     .source = "Megatron-LM:megatron/training/arguments.py:506",
     .core = {17, kMain},
     .reads = {K::rl_kv_cache_management_mode, K::inference_dynamic_batching_unified_memory_level},
     .when = [](F f) { return Rl(f) && KvOffload(f) && Uvm(f); },
     .needs = "offloading the key-value cache excludes unified memory",
     .fixes = {{{K::rl_kv_cache_management_mode, "persist"}}}},
    {.id = "mlm.rl-kv-recapture",
     .area = "rl",
     .at = {Phase::kCliValidate, 511},
     .source = "Megatron-LM:megatron/training/arguments.py:511",
     .core = {17, kMain},
     .reads = {K::rl_kv_cache_management_mode, K::rl_persist_cuda_graphs},
     .when = [](F f) { return Rl(f) && KvOffload(f) && !f.on(K::rl_persist_cuda_graphs); },
     .needs = "graphs cannot be captured again while the key-value cache is offloaded",
     .fixes = {{{K::rl_kv_cache_management_mode, "persist"}}}},
    {.id = "mlm.rl-idle-offload",
     .area = "rl",
     .at = {Phase::kCliValidate, 522},
     .source = "Megatron-LM:megatron/training/arguments.py:522",
     .core = {17, kMain},
     .reads = {K::rl_offload_inference_model_weights_when_idle, K::rl_inference_model_unified_memory_level},
     .reads_env = {"torch_memory_saver"},
     .when =
         [](F f) {
           return Rl(f) && f.on(K::rl_offload_inference_model_weights_when_idle) &&
                  f.num(K::rl_inference_model_unified_memory_level) != 1 && PackageMissing(f, "torch_memory_saver");
         },
     .needs = "offloading idle weights needs unified memory level 1 or torch_memory_saver",
     .fixes = {{{K::rl_inference_model_unified_memory_level, 1}}}},
    {.id = "mlm.rl-lag-xor-inflight",
     .area = "rl",
     .at = {Phase::kCliValidate, 530},
     .source = "Megatron-LM:megatron/training/arguments.py:530",
     .core = {kMain, kMain},
     .reads = {K::rl_generation_lag, K::rl_max_inflight_requests},
     .when = [](F f) { return Rl(f) && f.set(K::rl_max_inflight_requests) && f.set(K::rl_generation_lag); },
     .needs = "rl_generation_lag and rl_max_inflight_requests exclude each other",
     .fixes = {{{K::rl_generation_lag, kUnset}}}},
    {.id = "mlm.rl-inflight-min",
     .area = "rl",
     .at = {Phase::kCliValidate, 532},
     .source = "Megatron-LM:megatron/training/arguments.py:532",
     .core = {kMain, kMain},
     .reads = {K::rl_max_inflight_requests},
     .when = [](F f) { return Rl(f) && f.set(K::rl_max_inflight_requests) && f.num(K::rl_max_inflight_requests) < 1; },
     .needs = "rl_max_inflight_requests must be at least 1",
     .fixes = {{{K::rl_max_inflight_requests, kUnset}}}},
    {.id = "mlm.rl-inflight-partial",
     .area = "rl",
     .at = {Phase::kCliValidate, 535},
     .source = "Megatron-LM:megatron/training/arguments.py:535",
     .core = {kMain, kMain},
     .reads = {K::rl_max_inflight_requests, K::rl_partial_rollouts},
     .when =
         [](F f) {
           return Rl(f) && f.set(K::rl_max_inflight_requests) &&
                  f.num(K::rl_max_inflight_requests) > Requests(f).value_or(INT64_MAX) && !f.on(K::rl_partial_rollouts);
         },
     .needs = "more requests in flight than one training batch need rl_partial_rollouts",
     .fixes = {{{K::rl_partial_rollouts, true}}, {{K::rl_max_inflight_requests, kUnset}}}},
    {.id = "mlm.rl-lag-derived",
     .area = "rl",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 540},
     .source = "Megatron-LM:megatron/training/arguments.py:540",
     .core = {kMain, kMain},
     .reads = {K::rl_generation_lag, K::rl_max_inflight_requests},
     .change = [](Editor& e) { DeriveLag(e); }},
    {.id = "mlm.rl-lag-min",
     .area = "rl",
     .at = {Phase::kCliValidate, 546},
     .source = "Megatron-LM:megatron/training/arguments.py:546",
     .core = {kMain, kMain},
     .reads = {K::rl_generation_lag},
     .when = [](F f) { return Rl(f) && f.set(K::rl_generation_lag) && f.real(K::rl_generation_lag) < -1; },
     .needs = "rl_generation_lag must be at least -1",
     .fixes = {{{K::rl_generation_lag, 0}}}},
    {.id = "mlm.rl-lag-partial",
     .area = "rl",
     .at = {Phase::kCliValidate, 549},
     .source = "Megatron-LM:megatron/training/arguments.py:549",
     .core = {17, kMain},
     .reads = {K::rl_generation_lag, K::rl_partial_rollouts},
     .when =
         [](F f) {
           return Rl(f) &&
                  (f.core(19) ? f.real(K::rl_generation_lag) > 0 : f.on(K::rl_num_parallel_generation_batches)) &&
                  !f.on(K::rl_partial_rollouts);
         },
     .needs = "rl_generation_lag above 0 needs rl_partial_rollouts",
     .fixes = {{{K::rl_partial_rollouts, true}}}},
    {.id = "mlm.rl-submission",
     .area = "rl",
     .at = {Phase::kCliValidate, 551},
     .source = "Megatron-LM:megatron/training/arguments.py:551",
     .core = {kMain, kMain},
     .reads = {K::rl_submission_granularity, K::rl_partial_rollouts},
     .when = [](F f) { return Rl(f) && !f.is(K::rl_submission_granularity, "B") && !f.on(K::rl_partial_rollouts); },
     .needs = "rl_submission_granularity other than B needs rl_partial_rollouts",
     .fixes = {{{K::rl_submission_granularity, "B"}}, {{K::rl_partial_rollouts, true}}}},
    {.id = "mlm.rl-submit-granularity",
     .area = "rl",
     .at = {Phase::kCliValidate, 552},
     .source = "Megatron-LM:megatron/training/arguments.py:552",
     .core = {19, 19},
     .reads = {K::rl_submission_granularity, K::rl_partial_rollouts},
     .when =
         [](F f) {
           return Rl(f) && f.on(K::rl_submission_granularity) && !f.is(K::rl_submission_granularity, "B") &&
                  !f.on(K::rl_partial_rollouts);
         },
     .needs = "this submission granularity needs rl_partial_rollouts",
     .fixes = {{{K::rl_partial_rollouts, true}}}},
    {.id = "mlm.rl-consumption",
     .area = "rl",
     .at = {Phase::kCliValidate, 554},
     .source = "Megatron-LM:megatron/training/arguments.py:554",
     .core = {19, kMain},
     .reads = {K::rl_consumption_granularity},
     .when = [](F f) { return Rl(f) && f.is(K::rl_consumption_granularity, "R"); },
     .needs = "rl_consumption_granularity R is not supported",
     .fixes = {{{K::rl_consumption_granularity, "B"}}}},
    {.id = "mlm.rl-submission-consumption",
     .area = "rl",
     .at = {Phase::kCliValidate, 556},
     .source = "Megatron-LM:megatron/training/arguments.py:556",
     .core = {19, kMain},
     .reads = {K::rl_submission_granularity, K::rl_consumption_granularity},
     .when =
         [](F f) {
           return Rl(f) && f.is(K::rl_submission_granularity, "B") && f.is(K::rl_consumption_granularity, "G");
         },
     .needs = "submission B with consumption G is not supported",
     .fixes = {{{K::rl_consumption_granularity, "B"}}}},
    {.id = "mlm.rl-packing-mbs",
     .area = "rl",
     .at = {Phase::kCliValidate, 564},
     .source = "Megatron-LM:megatron/training/arguments.py:564",
     .reads = {K::rl_use_sequence_packing, K::micro_batch_size},
     .when = [](F f) { return Rl(f) && f.on(K::rl_use_sequence_packing) && f.num(K::micro_batch_size) != 1; },
     .needs = "sequence packing needs micro_batch_size 1",
     .fixes = {{{K::micro_batch_size, 1}}, {{K::rl_use_sequence_packing, false}}}},
    {.id = "mlm.rl-gbs",
     .area = "rl",
     .at = {Phase::kCliValidate, 727},
     .source = "Megatron-LM:megatron/training/arguments.py:727",
     .reads = {K::grpo_prompts_per_step, K::grpo_group_size, K::grpo_iterations, K::global_batch_size},
     .when =
         [](F f) {
           return Rl(f) && f.set(K::global_batch_size) &&
                  !(Samples(f).has_value() && Divisible(*Samples(f), f.num(K::global_batch_size)));
         },
     .needs = "the samples of one generation must be a multiple of global_batch_size",
     .fix = [](F f) -> std::vector<Patch> {
       return {{Assign(K::global_batch_size, Samples(f).value_or(1)), Assign(K::eval_global_batch_size, Value())}};
     }},
    {.id = "mlm.rl-exit-interval",
     .area = "rl",
     .at = {Phase::kCliValidate, 735},
     .source = "Megatron-LM:megatron/training/arguments.py:735",
     .reads = {K::exit_interval},
     .when = [](F f) { return Rl(f) && f.set(K::exit_interval) && !Divisible(f.num(K::exit_interval), Batches(f)); },
     .needs = "exit_interval must be a multiple of the batches of one generation",
     .fixes = {{{K::exit_interval, kUnset}}}},
    {.id = "mlm.rl-save-interval",
     .area = "rl",
     .at = {Phase::kCliValidate, 738},
     .source = "Megatron-LM:megatron/training/arguments.py:738",
     .reads = {K::save_interval},
     .when = [](F f) { return Rl(f) && f.set(K::save_interval) && !Divisible(f.num(K::save_interval), Batches(f)); },
     .needs = "save_interval must be a multiple of the batches of one generation",
     .fixes = {{{K::save_interval, kUnset}}}},
    {.id = "mlm.rl-skip-train-offload",
     .area = "rl",
     .at = {Phase::kCliValidate, 1879},
     .source = "Megatron-LM:megatron/training/arguments.py:1879",
     .core = {17, kMain},
     .reads = {K::skip_train, K::no_load_optim, K::rl_offload_optimizer_during_inference},
     .when =
         [](F f) {
           return Rl(f) && f.on(K::skip_train) && f.on(K::no_load_optim) &&
                  f.on(K::rl_offload_optimizer_during_inference);
         },
     .needs = "without an optimizer there is none to offload",
     .fixes = {{{K::rl_offload_optimizer_during_inference, false}}}},
    {.id = "mlm.rl-parallel-xor-tasks",
     .area = "rl",
     .at = {Phase::kCliValidate, 560},
     .source = "Megatron-LM:megatron/training/arguments.py:560",
     .core = {17, 18},
     .reads = {K::rl_num_parallel_generations, K::rl_parallel_generation_tasks},
     .when =
         [](F f) { return Rl(f) && f.set(K::rl_num_parallel_generations) && f.set(K::rl_parallel_generation_tasks); },
     .needs = "rl_num_parallel_generations and rl_parallel_generation_tasks exclude each other",
     .fixes = {{{K::rl_num_parallel_generations, kUnset}}}},
    {.id = "mlm.rl-parallel-xor-batches",
     .area = "rl",
     .at = {Phase::kCliValidate, 561},
     .source = "Megatron-LM:megatron/training/arguments.py:561",
     .core = {17, 18},
     .reads = {K::rl_num_parallel_generations, K::rl_num_parallel_generation_batches},
     .when =
         [](F f) {
           return Rl(f) && f.set(K::rl_num_parallel_generations) && f.set(K::rl_num_parallel_generation_batches);
         },
     .needs = "rl_num_parallel_generations and rl_num_parallel_generation_batches exclude each other",
     .fixes = {{{K::rl_num_parallel_generations, kUnset}}}},
    {.id = "mlm.rl-parallel-partial",
     .area = "rl",
     .at = {Phase::kCliValidate, 562},
     .source = "Megatron-LM:megatron/training/arguments.py:562",
     .core = {17, 18},
     .reads = {K::rl_num_parallel_generations, K::rl_partial_rollouts},
     .when = [](F f) { return Rl(f) && f.on(K::rl_num_parallel_generations) && !f.on(K::rl_partial_rollouts); },
     .needs = "rl_num_parallel_generations needs rl_partial_rollouts",
     .fixes = {{{K::rl_partial_rollouts, true}}}},
    {.id = "mlm.rl-parallel-group",
     .area = "rl",
     .at = {Phase::kCliValidate, 563},
     .source = "Megatron-LM:megatron/training/arguments.py:563",
     .core = {17, 18},
     .reads = {K::rl_num_parallel_generations, K::grpo_group_size},
     .when =
         [](F f) {
           return Rl(f) && f.on(K::rl_num_parallel_generations) &&
                  !Divisible(f.num(K::rl_num_parallel_generations), f.num(K::grpo_group_size));
         },
     .needs = "rl_num_parallel_generations must be a multiple of grpo_group_size",
     .fixes = {{{K::rl_num_parallel_generations, kUnset}}}},
    {.id = "mlm.rl-kv-offload-saver",
     .area = "rl",
     .at = {Phase::kCliValidate, 565},
     .source = "Megatron-LM:megatron/training/arguments.py:565",
     .core = {0, 16},
     .reads = {K::rl_offload_kv_cache_during_training},
     .when =
         [](F f) { return f.on(K::rl_offload_kv_cache_during_training) && PackageMissing(f, "torch_memory_saver"); },
     .needs = "offloading the key-value cache needs torch_memory_saver",
     .fixes = {{{K::rl_offload_kv_cache_during_training, false}}}},
    {.id = "mlm.rl-kv-offload-uvm-old",
     .area = "rl",
     .at = {Phase::kCliValidate, 566},
     .source = "Megatron-LM:megatron/training/arguments.py:566",
     .core = {0, 16},
     .reads = {K::rl_offload_kv_cache_during_training, K::inference_dynamic_batching_unified_memory_level},
     .when = [](F f) { return f.on(K::rl_offload_kv_cache_during_training) && Uvm(f); },
     .needs = "offloading the key-value cache excludes unified memory",
     .fixes = {{{K::rl_offload_kv_cache_during_training, false}}}},
    {.id = "mlm.rl-kv-remove-xor-offload",
     .area = "rl",
     .at = {Phase::kCliValidate, 567},
     .source = "Megatron-LM:megatron/training/arguments.py:567",
     .core = {0, 16},
     .reads = {K::rl_remove_kv_cache_during_training, K::rl_offload_kv_cache_during_training},
     .when =
         [](F f) {
           return Rl(f) && f.on(K::rl_remove_kv_cache_during_training) && f.on(K::rl_offload_kv_cache_during_training);
         },
     .needs = "removing and offloading the key-value cache exclude each other",
     .fixes = {{{K::rl_offload_kv_cache_during_training, false}}}},
    {.id = "mlm.rl-partial-remove-kv",
     .area = "rl",
     .at = {Phase::kCliValidate, 568},
     .source = "Megatron-LM:megatron/training/arguments.py:568",
     .core = {0, 16},
     .reads = {K::rl_partial_rollouts, K::rl_remove_kv_cache_during_training},
     .when = [](F f) { return Rl(f) && f.on(K::rl_partial_rollouts) && f.on(K::rl_remove_kv_cache_during_training); },
     .needs = "partial rollouts need the key-value cache to stay",
     .fixes = {{{K::rl_remove_kv_cache_during_training, false}}}},
    {.id = "mlm.rl-idle-offload-level",
     .area = "rl",
     .at = {Phase::kCliValidate, 569},
     .source = "Megatron-LM:megatron/training/arguments.py:569",
     .core = {0, 16},
     .reads = {K::rl_offload_inference_model_weights_when_idle, K::rl_inference_model_unified_memory_level},
     .when =
         [](F f) {
           return Rl(f) && f.on(K::rl_offload_inference_model_weights_when_idle) &&
                  f.num(K::rl_inference_model_unified_memory_level) != 1;
         },
     .needs = "offloading idle weights needs unified memory level 1",
     .fixes = {{{K::rl_inference_model_unified_memory_level, 1}}}},
    {.id = "mlm.rl-refit-legacy-gg",
     .area = "rl",
     .at = {Phase::kCliValidate, 570},
     .source = "Megatron-LM:megatron/training/arguments.py:570",
     .core = {0, 16},
     .reads = {K::rl_inference_expert_model_parallel_size, K::moe_use_legacy_grouped_gemm},
     .when =
         [](F f) {
           return Rl(f) && f.set(K::rl_inference_expert_model_parallel_size) &&
                  f.value(K::rl_inference_expert_model_parallel_size) != f.value(K::expert_model_parallel_size) &&
                  f.on(K::moe_use_legacy_grouped_gemm);
         },
     .needs = "another expert parallel size for inference excludes the legacy grouped GEMM",
     .fixes = {{{K::moe_use_legacy_grouped_gemm, false}}}},
};

}  // namespace

RuleList MegatronLmRlRules() { return kRules; }

}  // namespace flightplan
