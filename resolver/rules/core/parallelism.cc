// Parallel sizes: what ModelParallelConfig and TransformerConfig check and fill in about tensor, expert and pipeline
// parallelism.
#include <algorithm>

#include "resolver/base/integers.h"
#include "resolver/base/saturating.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr absl::string_view kOptInModules[] = {"moe_latent_proj"};

struct WeightShards {
  Knob shards;
  Knob parallel_size;
  Knob remat_size;
};
constexpr WeightShards kDense = {K::tensor_parallel_num_weight_shards, K::tensor_model_parallel_size,
                                 K::gtp_weight_remat_size};
constexpr WeightShards kExpert = {K::expert_tensor_parallel_num_weight_shards, K::expert_tensor_parallel_size,
                                  K::expert_gtp_weight_remat_size};

bool TooFewShards(F f, const WeightShards& w) { return f.set(w.shards) && f.num(w.shards) < f.num(w.parallel_size); }

bool UnevenShards(F f, const WeightShards& w) {
  return f.set(w.shards) && !TooFewShards(f, w) && !Divisible(f.num(w.shards), f.num(w.parallel_size));
}

void DeriveRematSize(Editor& e, const WeightShards& w) {
  const Facts& f = e.facts();
  if (f.set(w.shards) && Divisible(f.num(w.shards), f.num(w.parallel_size))) {
    e.Set(w.remat_size, FloorDiv(f.num(w.shards), f.num(w.parallel_size)));
  }
}

// Unset follows the parallel size, which always fits.
std::vector<Patch> UnsetShards(F f) {
  Patch patch;
  for (const WeightShards& w : {kDense, kExpert}) {
    if (TooFewShards(f, w) || UnevenShards(f, w)) patch.push_back(Assign(w.shards, Value()));
  }
  return {patch};
}

bool UnevenGroups(F f) {
  const int64_t groups = f.num(K::num_query_groups);
  const int64_t tp = f.num(K::tensor_model_parallel_size);
  // Up to core 0.15 more tensor-parallel ranks than groups were refused; later ranks share a group.
  return !Divisible(groups, tp) && (!f.core(16) || !Divisible(tp, groups));
}

// A smaller tensor-parallel size that divides both; sequence parallelism cannot stay on without tensor parallelism.
std::vector<Patch> SmallerTp(F f) {
  int64_t tp = std::max<int64_t>(1, f.num(K::tensor_model_parallel_size));
  const int64_t others =
      std::max<int64_t>(1, SaturatingMul(f.num(K::pipeline_model_parallel_size), f.num(K::context_parallel_size)));
  const auto fits = [&](int64_t size) {
    const bool whole = !f.env().world_size.has_value() || Divisible(*f.env().world_size, SaturatingMul(others, size));
    return whole && Divisible(f.num(K::num_attention_heads), size) && Divisible(f.num(K::num_query_groups), size);
  };
  while (tp > 1 && !fits(tp)) {
    tp = LargestDivisorUpTo(f.num(K::num_attention_heads), tp - 1);
  }
  Patch patch = {Assign(K::tensor_model_parallel_size, tp)};
  if (tp == 1 && f.on(K::sequence_parallel)) patch.push_back(Assign(K::sequence_parallel, false));
  return {patch};
}

