// The components of a vision-language model beside its language model: encoder and projector (baidu-baige/LoongForge@
// c6275661, loongforge/train/validators.py, _validate_custom_model_args). Each starts from the arguments of the launch
// and is cut down to what LoongForge runs there. model_component says that a configuration is one of them.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "resolver/base/integers.h"
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Component(F f) {
  return f.set(K::model_component) && !absl::StrContains(f.text(K::model_component), "foundation");
}

bool RecomputeListed(F f) { return Component(f) && f.set(K::custom_pipeline_recompute_layers); }

// Without a comma LoongForge reads no entry.
int64_t RecomputeEntries(F f) {
  const absl::string_view text = f.text(K::custom_pipeline_recompute_layers);
  return absl::StrContains(text, ",") ? 1 + std::count(text.begin(), text.end(), ',') : 0;
}

template <Knob knob>
void ToOne(Editor& e) {
  if (Component(e.facts()) && e.facts().num(knob) > 1) e.Set(knob, 1);
}
template <Knob knob>
void Off(Editor& e) {
  if (Component(e.facts()) && e.facts().on(knob)) e.Set(knob, false);
}
template <Knob knob>
void Unset(Editor& e) {
  if (Component(e.facts()) && e.facts().set(knob)) e.Set(knob, Value());
}

// The full recompute is decided by the overlap that was asked for, so both are written in one place, in this order.
bool OverlapAsked(F f) { return Component(f) && f.on(K::overlap_moe_expert_parallel_comm); }

void RestoreFullRecompute(Editor& e) {
  const Facts& f = e.facts();
  if (!OverlapAsked(f) || !f.is(K::recompute_granularity, "selective")) return;
  e.Set(K::recompute_granularity, "full");
  if (f.none(K::recompute_method)) e.Set(K::recompute_method, "uniform");
  if (f.none(K::recompute_num_layers)) e.Set(K::recompute_num_layers, 1);
}

void DropOverlapModules(Editor& e) {
  const Facts& f = e.facts();
  if (!Component(f) || !f.on(K::recompute_modules)) return;
  Value::List kept;
  for (const Value& module : f.value(K::recompute_modules).list()) {
    if (!absl::StartsWith(module.text(), "a2a")) kept.push_back(module);
  }
  if (kept.size() < f.value(K::recompute_modules).list().size()) e.Set(K::recompute_modules, Value(std::move(kept)));
}

void ShardingOverlaps(Editor& e) {
  const Facts& f = e.facts();
  if (!Component(f) || !f.in(K::data_parallel_sharding_strategy, {"optim_grads_params", "optim_grads"})) return;
  if (f.is(K::data_parallel_sharding_strategy, "optim_grads_params")) e.Set(K::overlap_param_gather, true);
  e.Set(K::overlap_grad_reduce, true);
}

// A projector has no layers and heads; its config class wants some.
void DefaultSizes(Editor& e) {
  const Facts& f = e.facts();
  if (!Component(f)) return;
  const Value tp = f.value(K::tensor_model_parallel_size);
  if (f.none(K::num_query_groups)) e.Set(K::num_query_groups, tp);
  if (f.none(K::num_attention_heads)) e.Set(K::num_attention_heads, tp);
  if (f.none(K::num_layers)) e.Set(K::num_layers, 1);
  if (f.none(K::hidden_size)) e.Set(K::hidden_size, f.value(K::num_attention_heads));
}

bool Encoder(F f) { return Component(f) && absl::EndsWith(f.text(K::model_component), "_encoder"); }
bool HeteroDp(F f) { return f.on(K::enable_encoder_hetero_dp) || f.on(K::enable_full_hetero_dp); }

