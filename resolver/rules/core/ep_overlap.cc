// Overlap of the expert all-to-all with compute (1F1B), and delayed weight gradients.
#include "resolver/rules/core/graph_util.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/core/upstream.h"
#include "resolver/rules/flex_dispatcher.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Overlap(F f) { return f.on(K::overlap_moe_expert_parallel_comm); }

// Without the overlap its dependants must go too.
constexpr StaticPatch kOverlapOff = {{K::overlap_moe_expert_parallel_comm, false},
                                     {K::delay_wgrad_compute, false},
                                     {K::ep_overlap_early_attn_memory_release, false}};

bool CapturedWithOverlap(F f) {
  if (!Overlap(f) || !f.core(16) || !GraphsOn(f)) return false;
  if (GraphImpl(f, "transformer_engine")) return Captures(f, "moe") || Captures(f, "mlp");
  // Up to core 0.17 the overlap took Transformer Engine's graphs only.
  return !f.core(18);
}

const Rule kRules[] = {
    {.id = "ep-overlap.torch-2.6",
     .area = "version-gate",
     TRANSFORMER_CONFIG(3004),
     .reads = {K::overlap_moe_expert_parallel_comm},
     .reads_env = {"torch"},
     .when = [](F f) { return Overlap(f) && !f.torch_at_least("2.6.0"); },
     .needs = "the all-to-all overlap hangs with torch older than 2.6.0",
     .fixes = {kOverlapOff}},
    {.id = "ep-overlap.requires-vpp-with-pp",
     .area = "ep-overlap",
     TRANSFORMER_CONFIG(3008),
     .reads = {K::overlap_moe_expert_parallel_comm, K::pipeline_model_parallel_size,
               K::virtual_pipeline_model_parallel_size},
     .when =
         [](F f) {
           return Overlap(f) && f.num(K::pipeline_model_parallel_size) > 1 &&
                  f.none(K::virtual_pipeline_model_parallel_size);
         },
     .needs = "with a pipeline the overlap pairs virtual stages: virtual_pipeline_model_parallel_size must be set",
     .fixes = {kOverlapOff},
     .fix = [](F f) -> std::vector<Patch> {
       if (f.on(K::use_megatron_fsdp) || f.on(K::dist_use_megatron_fsdp))
         return {};  // with it the overlap's schedule does not interleave
       return {{Assign(K::virtual_pipeline_model_parallel_size, 2)}};
     }},
    {.id = "ep-overlap.requires-ep",
     .area = "ep-overlap",
     TRANSFORMER_CONFIG(3013),
     .reads = {K::overlap_moe_expert_parallel_comm, K::expert_model_parallel_size},
     .when = [](F f) { return Overlap(f) && f.num(K::expert_model_parallel_size) <= 1; },
     .needs = "there is an all-to-all to overlap only with expert parallelism",
     .fixes = {kOverlapOff}},
    {.id = "ep-overlap.dispatcher",
     .area = "ep-overlap",
     TRANSFORMER_CONFIG(3016),
     .reads = {K::overlap_moe_expert_parallel_comm, K::moe_token_dispatcher_type},
     .when =
         [](F f) {
           return Overlap(f) && !f.in(K::moe_token_dispatcher_type, {"alltoall", "flex"});
         },
     .needs = "the overlap works with the alltoall and flex dispatchers",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"}}, kOverlapOff}},
    {.id = "ep-overlap.no-full-recompute",
     .area = "ep-overlap",
     TRANSFORMER_CONFIG(3021),
     .reads = {K::overlap_moe_expert_parallel_comm, K::recompute_granularity},
     .when = [](F f) { return Overlap(f) && f.is(K::recompute_granularity, "full"); },
     .needs = "the overlap splits a layer into parts and cannot recompute it as a whole; recompute selected modules",
     .fixes = {{{K::recompute_granularity, "selective"},
                {K::recompute_method, kUnset},
                {K::recompute_num_layers, kUnset}},
               kOverlapOff}},
    {.id = "ep-overlap.no-recompute-method",
     .area = "ep-overlap",
     TRANSFORMER_CONFIG(3024),
     .reads = {K::overlap_moe_expert_parallel_comm, K::recompute_method},
     .when = [](F f) { return Overlap(f) && f.set(K::recompute_method); },
     .needs = "recompute_method belongs to full recompute, which the overlap excludes",
     .fix =
         [](F f) {
           Patch patch = {Assign(K::recompute_method, Value()), Assign(K::recompute_num_layers, Value())};
           if (f.is(K::recompute_granularity, "full")) patch.push_back(Assign(K::recompute_granularity, "selective"));
           return std::vector<Patch>{patch};
         }},
    {.id = "ep-overlap.no-recompute-num-layers",
     .area = "ep-overlap",
     TRANSFORMER_CONFIG(3027),
     .reads = {K::overlap_moe_expert_parallel_comm, K::recompute_num_layers},
     .when = [](F f) { return Overlap(f) && f.set(K::recompute_num_layers); },
     .needs = "recompute_num_layers belongs to full recompute, which the overlap excludes",
     .fix =
         [](F f) {
           Patch patch = {Assign(K::recompute_num_layers, Value())};
           if (f.set(K::recompute_method)) patch.push_back(Assign(K::recompute_method, Value()));
           if (f.is(K::recompute_granularity, "full")) patch.push_back(Assign(K::recompute_granularity, "selective"));
           return std::vector<Patch>{patch};
         }},
    {.id = "ep-overlap.no-moe-recompute",
     .area = "ep-overlap",
     TRANSFORMER_CONFIG(3030),
     .core = {.since = 17},
     .reads = {K::overlap_moe_expert_parallel_comm, K::recompute_modules},
     .when = [](F f) { return Overlap(f) && f.has(K::recompute_modules, "moe"); },
     .needs = "the overlap splits the MoE layer and cannot recompute it as a whole (checked even with recompute off)",
     .fix =
         [](F f) {
           Patch patch = {Assign(K::recompute_modules, Without(f.value(K::recompute_modules), {"moe"}))};
           // The old switch would add 'moe' again.
           if (f.on(K::moe_layer_recompute)) patch.push_back(Assign(K::moe_layer_recompute, false));
           return std::vector<Patch>{patch};
         }},
    {.id = "ep-overlap.precision",
     .area = "ep-overlap",
     TRANSFORMER_CONFIG(3035),
     .reads = {K::overlap_moe_expert_parallel_comm, K::bf16, K::fp16},
     .when = [](F f) { return Overlap(f) && !f.on(K::bf16) && !f.on(K::fp16); },
     .needs = "the overlap works for bf16 and fp16 models",
     .fixes = {kOverlapOff, {{K::bf16, true}}}},
    {.id = "ep-overlap.no-shared-expert-overlap",
     .area = "ep-overlap",
     TRANSFORMER_CONFIG(3039),
     .reads = {K::overlap_moe_expert_parallel_comm, K::moe_shared_expert_overlap},
     .when = [](F f) { return Overlap(f) && f.on(K::moe_shared_expert_overlap); },
     .needs = "both overlaps would hide work behind the same all-to-all; use one",
     .fixes = {{{K::moe_shared_expert_overlap, false}}, kOverlapOff}},
    {.id = "ep-overlap.mtp-at-most-one",
     .area = "ep-overlap",
     TRANSFORMER_CONFIG(3042),
     .reads = {K::overlap_moe_expert_parallel_comm, K::mtp_num_layers},
     .when =
         [](F f) {
           const int64_t layers = f.num(K::mtp_num_layers);
           // Up to core 0.18 an explicit 0 was refused too.
           const bool fits = f.none(K::mtp_num_layers) || layers == 1 || (layers == 0 && f.core(19));
           return Overlap(f) && !fits;
         },
     .needs = "the overlap schedules at most one multi-token-prediction layer",
     .fix =
         [](F f) {
           if (f.num(K::mtp_num_layers) == 0) return std::vector<Patch>{{Assign(K::mtp_num_layers, Value())}};
           return std::vector<Patch>{{Assign(K::overlap_moe_expert_parallel_comm, false),
                                      Assign(K::delay_wgrad_compute, false),
                                      Assign(K::ep_overlap_early_attn_memory_release, false)}};
         }},
    {.id = "ep-overlap.mtp-needs-pp",
     .area = "ep-overlap",
     OLDER_TRANSFORMER_CONFIG("0.17.1", 2138, 3047),
     .core = {.since = 16, .until = 17},
     .reads = {K::overlap_moe_expert_parallel_comm, K::mtp_num_layers, K::pipeline_model_parallel_size},
     .when =
         [](F f) { return Overlap(f) && f.num(K::mtp_num_layers) == 1 && f.num(K::pipeline_model_parallel_size) <= 1; },
     .needs = "before core 0.18 the overlap schedules a prediction layer only in a pipeline",
     .fixes = {kOverlapOff}},
    {.id = "ep-overlap.ncclep-dynamic-shape",
     .area = "ep-overlap",
     .kind = Kind::kWarning,
     OLDER_TRANSFORMER_CONFIG("0.19.0", 2722, 3050),
     .core = {.since = 19, .until = 19},
     .reads = {K::overlap_moe_expert_parallel_comm, K::moe_flex_dispatcher_backend, K::moe_ncclep_static_shape},
     .when = [](F f) { return Overlap(f) && FlexBackend(f, "ncclep") && !f.on(K::moe_ncclep_static_shape); },
     .needs = "without static shapes the dispatch waits for the host, which the overlap cannot hide"},
    {.id = "ep-overlap.ncclep-offload-fc1",
     .area = "ep-overlap",
     TRANSFORMER_CONFIG(3054),
     .core = {.since = 19},
     .reads = {K::overlap_moe_expert_parallel_comm, K::moe_flex_dispatcher_backend, K::offload_modules},
     .when =
         [](F f) {
           return Overlap(f) && FlexBackend(f, "ncclep") && f.on(K::fine_grained_activation_offloading) &&
                  f.has(K::offload_modules, "expert_fc1");
         },
     .needs = "with ncclep the overlap frees the expert input that offloading would save",
     .fix =
         [](F f) {
           const Value kept = Without(f.value(K::offload_modules), {"expert_fc1"});
           Patch patch = {Assign(K::offload_modules, kept)};
           if (kept.list().empty()) patch.push_back(Assign(K::fine_grained_activation_offloading, false));
           return std::vector<Patch>{patch};
         }},
    {.id = "ep-overlap.cuda-graph-modules",
     .area = "ep-overlap",
     TRANSFORMER_CONFIG(3065),
     .core = {.since = 16},
     .reads = {K::overlap_moe_expert_parallel_comm, K::cuda_graph_impl, K::cuda_graph_modules, K::cuda_graph_scope},
     .when = CapturedWithOverlap,
     .needs = "the overlap interleaves moe and mlp with communication, so they cannot be captured",
     .fix =
         [](F f) {
           if (!GraphImpl(f, "transformer_engine")) return std::vector<Patch>{GraphsOff(f)};
           return std::vector<Patch>{DropGraphModules(f, {"moe", "mlp"})};
         }},
    {.id = "delay-wgrad.requires-ep-overlap",
     .area = "delay-wgrad",
     TRANSFORMER_CONFIG(3075),
     .reads = {K::delay_wgrad_compute, K::overlap_moe_expert_parallel_comm},
     .when = [](F f) { return f.on(K::delay_wgrad_compute) && !Overlap(f); },
     .needs = "weight gradients are delayed to fill the all-to-all overlap",
     .fixes = {{{K::delay_wgrad_compute, false}}}},
    {.id = "delay-wgrad.no-legacy-gg",
     .area = "delay-wgrad",
     OLDER_TRANSFORMER_CONFIG("0.16.1", 1913, 3076),
     .core = {.since = 15, .until = 16},
     .reads = {K::delay_wgrad_compute, K::moe_use_legacy_grouped_gemm},
     .when = [](F f) { return f.on(K::delay_wgrad_compute) && f.on(K::moe_use_legacy_grouped_gemm); },
     .needs = "delayed weight gradients need the Transformer Engine grouped GEMM",
     .fixes = {{{K::moe_use_legacy_grouped_gemm, false}}, {{K::delay_wgrad_compute, false}}}},
    {.id = "delay-wgrad.cuda-graph-te-2.10",
     .area = "version-gate",
     TRANSFORMER_CONFIG(3079),
     .core = {.since = 16},
     .reads = {K::delay_wgrad_compute, K::cuda_graph_impl},
     .reads_env = {"te"},
     .when =
         [](F f) {
           return f.on(K::delay_wgrad_compute) && GraphImpl(f, "transformer_engine") && !f.te_at_least("2.10.0");
         },
     .needs = "delayed weight gradients with partial CUDA graphs need Transformer Engine 2.10.0",
     .fixes = {{{K::delay_wgrad_compute, false}}}},
    {.id = "dispatch-bwd-overlap.vs-ep-overlap",
     .area = "delay-wgrad",
     TRANSFORMER_CONFIG(3085),
     .core = {.since = 18},
     .reads = {K::overlap_dispatch_backward_with_experts_wgrad, K::overlap_moe_expert_parallel_comm},
     .when = [](F f) { return f.on(K::overlap_dispatch_backward_with_experts_wgrad) && Overlap(f); },
     .needs = "both overlaps use the expert weight gradients; use one",
     .fixes = {{{K::overlap_dispatch_backward_with_experts_wgrad, false}}}},
    {.id = "dispatch-bwd-overlap.te-2.3",
     .area = "version-gate",
     TRANSFORMER_CONFIG(3089),
     .core = {.since = 18},
     .reads = {K::overlap_dispatch_backward_with_experts_wgrad},
     .reads_env = {"te"},
     .when = [](F f) { return f.on(K::overlap_dispatch_backward_with_experts_wgrad) && !f.te_at_least("2.3.0"); },
     .needs = "overlapping the dispatch backward needs Transformer Engine 2.3.0",
     .fixes = {{{K::overlap_dispatch_backward_with_experts_wgrad, false}}}},
    {.id = "dispatch-bwd-overlap.vs-delay-wgrad",
     .area = "delay-wgrad",
     TRANSFORMER_CONFIG(3092),
     .core = {.since = 18},
     .reads = {K::overlap_dispatch_backward_with_experts_wgrad, K::delay_wgrad_compute},
     .when = [](F f) { return f.on(K::overlap_dispatch_backward_with_experts_wgrad) && f.on(K::delay_wgrad_compute); },
     .needs = "expert weight gradients are either delayed or run beside the dispatch backward",
     .fixes = {{{K::overlap_dispatch_backward_with_experts_wgrad, false}}}},
    {.id = "ep-overlap.early-release-needs-overlap",
     .area = "ep-overlap",
     TRANSFORMER_CONFIG(3098),
     .core = {.since = 16},
     .reads = {K::ep_overlap_early_attn_memory_release, K::overlap_moe_expert_parallel_comm},
     .when = [](F f) { return f.on(K::ep_overlap_early_attn_memory_release) && !Overlap(f); },
     .needs = "early release of attention memory is part of the all-to-all overlap",
     .fixes = {{{K::ep_overlap_early_attn_memory_release, false}}}},
};

}  // namespace

RuleList CoreEpOverlapRules() { return kRules; }

}  // namespace flightplan
