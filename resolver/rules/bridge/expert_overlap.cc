// The overlap of the expert all-to-all with compute, and delayed weight gradients: what CommOverlapConfig checks of
// them, and the Energon guard that runs before it, whose numbers are low. Lines are those of
// NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/comm_overlap.py.
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/base/integers.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/rules/bridge/graph_modules_util.h"
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr K kOverlapFields[] = {K::overlap_moe_expert_parallel_comm, K::delay_wgrad_compute,
                                K::comm_overlap_overlap_moe_expert_parallel_comm, K::comm_overlap_delay_wgrad_compute};

bool EpOverlap(F f) {
  return CommOverlapConfigured(f.config()) && f.on(K::comm_overlap_overlap_moe_expert_parallel_comm);
}
bool DelayWgrad(F f) { return CommOverlapConfigured(f.config()) && f.on(K::comm_overlap_delay_wgrad_compute); }
// 0.4 compares enum members with names and so never finds one that was given as text.
bool AttnInGraph(F f) { return f.bridge(5) && HasGraphModule(f, "attn"); }
bool WgradInGraph(F f) {
  return AttnInGraph(f) || (f.bridge(5) && HasGraphModule(f, "moe_router") &&
                            f.set(K::moe_shared_expert_intermediate_size) && !f.on(K::moe_shared_expert_overlap));
}

constexpr StaticPatch kEpOverlapOff = {{K::comm_overlap_overlap_moe_expert_parallel_comm, false},
                                       {K::comm_overlap_delay_wgrad_compute, false}};
// The overlap and what exists only together with it.
std::vector<Patch> EpOverlapOff(F f) {
  Patch patch = {Assign(K::comm_overlap_overlap_moe_expert_parallel_comm, false)};
  if (f.on(K::comm_overlap_delay_wgrad_compute)) patch.push_back(Assign(K::comm_overlap_delay_wgrad_compute, false));
  if (f.on(K::ep_overlap_early_attn_memory_release)) {
    patch.push_back(Assign(K::ep_overlap_early_attn_memory_release, false));
  }
  return {patch};
}
constexpr StaticPatch kDelayWgradOff = {{K::comm_overlap_delay_wgrad_compute, false}};

Value WithoutModule(const Value& modules, absl::string_view name) {
  Value::List kept;
  for (const Value& item : modules.list()) {
    if (item.text() != name) kept.push_back(item);
  }
  return Value(std::move(kept));
}

