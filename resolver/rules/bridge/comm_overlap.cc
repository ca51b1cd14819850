// Communication overlap: what CommOverlapConfig checks, and what it writes over the model, DDP and optimizer configs.
// A value that stands only on the model is lost here; the same field under comm_overlap counts.
// Lines are those of NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/training/comm_overlap.py; the
// data-parallel size and the Energon guard, which run before it, have the low numbers.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "resolver/base/integers.h"
#include "resolver/base/saturating.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/rules/bridge/graph_modules_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr int kApply = 618;  // the model half is written over the model
constexpr int kApplyDp = 642;
constexpr int64_t kBucketSize = int64_t{128} * 1024 * 1024;

bool Configured(F f) { return CommOverlapConfigured(f.config()); }

int64_t ModelSize(F f) {
  return SaturatingMul(SaturatingMul(f.num(K::tensor_model_parallel_size), f.num(K::pipeline_model_parallel_size)),
                       f.num(K::context_parallel_size));
}
bool WorldIndivisible(F f) {
  const int64_t size = ModelSize(f);
  if (size == 0) return true;  // upstream divides by it
  return f.env().world_size.has_value() && *f.env().world_size % size != 0;
}
// Each of the three sizes made smaller until the GPUs divide; a size that is no size becomes 1.
std::vector<Patch> DivisibleSizes(F f) {
  constexpr K kSizes[] = {K::context_parallel_size, K::pipeline_model_parallel_size, K::tensor_model_parallel_size};
  Patch repaired;
  for (K knob : kSizes) {
    if (f.num(knob) < 1) repaired.push_back(Assign(knob, 1));
  }
  if (!repaired.empty()) return {repaired};
  std::vector<Patch> patches;
  for (K knob : kSizes) {
    const int64_t others = ModelSize(f) / f.num(knob);
    const int64_t largest = std::min(f.num(knob) - 1, *f.env().world_size);
    for (int64_t size = largest; size >= 1; --size) {
      if (*f.env().world_size % SaturatingMul(others, size) != 0) continue;
      const bool uneven_heads = knob == K::tensor_model_parallel_size && f.num(K::num_attention_heads) % size != 0;
      if (uneven_heads) continue;
      patches.push_back({Assign(knob, size)});
      break;
    }
  }
  if (!patches.empty()) return patches;
  // No single one will do: the largest divisors of what is left, tensor parallelism first.
  Patch all;
  int64_t left = *f.env().world_size;
  for (K knob : {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::context_parallel_size}) {
    const int64_t size = std::gcd(f.num(knob), left);
    if (size != f.num(knob)) all.push_back(Assign(knob, size));
    left /= size;
  }
  return {all};
}
// Not known counts as more than one: a training job has several.
bool DataParallel(F f) { return f.none(K::data_parallel_size) || f.num(K::data_parallel_size) > 1; }

bool NativeEnergonPacking(F f) { return f.is(K::dataset_kind, "energon") && f.set(K::dataset_packing_buffer_size); }
constexpr K kOverlapFields[] = {K::overlap_moe_expert_parallel_comm, K::delay_wgrad_compute,
                                K::comm_overlap_overlap_moe_expert_parallel_comm, K::comm_overlap_delay_wgrad_compute};

bool TpAsked(F f) { return Configured(f) && f.on(K::comm_overlap_tp_comm_overlap); }
bool TpWide(F f) { return f.num(K::tensor_model_parallel_size) >= 2; }
bool TpStays(F f) { return TpAsked(f) && TpWide(f) && f.on(K::sequence_parallel) && f.te_installed(); }