const Rule kRules[] = {
    {.id = "sp.requires-tp",
     .area = "sequence-parallel",
     MODEL_PARALLEL_CONFIG(504),
     .reads = {K::sequence_parallel, K::tensor_model_parallel_size},
     .when = [](F f) { return f.on(K::sequence_parallel) && f.num(K::tensor_model_parallel_size) <= 1; },
     .needs = "sequence parallelism splits over tensor-parallel ranks and needs at least two",
     .fixes = {{{K::sequence_parallel, false}}}},
    {.id = "etp.default-tp",
     .area = "parallelism",
     .kind = Kind::kChange,
     MODEL_PARALLEL_CONFIG(506),
     .reads = {K::expert_tensor_parallel_size, K::tensor_model_parallel_size},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.none(K::expert_tensor_parallel_size)) {
             e.Set(K::expert_tensor_parallel_size, f.value(K::tensor_model_parallel_size));
           }
         }},
    {.id = "gtp.shards-lt-tp",
     .area = "parallelism",
     .at = {Phase::kModel, 512 - 10000, 32},
     .source = "Megatron-LM:megatron/core/model_parallel_config.py:32",
     .core = {.since = 19},
     .reads = {K::tensor_parallel_num_weight_shards, K::tensor_model_parallel_size,
               K::expert_tensor_parallel_num_weight_shards, K::expert_tensor_parallel_size},
     .when = [](F f) { return TooFewShards(f, kDense) || TooFewShards(f, kExpert); },
     .needs = "a weight is split into at least as many shards as there are tensor-parallel ranks",
     .fix = UnsetShards},
    {.id = "gtp.shards-divisible",
     .area = "parallelism",
     .at = {Phase::kModel, 512 - 10000, 37},
     .source = "Megatron-LM:megatron/core/model_parallel_config.py:37",
     .core = {.since = 19},
     .reads = {K::tensor_parallel_num_weight_shards, K::tensor_model_parallel_size,
               K::expert_tensor_parallel_num_weight_shards, K::expert_tensor_parallel_size},
     .when = [](F f) { return UnevenShards(f, kDense) || UnevenShards(f, kExpert); },
     .needs = "the number of weight shards is a multiple of the tensor-parallel size",
     .fix = UnsetShards},
    {.id = "gtp.derive-remat-size",
     .area = "parallelism",
     .kind = Kind::kChange,
     MODEL_PARALLEL_CONFIG(519),
     .core = {.since = 19},
     .reads = {K::tensor_parallel_num_weight_shards, K::expert_tensor_parallel_num_weight_shards},
     .change =
         [](Editor& e) {
           DeriveRematSize(e, kDense);
           DeriveRematSize(e, kExpert);
         }},
    {.id = "pp.requires-pipeline-dtype",
     .area = "pipeline",
     MODEL_PARALLEL_CONFIG(529),
     .reads = {K::pipeline_model_parallel_size, K::pipeline_dtype},
     .when = [](F f) { return f.num(K::pipeline_model_parallel_size) > 1 && f.none(K::pipeline_dtype); },
     .needs = "pipeline stages must know the dtype of the tensors they exchange",
     .fix = [](F f) { return std::vector<Patch>{{Assign(K::pipeline_dtype, f.value(K::params_dtype))}}; }},
    {.id = "defer-embed-wgrad.requires-pp",
     .area = "pipeline",
     MODEL_PARALLEL_CONFIG(546),
     .reads = {K::defer_embedding_wgrad_compute, K::pipeline_model_parallel_size},
     .when = [](F f) { return f.on(K::defer_embedding_wgrad_compute) && f.num(K::pipeline_model_parallel_size) == 1; },
     .needs = "embedding weight gradients are deferred into the pipeline flush, so there must be a pipeline",
     .fixes = {{{K::defer_embedding_wgrad_compute, false}}}},
    {.id = "defer-embed-wgrad.requires-gaf",
     .area = "pipeline",
     MODEL_PARALLEL_CONFIG(551),
     .reads = {K::defer_embedding_wgrad_compute, K::gradient_accumulation_fusion},
     .when = [](F f) { return f.on(K::defer_embedding_wgrad_compute) && !f.on(K::gradient_accumulation_fusion); },
     .needs = "deferring embedding weight gradients needs gradient_accumulation_fusion",
     .fixes = {{{K::gradient_accumulation_fusion, true}}, {{K::defer_embedding_wgrad_compute, false}}}},
    {.id = "defer-embed-wgrad.limit-nonneg",
     .area = "pipeline",
     MODEL_PARALLEL_CONFIG(556),
     .reads = {K::defer_embedding_wgrad_compute, K::wgrad_deferral_limit},
     .when = [](F f) { return f.on(K::defer_embedding_wgrad_compute) && f.num(K::wgrad_deferral_limit) < 0; },
     .needs = "wgrad_deferral_limit is 0 (all microbatches) or a positive count",
     .fixes = {{{K::wgrad_deferral_limit, 0}}}},
    {.id = "sp.ep-tp-needs-sp",
     .area = "sequence-parallel",
     .kind = Kind::kWarning,
     MODEL_PARALLEL_CONFIG(562),
     .core = {.since = 16},
     .reads = {K::expert_model_parallel_size, K::tensor_model_parallel_size, K::sequence_parallel},
     .when =
         [](F f) {
           return f.num(K::expert_model_parallel_size) > 1 && f.num(K::tensor_model_parallel_size) > 1 &&
                  !f.on(K::sequence_parallel);
         },
     .needs = "expert and tensor parallelism together train only with sequence_parallel",
     .fixes = {{{K::sequence_parallel, true}}}},
    {.id = "vpp.microbatch-group-default",
     .area = "pipeline",
     .kind = Kind::kChange,
     MODEL_PARALLEL_CONFIG(567),
     .reads = {K::microbatch_group_size_per_vp_stage, K::pipeline_model_parallel_size},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.none(K::microbatch_group_size_per_vp_stage)) {
             e.Set(K::microbatch_group_size_per_vp_stage, f.value(K::pipeline_model_parallel_size));
           }
         }},
    {.id = "p2p.warmup-flush-needs-overlap",
     .area = "pp-overlap",
     MODEL_PARALLEL_CONFIG(572),
     .reads = {K::overlap_p2p_comm_warmup_flush, K::overlap_p2p_comm, K::batch_p2p_comm},
     .when =
         [](F f) {
           return f.on(K::overlap_p2p_comm_warmup_flush) && (!f.on(K::overlap_p2p_comm) || f.on(K::batch_p2p_comm));
         },
     .needs = "warm-up and flush overlap needs overlap_p2p_comm without batch_p2p_comm",
     .fixes = {{{K::overlap_p2p_comm_warmup_flush, false}}, {{K::overlap_p2p_comm, true}, {K::batch_p2p_comm, false}}}},
    {.id = "tp.heads-divisible",
     .area = "divisibility",
     TRANSFORMER_CONFIG(1447),
     .reads = {K::num_attention_heads, K::tensor_model_parallel_size},
     .when = [](F f) { return !Divisible(f.num(K::num_attention_heads), f.num(K::tensor_model_parallel_size)); },
     .needs = "every tensor-parallel rank holds the same number of attention heads",
     .fix = SmallerTp},
    {.id = "tp.query-groups-compatible",
     .area = "divisibility",
     TRANSFORMER_CONFIG(1465),
     .reads = {K::num_query_groups, K::tensor_model_parallel_size},
     .when = UnevenGroups,
     .needs = "num_query_groups is a multiple or (from core 0.16) a divisor of tensor_model_parallel_size",
     .fix = SmallerTp},
    {.id = "ep.requires-moe",
     .area = "moe",
     TRANSFORMER_CONFIG(1596),
     .reads = {K::expert_model_parallel_size, K::num_moe_experts},
     .when = [](F f) { return f.num(K::expert_model_parallel_size) > 1 && f.none(K::num_moe_experts); },
     .needs = "expert parallelism needs experts: num_moe_experts",
     .fixes = {{{K::expert_model_parallel_size, 1}}}},
    {.id = "gtp.opt-in-modules-known",
     .area = "parallelism",
     TRANSFORMER_CONFIG(2205),
     .reads = {K::gtp_remat_opt_in_modules},
     .when = [](F f) { return HasOther(f, K::gtp_remat_opt_in_modules, kOptInModules); },
     .needs = "gtp_remat_opt_in_modules knows moe_latent_proj only",
     .fix =
         [](F f) {
           return std::vector<Patch>{
               {Assign(K::gtp_remat_opt_in_modules, Only(f.value(K::gtp_remat_opt_in_modules), kOptInModules))}};
         }},
    {.id = "pp.positive",
     .area = "pipeline",
     TRANSFORMER_CONFIG(3114),
     .reads = {K::pipeline_model_parallel_size},
     .when = [](F f) { return f.num(K::pipeline_model_parallel_size) <= 0; },
     .needs = "pipeline_model_parallel_size is at least 1",
     .fixes = {{{K::pipeline_model_parallel_size, 1}}}},
    // Core 0.15 refused what 0.16 and later only warn about; the id is the same.
    {.id = "sp.ep-tp-needs-sp",
     .area = "sequence-parallel",
     .at = {Phase::kModel, 562 - 10000, 1},
     .source = "Megatron-LM 0.15.3:megatron/core/model_parallel_config.py",
     .core = {.since = 15, .until = 15},
     .reads = {K::expert_model_parallel_size, K::tensor_model_parallel_size, K::sequence_parallel},
     .when =
         [](F f) {
           return !f.fork() && f.num(K::expert_model_parallel_size) > 1 && f.num(K::tensor_model_parallel_size) > 1 &&
                  !f.on(K::sequence_parallel);
         },
     .needs = "expert and tensor parallelism together train only with sequence_parallel",
     .fixes = {{{K::sequence_parallel, true}}}},
};

}  // namespace

RuleList CoreParallelismRules() { return kRules; }

}  // namespace flightplan