const Rule kRules[] = {
    {.id = "energon-packing.ep-overlap-off",
     .area = "ep-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, 3},
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1250",
     .bridge = {.since = kMain},
     .reads = {K::dataset_packing_buffer_size, K::comm_overlap_overlap_moe_expert_parallel_comm,
               K::comm_overlap_delay_wgrad_compute, K::overlap_moe_expert_parallel_comm, K::delay_wgrad_compute},
     .change =
         [](Editor& e) {
           if (!NativeEnergonPacking(e.facts())) return;
           bool asked = false;
           for (K field : kOverlapFields) asked = asked || e.facts().on(field);
           if (!asked) return;
           for (K field : kOverlapFields) {
             const bool of_section = Row(field).section == Section::kCommOverlap;
             if (!of_section || CommOverlapConfigured(e.facts().config())) e.Set(field, false);
           }
         }},
    {.id = "bridge-ep-overlap.requires-ep",
     .area = "ep-overlap",
     .at = {Phase::kCommOverlap, 479},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:479",
     .reads = {K::comm_overlap_overlap_moe_expert_parallel_comm, K::expert_model_parallel_size},
     .when = [](F f) { return EpOverlap(f) && f.num(K::expert_model_parallel_size) <= 1; },
     .needs = "there is an all-to-all to overlap only with expert parallelism",
     .fix = EpOverlapOff},
    {.id = "bridge-ep-overlap.requires-moe",
     .area = "ep-overlap",
     .at = {Phase::kCommOverlap, 482},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:482",
     .reads = {K::comm_overlap_overlap_moe_expert_parallel_comm, K::num_moe_experts},
     .when = [](F f) { return EpOverlap(f) && f.num(K::num_moe_experts) <= 1; },
     .needs = "the model has more than one expert",
     .fix = EpOverlapOff},
    {.id = "bridge-ep-overlap.dispatcher",
     .area = "ep-overlap",
     .at = {Phase::kCommOverlap, 486},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:486",
     .reads = {K::comm_overlap_overlap_moe_expert_parallel_comm, K::moe_token_dispatcher_type},
     .when =
         [](F f) {
           return EpOverlap(f) && !f.in(K::moe_token_dispatcher_type, {"alltoall", "flex"});
         },
     .needs = "the token dispatcher is 'alltoall' or 'flex'",
     .fixes = {{{K::moe_token_dispatcher_type, "alltoall"}}, kEpOverlapOff}},
    {.id = "bridge-ep-overlap.precision",
     .area = "ep-overlap",
     .at = {Phase::kCommOverlap, 490},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:490",
     .reads = {K::comm_overlap_overlap_moe_expert_parallel_comm, K::bf16, K::fp16},
     .when = [](F f) { return EpOverlap(f) && !f.on(K::bf16) && !f.on(K::fp16); },
     .needs = "the model runs in bf16 or fp16 once the precision recipe is applied",
     .fixes = {{{K::mixed_precision_recipe, "bf16_mixed"}}},
     .fix = EpOverlapOff},
    {.id = "bridge-ep-overlap.torch-2.6",
     .area = "version-gate",
     .at = {Phase::kCommOverlap, 493},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:493",
     .reads = {K::comm_overlap_overlap_moe_expert_parallel_comm},
     .reads_env = {"torch"},
     .when = [](F f) { return EpOverlap(f) && !f.torch_at_least("2.6.0"); },
     .needs = "all-to-all overlap hangs with torch before 2.6",
     .fix = EpOverlapOff},
    {.id = "bridge-ep-overlap.requires-vpp-with-pp",
     .area = "ep-overlap",
     .at = {Phase::kCommOverlap, 495},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:495",
     .reads = {K::comm_overlap_overlap_moe_expert_parallel_comm, K::pipeline_model_parallel_size,
               K::virtual_pipeline_model_parallel_size},
     .when =
         [](F f) {
           return EpOverlap(f) && f.num(K::pipeline_model_parallel_size) > 1 &&
                  f.none(K::virtual_pipeline_model_parallel_size);
         },
     .needs = "with PP > 1 the virtual pipeline size is written out (a layout string is read only later)",
     .fix =
         [](F f) {  // Megatron-FSDP holds one chunk per rank, so there only the overlap can go
           const bool fsdp = f.on(K::use_megatron_fsdp) || f.on(K::dist_use_megatron_fsdp);
           std::vector<Patch> patches = EpOverlapOff(f);
           const int64_t of_layout = FloorDiv(f.layout_stages().value_or(0), f.num(K::pipeline_model_parallel_size));
           const int64_t size = of_layout > 1 ? of_layout : 2;
           if (!fsdp) patches.insert(patches.begin(), {Assign(K::virtual_pipeline_model_parallel_size, size)});
           return patches;
         }},
    {.id = "bridge-ep-overlap.no-full-recompute",
     .area = "ep-overlap",
     .at = {Phase::kCommOverlap, 499},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:499",
     .reads = {K::comm_overlap_overlap_moe_expert_parallel_comm, K::recompute_granularity},
     .when = [](F f) { return EpOverlap(f) && f.is(K::recompute_granularity, "full"); },
     .needs = "recompute is selective or off",
     .fixes = {{{K::recompute_granularity, "selective"},
                {K::recompute_method, kUnset},
                {K::recompute_num_layers, kUnset}},
               kEpOverlapOff}},
    {.id = "bridge-ep-overlap.no-recompute-method",
     .area = "ep-overlap",
     .at = {Phase::kCommOverlap, 502},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:502",
     .reads = {K::comm_overlap_overlap_moe_expert_parallel_comm, K::recompute_method},
     .when = [](F f) { return EpOverlap(f) && f.set(K::recompute_method); },
     .needs = "recompute_method belongs to full recompute and stays unset",
     .fixes = {{{K::recompute_method, kUnset}, {K::recompute_num_layers, kUnset}}}},
    {.id = "bridge-ep-overlap.no-recompute-num-layers",
     .area = "ep-overlap",
     .at = {Phase::kCommOverlap, 505},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:505",
     .reads = {K::comm_overlap_overlap_moe_expert_parallel_comm, K::recompute_num_layers},
     .when = [](F f) { return EpOverlap(f) && f.set(K::recompute_num_layers); },
     .needs = "recompute_num_layers belongs to full recompute and stays unset",
     .fixes = {{{K::recompute_num_layers, kUnset}}}},
    {.id = "bridge-ep-overlap.no-moe-recompute",
     .area = "ep-overlap",
     .at = {Phase::kCommOverlap, 510},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:510",
     .bridge = {.since = 6},
     .reads = {K::comm_overlap_overlap_moe_expert_parallel_comm, K::recompute_modules},
     .when = [](F f) { return EpOverlap(f) && f.has(K::recompute_modules, "moe"); },
     .needs = "the MoE layer is not recomputed as a whole",
     .fixes = {kEpOverlapOff},
     .fix =
         [](F f) {
           return std::vector<Patch>{
               {Assign(K::recompute_modules, WithoutModule(f.value(K::recompute_modules), "moe"))}};
         }},
    {.id = "bridge-ep-overlap.no-shared-expert-overlap",
     .area = "ep-overlap",
     .at = {Phase::kCommOverlap, 513},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:513",
     .reads = {K::comm_overlap_overlap_moe_expert_parallel_comm, K::moe_shared_expert_overlap},
     .when = [](F f) { return EpOverlap(f) && f.on(K::moe_shared_expert_overlap); },
     .needs = "shared experts overlap by themselves or under the all-to-all schedule, not both",
     .fixes = {{{K::moe_shared_expert_overlap, false}}, kEpOverlapOff}},
    {.id = "bridge-ep-overlap.mtp-at-most-one",
     .area = "ep-overlap",
     .at = {Phase::kCommOverlap, 516},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:516",
     .reads = {K::comm_overlap_overlap_moe_expert_parallel_comm, K::mtp_num_layers},
     .when =
         [](F f) {
           const bool zero_counts = !f.bridge(6);  // 0.4 and 0.5 let only "unset" and 1 pass
           return EpOverlap(f) && f.set(K::mtp_num_layers) && f.num(K::mtp_num_layers) != 1 &&
                  (zero_counts || f.num(K::mtp_num_layers) != 0);
         },
     .needs = "there is at most one MTP layer",
     .fix = EpOverlapOff},
    {.id = "bridge-delay-wgrad.grad-reduce-te-2.7",
     .area = "version-gate",
     .at = {Phase::kCommOverlap, 522},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:522",
     .reads = {K::comm_overlap_delay_wgrad_compute, K::overlap_grad_reduce, K::comm_overlap_overlap_grad_reduce},
     .reads_env = {"te"},
     .when =
         [](F f) {
           return DelayWgrad(f) && (f.on(K::overlap_grad_reduce) || f.on(K::comm_overlap_overlap_grad_reduce)) &&
                  !f.te_at_least("2.7.0");
         },
     .needs = "delayed weight gradients with overlapped gradient reduction need Transformer Engine 2.7",
     .fixes = {kDelayWgradOff}},
    {.id = "bridge-delay-wgrad.gaf-te-2.7",
     .area = "version-gate",
     .at = {Phase::kCommOverlap, 527},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:527",
     .reads = {K::comm_overlap_delay_wgrad_compute, K::gradient_accumulation_fusion},
     .reads_env = {"te"},
     .when = [](F f) { return DelayWgrad(f) && f.on(K::gradient_accumulation_fusion) && !f.te_at_least("2.7.0"); },
     .needs = "delayed weight gradients with gradient accumulation fusion need Transformer Engine 2.7",
     .fixes = {kDelayWgradOff}},
    {.id = "bridge-delay-wgrad.requires-ep-overlap",
     .area = "delay-wgrad",
     .at = {Phase::kCommOverlap, 532},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:532",
     .reads = {K::comm_overlap_delay_wgrad_compute, K::comm_overlap_overlap_moe_expert_parallel_comm,
               K::overlap_moe_expert_parallel_comm},
     .when =
         [](F f) {
           return DelayWgrad(f) && !f.on(K::overlap_moe_expert_parallel_comm) &&
                  !f.on(K::comm_overlap_overlap_moe_expert_parallel_comm);
         },
     .needs = "delayed weight gradients are part of the all-to-all overlap",
     .fixes = {kDelayWgradOff, {{K::comm_overlap_overlap_moe_expert_parallel_comm, true}}}},
    {.id = "bridge-delay-wgrad.cuda-graph-te-2.12",
     .area = "version-gate",
     .at = {Phase::kCommOverlap, 546},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:546",
     .reads = {K::comm_overlap_delay_wgrad_compute, K::cuda_graph_modules, K::cuda_graph_scope,
               K::moe_shared_expert_intermediate_size, K::moe_shared_expert_overlap},
     .reads_env = {"te"},
     .when = [](F f) { return DelayWgrad(f) && WgradInGraph(f) && !f.te_at_least("2.12.0"); },
     .needs = "weight gradients inside a CUDA graph can be delayed only with Transformer Engine 2.12",
     .fixes = {kDelayWgradOff}},
    {.id = "bridge-delay-wgrad.cuda-graph-needs-gaf",
     .area = "delay-wgrad",
     .at = {Phase::kCommOverlap, 549},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:549",
     .reads = {K::comm_overlap_delay_wgrad_compute, K::cuda_graph_modules, K::cuda_graph_scope,
               K::gradient_accumulation_fusion},
     .when = [](F f) { return DelayWgrad(f) && WgradInGraph(f) && !f.on(K::gradient_accumulation_fusion); },
     .needs = "a graph needs fixed addresses, which gradient_accumulation_fusion gives",
     .fixes = {{{K::gradient_accumulation_fusion, true}}, kDelayWgradOff}},
    {.id = "bridge-delay-wgrad.cuda-graph-no-attn-bias",
     .area = "delay-wgrad",
     .at = {Phase::kCommOverlap, 555},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:555",
     .reads = {K::comm_overlap_delay_wgrad_compute, K::cuda_graph_modules, K::cuda_graph_scope, K::add_bias_linear,
               K::add_qkv_bias},
     .when = [](F f) { return DelayWgrad(f) && AttnInGraph(f) && (f.on(K::add_bias_linear) || f.on(K::add_qkv_bias)); },
     .needs = "attention inside a CUDA graph has no bias when weight gradients are delayed",
     .fixes = {kDelayWgradOff}},
};

}  // namespace

RuleList BridgeExpertOverlapRules() { return kRules; }

}  // namespace flightplan