bool EpOverlap(F f) { return Configured(f) && f.on(K::comm_overlap_overlap_moe_expert_parallel_comm); }
bool DelayWgrad(F f) { return Configured(f) && f.on(K::comm_overlap_delay_wgrad_compute); }
// 0.4 compares enum members with names and so never finds one that was given as text.
bool AttnInGraph(F f) { return f.bridge(5) && HasGraphModule(f, "attn"); }
bool WgradInGraph(F f) {
  return AttnInGraph(f) || (f.bridge(5) && HasGraphModule(f, "moe_router") &&
                            f.set(K::moe_shared_expert_intermediate_size) && !f.on(K::moe_shared_expert_overlap));
}

bool Pipelined(F f) { return f.num(K::pipeline_model_parallel_size) > 1; }
bool Interleaved(F f) { return Pipelined(f) && f.num(K::virtual_pipeline_model_parallel_size) > 1; }
bool DpHalfRuns(F f) { return Configured(f) && f.on(K::use_distributed_optimizer); }

// Bridge's own value unless the caller wrote one under comm_overlap.
void Write(Editor& e, K to, K user, const Value& otherwise) {
  const Value& wished = e.facts().value(user);
  e.Set(to, wished.is_none() ? otherwise : wished);
}
void WriteP2p(Editor& e, bool overlap, bool batch) {
  Write(e, K::overlap_p2p_comm, K::comm_overlap_overlap_p2p_comm, overlap);
  Write(e, K::batch_p2p_comm, K::comm_overlap_batch_p2p_comm, batch);
}
void WriteDp(Editor& e, bool on, const Value& bucket_size) {
  Write(e, K::bucket_size, K::comm_overlap_bucket_size, bucket_size);
  Write(e, K::overlap_grad_reduce, K::comm_overlap_overlap_grad_reduce, on);
  Write(e, K::overlap_param_gather, K::comm_overlap_overlap_param_gather, on);
  Write(e, K::optimizer_overlap_param_gather, K::comm_overlap_overlap_param_gather, on);
  Write(e, K::overlap_param_gather_with_optimizer_step, K::comm_overlap_overlap_param_gather_with_optimizer_step,
        false);
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
    {.id = "dp.world-divisible",
     .area = "divisibility",
     .at = {Phase::kCommOverlap, 1},
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1024",
     .reads = {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::context_parallel_size},
     .reads_env = {"world_size"},
     .when = WorldIndivisible,
     .needs = "the number of GPUs is a multiple of TP x PP x CP",
     .fix = DivisibleSizes,
     .detail = [](F f) { return absl::StrCat("TP x PP x CP = ", ModelSize(f)); }},
    {.id = "dp.data-parallel-size",
     .area = "parallelism",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, 2},
     .source = "Megatron-Bridge:src/megatron/bridge/training/config.py:1029",
     .reads = {K::tensor_model_parallel_size, K::pipeline_model_parallel_size, K::context_parallel_size},
     .reads_env = {"world_size"},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           const int64_t size = ModelSize(f);
           if (f.env().world_size.has_value()) {
             if (size > 0 && !WorldIndivisible(f)) e.Fill(K::data_parallel_size, *f.env().world_size / size);
           } else if (f.env().data_parallel_size.has_value()) {
             e.Fill(K::data_parallel_size, *f.env().data_parallel_size);
           }
         }},
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
             if (!of_section || Configured(e.facts())) e.Set(field, false);
           }
         }},
    {.id = "tp-overlap.off-tp-lt-2",
     .area = "tp-overlap",
     .kind = Kind::kWarning,
     .at = {Phase::kCommOverlap, 444},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:444",
     .reads = {K::comm_overlap_tp_comm_overlap, K::tensor_model_parallel_size},
     .when = [](F f) { return TpAsked(f) && !TpWide(f); },
     .needs = "TP overlap needs TP of at least 2; it is switched off",
     .fixes = {{{K::comm_overlap_tp_comm_overlap, false}}}},
    {.id = "tp-overlap.off-no-sp",
     .area = "tp-overlap",
     .kind = Kind::kWarning,
     .at = {Phase::kCommOverlap, 447},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:447",
     .reads = {K::comm_overlap_tp_comm_overlap, K::sequence_parallel},
     .when = [](F f) { return TpAsked(f) && TpWide(f) && !f.on(K::sequence_parallel); },
     .needs = "TP overlap needs sequence parallelism; it is switched off",
     .fixes = {{{K::sequence_parallel, true}}, {{K::comm_overlap_tp_comm_overlap, false}}}},
    {.id = "tp-overlap.off-no-te",
     .area = "tp-overlap",
     .kind = Kind::kWarning,
     .at = {Phase::kCommOverlap, 450},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:450",
     .reads = {K::comm_overlap_tp_comm_overlap},
     .reads_env = {"te"},
     .when = [](F f) { return TpAsked(f) && TpWide(f) && f.on(K::sequence_parallel) && !f.te_installed(); },
     .needs = "TP overlap needs Transformer Engine; it is switched off",
     .fixes = {{{K::comm_overlap_tp_comm_overlap, false}}}},
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
     .when = [](F f) { return EpOverlap(f) && Pipelined(f) && f.none(K::virtual_pipeline_model_parallel_size); },
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
    {.id = "comm-overlap.tp-flag-written",
     .area = "tp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApply, 0},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:434",
     .reads = {K::comm_overlap_tp_comm_overlap, K::tp_comm_overlap},
     .change =
         [](Editor& e) {
           if (Configured(e.facts())) e.Set(K::tp_comm_overlap, TpStays(e.facts()));
         }},
    {.id = "p2p-overlap.on-with-vpp",
     .area = "pp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApply, 1},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:454",
     .reads = {K::comm_overlap_overlap_p2p_comm, K::comm_overlap_batch_p2p_comm},
     .change =
         [](Editor& e) {
           if (Configured(e.facts()) && Interleaved(e.facts())) WriteP2p(e, true, false);
         }},
    {.id = "p2p-overlap.off-without-vpp",
     .area = "pp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApply, 2},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:458",
     .reads = {K::comm_overlap_overlap_p2p_comm, K::comm_overlap_batch_p2p_comm},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (Configured(f) && Pipelined(f) && !Interleaved(f)) WriteP2p(e, false, true);
         }},
    {.id = "p2p-overlap.off-pp1",
     .area = "pp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApply, 3},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:461",
     .reads = {K::comm_overlap_overlap_p2p_comm, K::comm_overlap_batch_p2p_comm},
     .change =
         [](Editor& e) {
           if (Configured(e.facts()) && !Pipelined(e.facts())) WriteP2p(e, false, false);
         }},
    {.id = "comm-overlap.model-defaults-written",
     .area = "ep-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApply, 4},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:436",
     .reads = {K::comm_overlap_overlap_moe_expert_parallel_comm, K::comm_overlap_delay_wgrad_compute,
               K::comm_overlap_defer_embedding_wgrad_compute, K::comm_overlap_wgrad_deferral_limit},
     .change =
         [](Editor& e) {
           if (!Configured(e.facts())) return;
           Write(e, K::defer_embedding_wgrad_compute, K::comm_overlap_defer_embedding_wgrad_compute, false);
           Write(e, K::wgrad_deferral_limit, K::comm_overlap_wgrad_deferral_limit, -1);
           Write(e, K::overlap_moe_expert_parallel_comm, K::comm_overlap_overlap_moe_expert_parallel_comm, false);
           Write(e, K::delay_wgrad_compute, K::comm_overlap_delay_wgrad_compute, false);
         }},
    {.id = "tp-overlap.default-ub-config",
     .area = "tp-overlap",
     .kind = Kind::kWarning,
     .at = {Phase::kCommOverlap, 621},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:621",
     .reads = {K::comm_overlap_tp_comm_overlap, K::comm_overlap_tp_comm_overlap_cfg},
     .when = [](F f) { return TpStays(f) && f.none(K::comm_overlap_tp_comm_overlap_cfg); },
     .needs = "without a user-buffer config TP overlap runs with Transformer Engine's defaults"},
    {.id = "tp-overlap.ub-config-dict",
     .area = "tp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, 628},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:628",
     .reads = {K::comm_overlap_tp_comm_overlap_cfg, K::comm_overlap_tp_comm_bootstrap_backend},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (!Configured(f)) return;
           e.Set(K::tp_comm_overlap_cfg, f.value(K::comm_overlap_tp_comm_overlap_cfg));
           e.Set(K::tp_comm_bootstrap_backend, f.value(K::comm_overlap_tp_comm_bootstrap_backend));
         }},
    {.id = "dp-overlap.on-with-dp",
     .area = "dp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApplyDp, 0},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:576",
     .reads = {K::comm_overlap_overlap_grad_reduce, K::comm_overlap_overlap_param_gather, K::comm_overlap_bucket_size},
     .reads_env = {"data_parallel_size"},
     .change =
         [](Editor& e) {
           if (DpHalfRuns(e.facts()) && DataParallel(e.facts())) WriteDp(e, true, kBucketSize);
         }},
    {.id = "dp-overlap.off-dp1",
     .area = "dp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApplyDp, 1},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:569",
     .reads = {K::comm_overlap_overlap_grad_reduce, K::comm_overlap_overlap_param_gather, K::comm_overlap_bucket_size},
     .reads_env = {"data_parallel_size"},
     .change =
         [](Editor& e) {
           if (DpHalfRuns(e.facts()) && !DataParallel(e.facts())) WriteDp(e, false, Value());
         }},
    {.id = "dp-overlap.align-param-gather",
     .area = "dp-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApplyDp, 2},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:580",
     .reads = {K::comm_overlap_align_param_gather},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (!DpHalfRuns(f)) return;
           Write(e, K::align_param_gather, K::comm_overlap_align_param_gather, DataParallel(f) && Interleaved(f));
         }},
    {.id = "dp-overlap.needs-ddp-distopt",
     .area = "dp-overlap",
     .kind = Kind::kInfo,
     .at = {Phase::kCommOverlap, 636},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:636",
     .reads = {K::use_distributed_optimizer, K::comm_overlap_overlap_grad_reduce, K::comm_overlap_overlap_param_gather,
               K::comm_overlap_bucket_size, K::comm_overlap_align_param_gather},
     .when =
         [](F f) {
           const bool asked = f.set(K::comm_overlap_overlap_grad_reduce) ||
                              f.set(K::comm_overlap_overlap_param_gather) || f.set(K::comm_overlap_bucket_size) ||
                              f.set(K::comm_overlap_align_param_gather);
           return Configured(f) && asked && !f.on(K::use_distributed_optimizer);
         },
     .needs = "the data-parallel half of comm_overlap has an effect only when ddp.use_distributed_optimizer is set "
              "(the optimizer's flag of that name is looked at later)",
     .fixes = {{{K::use_distributed_optimizer, true}, {K::optimizer_use_distributed_optimizer, true}}}},
    {.id = "comm-overlap.fields-copied",
     .area = "ep-overlap",
     .kind = Kind::kChange,
     .at = {Phase::kCommOverlap, kApplyDp, 3},
     .source = "Megatron-Bridge:src/megatron/bridge/training/comm_overlap.py:590",
     .reads = {K::comm_overlap_delay_wgrad_compute, K::ddp_delay_wgrad_compute},
     .change =
         [](Editor& e) {
           // The DP half knows no default for this field and copies what the caller wrote, also None.
           const Facts& f = e.facts();
           if (DpHalfRuns(f)) e.Set(K::ddp_delay_wgrad_compute, f.value(K::comm_overlap_delay_wgrad_compute));
         }},
};

}  // namespace

RuleList BridgeCommOverlapRules() { return kRules; }

}  // namespace flightplan