const Rule kRules[] = {
    {.id = "lf.nf-attention-local",
     .area = "attention",
     .at = {Phase::kLoongForge, 491, 1},
     .source = "LoongForge:loongforge/train/validators.py:618",
     .reads = {K::attention_backend, K::spec, K::model_component},
     .when =
         [](F f) {
           const Value::List& spec = f.value(K::spec).list();
           return Component(f) && f.is(K::attention_backend, "local") && (spec.empty() || spec[0] != Value("local"));
         },
     .needs = "the local attention backend needs --spec local",
     .fixes = {{{K::attention_backend, kUnset}}}},
    {.id = "lf.encoder-rotary-interleaved",
     .area = "attention",
     .at = {Phase::kLoongForge, 497, 1},
     .source = "LoongForge:loongforge/train/validators.py:1100",
     .reads = {K::rotary_interleaved, K::apply_rope_fusion, K::model_component},
     .when = [](F f) { return Component(f) && f.on(K::rotary_interleaved) && f.on(K::apply_rope_fusion); },
     .needs = "an encoder rotates interleaved pairs without apply_rope_fusion only",
     .fixes = {{{K::apply_rope_fusion, false}}, {{K::rotary_interleaved, false}}}},
    {.id = "lf.encoder-tp",
     .area = "parallel",
     .at = {Phase::kMesh, 146},
     .source = "LoongForge:loongforge/train/initialize.py:146",
     .reads = {K::tensor_model_parallel_size, K::model_component},
     .when =
         [](F f) {
           const int64_t whole = f.found().foundation_tensor_parallel_size.value_or(0);
           const int64_t own = f.num(K::tensor_model_parallel_size);
           return Encoder(f) && whole > 0 && (own > whole || !Divisible(whole, own));
         },
     .needs = "the encoder's tensor_model_parallel_size must divide the language model's",
     .fixes = {{{K::tensor_model_parallel_size, 1}}}},
    {.id = "lf.hetero-encoder-tp1",
     .area = "parallel",
     .at = {Phase::kMesh, 150},
     .source = "LoongForge:loongforge/train/initialize.py:150",
     .reads = {K::tensor_model_parallel_size, K::enable_encoder_hetero_dp, K::enable_full_hetero_dp,
               K::model_component},
     .when = [](F f) { return Encoder(f) && HeteroDp(f) && f.num(K::tensor_model_parallel_size) != 1; },
     .needs = "heterogeneous data parallelism needs an encoder with tensor_model_parallel_size 1",
     .fixes = {{{K::tensor_model_parallel_size, 1}}}},
    {.id = "lf.nf-recompute-full",
     .area = "recompute",
     .at = {Phase::kLoongForge, 480},
     .source = "LoongForge:loongforge/train/validators.py:529",
     .reads = {K::custom_pipeline_recompute_layers, K::recompute_granularity, K::model_component},
     .when = [](F f) { return RecomputeListed(f) && !f.is(K::recompute_granularity, "full"); },
     .needs = "a list of recomputed layers is for full recompute",
     .fixes = {{{K::custom_pipeline_recompute_layers, kUnset}}}},
    {.id = "lf.nf-recompute-count",
     .area = "recompute",
     .at = {Phase::kLoongForge, 480, 1},
     .source = "LoongForge:loongforge/train/validators.py:536",
     .reads = {K::custom_pipeline_recompute_layers, K::pipeline_model_parallel_size, K::model_component},
     .when = [](F f) { return RecomputeListed(f) && RecomputeEntries(f) != PpOrOne(f); },
     .needs = "custom_pipeline_recompute_layers needs one entry per pipeline stage",
     .fixes = {{{K::custom_pipeline_recompute_layers, kUnset}}}},
    {.id = "lf.nf-reset-pipeline-model-parallel-size",
     .area = "non-foundation",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 481},
     .source = "LoongForge:loongforge/train/validators.py:544",
     .reads = {K::pipeline_model_parallel_size, K::model_component},
     .change = ToOne<K::pipeline_model_parallel_size>},
    {.id = "lf.nf-reset-sequence-parallel",
     .area = "non-foundation",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 482},
     .source = "LoongForge:loongforge/train/validators.py:548",
     .reads = {K::sequence_parallel, K::model_component},
     .change = Off<K::sequence_parallel>},
    {.id = "lf.nf-reset-expert-model-parallel-size",
     .area = "non-foundation",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 483},
     .source = "LoongForge:loongforge/train/validators.py:552",
     .reads = {K::expert_model_parallel_size, K::model_component},
     .change = ToOne<K::expert_model_parallel_size>},
    {.id = "lf.nf-reset-num-virtual-stages-per-pipeline-rank",
     .area = "non-foundation",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 484},
     .source = "LoongForge:loongforge/train/validators.py:556",
     .reads = {K::num_virtual_stages_per_pipeline_rank, K::model_component},
     .change = Unset<K::num_virtual_stages_per_pipeline_rank>},
    {.id = "lf.nf-reset-context-parallel-ulysses-degree",
     .area = "non-foundation",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 485},
     .source = "LoongForge:loongforge/train/validators.py:560",
     .reads = {K::context_parallel_ulysses_degree, K::model_component},
     .change = ToOne<K::context_parallel_ulysses_degree>},
    {.id = "lf.nf-reset-context-parallel-size",
     .area = "non-foundation",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 486},
     .source = "LoongForge:loongforge/train/validators.py:564",
     .reads = {K::context_parallel_size, K::model_component},
     .change = ToOne<K::context_parallel_size>},
    {.id = "lf.nf-reset-tp-comm-overlap",
     .area = "non-foundation",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 487},
     .source = "LoongForge:loongforge/train/validators.py:568",
     .reads = {K::tp_comm_overlap, K::model_component},
     .change = Off<K::tp_comm_overlap>},
    {.id = "lf.nf-reset-pipeline-model-parallel-layout",
     .area = "non-foundation",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 488},
     .source = "LoongForge:loongforge/train/validators.py:572",
     .reads = {K::pipeline_model_parallel_layout, K::model_component},
     .change = Unset<K::pipeline_model_parallel_layout>},
    {.id = "lf.nf-sizes-default",
     .area = "non-foundation",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 488, 1},
     .source = "LoongForge:loongforge/train/validators.py:574",
     .reads = {K::num_query_groups, K::num_attention_heads, K::num_layers, K::hidden_size,
               K::tensor_model_parallel_size, K::model_component},
     .change = DefaultSizes},
    {.id = "lf.nf-reset-moe-router-topk",
     .area = "non-foundation",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 489},
     .source = "LoongForge:loongforge/train/validators.py:588",
     .reads = {K::moe_router_topk, K::model_component},
     .change = Unset<K::moe_router_topk>},
    {.id = "lf.nf-reset-moe-router-group-topk",
     .area = "non-foundation",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 490},
     .source = "LoongForge:loongforge/train/validators.py:591",
     .reads = {K::moe_router_group_topk, K::model_component},
     .change = Unset<K::moe_router_group_topk>},
    {.id = "lf.nf-sharding-forces-overlap",
     .area = "fsdp",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 491},
     .source = "LoongForge:loongforge/train/validators.py:759",
     .reads = {K::data_parallel_sharding_strategy, K::overlap_grad_reduce, K::overlap_param_gather, K::model_component},
     .change = ShardingOverlaps},
    {.id = "lf.nf-no-rampup",
     .area = "batch",
     .at = {Phase::kLoongForge, 492},
     .source = "LoongForge:loongforge/train/validators.py:902",
     .reads = {K::rampup_batch_size, K::train_iters, K::model_component},
     .when = [](F f) { return Component(f) && f.on(K::train_iters) && f.set(K::rampup_batch_size); },
     .needs = "training by iterations takes no batch-size ramp-up",
     .fixes = {{{K::rampup_batch_size, kUnset}}}},
    // Upstream does this after the next two; the overlap that was asked for decides it, so it is repeated first.
    {.id = "lf.nf-recompute-full-restore",
     .area = "recompute",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 493},
     .source = "LoongForge:loongforge/train/validators.py:1024",
     .reads = {K::recompute_granularity, K::overlap_moe_expert_parallel_comm, K::model_component},
     .change = RestoreFullRecompute},
    {.id = "lf.nf-ep-overlap-off",
     .area = "overlap",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 494},
     .source = "LoongForge:loongforge/train/validators.py:1001",
     .reads = {K::overlap_moe_expert_parallel_comm, K::delay_wgrad_compute, K::model_component},
     .change =
         [](Editor& e) {
           if (!OverlapAsked(e.facts())) return;
           e.Set(K::overlap_moe_expert_parallel_comm, false);
           e.Set(K::delay_wgrad_compute, false);
         }},
    {.id = "lf.nf-a2a-modules-dropped",
     .area = "recompute",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 495},
     .source = "LoongForge:loongforge/train/validators.py:1010",
     .reads = {K::recompute_modules, K::model_component},
     .change = DropOverlapModules},
    {.id = "lf.nf-fgo-off",
     .area = "offload",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 496},
     .source = "LoongForge:loongforge/train/validators.py:1043",
     .reads = {K::fine_grained_activation_offloading, K::model_component},
     .change = Off<K::fine_grained_activation_offloading>},
    // Upstream asks after it has switched sequence parallelism off for the component, so only the other switch counts.
    {.id = "lf.nf-cdmc-warning",
     .area = "env",
     .kind = Kind::kWarning,
     .at = {Phase::kLoongForge, 497},
     .source = "LoongForge:loongforge/train/validators.py:1073 (sequence_parallel is off by then)",
     .reads = {K::sequence_parallel, K::async_tensor_model_parallel_allreduce, K::preprocess_data_on_cpu,
               K::model_component},
     .reads_env = {"CUDA_DEVICE_MAX_CONNECTIONS", "gpu"},
     .when =
         [](F f) {
           const bool older = f.env().cc_major > 0 && f.env().cc_major < 10;
           return Component(f) && !f.on(K::preprocess_data_on_cpu) && older &&
                  f.var("CUDA_DEVICE_MAX_CONNECTIONS") != "1" &&
                  (f.on(K::sequence_parallel) || f.on(K::async_tensor_model_parallel_allreduce));
         },
     .needs = "before Blackwell the asynchronous all-reduce of gradients wants CUDA_DEVICE_MAX_CONNECTIONS=1",
     .fixes = {{{{}, "1", "CUDA_DEVICE_MAX_CONNECTIONS"}}}},
    {.id = "lf.nf-moe-none",
     .area = "moe",
     .kind = Kind::kChange,
     .at = {Phase::kLoongForge, 498},
     .source = "LoongForge:loongforge/train/validators.py:1118",
     .reads = {K::num_moe_experts, K::model_component},
     .change = Unset<K::num_moe_experts>},
};

}  // namespace

RuleList LoongforgeComponentRules() { return kRules; }

}  // namespace flightplan
