// Data-, tensor-, pipeline- and context-parallel communication, each hidden on its own gate.
#include "absl/strings/str_cat.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {
namespace {

using K = Knob;

void DataParallel(Deliberation& d) {
  constexpr absl::string_view kRule = "decide.dp-overlap";
  const bool shards = d.on(K::use_distributed_optimizer) && d.f.dp * d.f.cp > 1 && !d.f.fsdp;
  const bool on = shards && !d.f.bring_up;
  std::string reason = on             ? absl::StrCat("optimizer state is sharded over ", d.f.dp * d.f.cp,
                                                     " ranks: gradients and parameters move while layers compute")
                       : d.f.bring_up ? std::string("bring-up: overlap comes after the run is correct")
                                      : std::string("nothing to gather or reduce behind the layers");
  const bool chosen = d.Choose(K::overlap_grad_reduce, on,
                               {.rule_id = kRule,
                                .reason = std::move(reason),
                                .basis = Basis::kGuidance,
                                .citations = {evidence::kOverlapGuide}});
  const bool gather = d.on(K::overlap_grad_reduce) && shards;
  if (chosen || gather)
    d.Follow(K::overlap_param_gather, gather, K::overlap_grad_reduce, kRule, "the other half of the same path");
}

// FSDP without a word on what to shard: the config class would shard nothing, which nobody asks FSDP for.
void ShardedParallel(Deliberation& d) {
  if (!d.on(K::use_megatron_fsdp)) return;
  d.Choose(K::data_parallel_sharding_strategy, "optim_grads_params",
           {.rule_id = "decide.fsdp-sharding",
            .reason = "FSDP is asked for: weights, gradients and optimizer state are sharded, as in every published "
                      "recipe with it",
            .basis = Basis::kRecipes,
            .citations = {"Megatron-Bridge@067f987df scripts/performance/utils/overrides.py:100"}});
}

void TensorParallel(Deliberation& d) {
  constexpr absl::string_view kRule = "decide.tp-overlap";
  if (d.f.tp < 2) return;
  std::string reason;
  bool on = false;
  if (d.f.bring_up) {
    reason = "bring-up: overlap comes after the run is correct";
  } else if (!d.on(K::sequence_parallel)) {
    reason = "without sequence parallelism the stack switches it off";
  } else if (d.is(K::moe_token_dispatcher_type, "flex")) {
    reason = "its user buffers and launch order compete with the flex dispatcher's kernels for SMs and queues";
  } else if (d.f.precision == Precision::kNvfp4 || d.f.precision == Precision::kFp8Blockwise) {
    reason = "user buffers carry neither NVFP4 nor blockwise FP8 operands; published recipes leave it off";
  } else if (d.on(K::deterministic_mode)) {
    reason = "deterministic mode excludes it";
  } else {
    on = true;
    reason =
        absl::StrCat("TP ", d.f.tp, " with sequence parallelism: all-gather and reduce-scatter run beside the GEMMs");
  }
  d.Choose(K::tp_comm_overlap, on,
           {.rule_id = kRule,
            .reason = std::move(reason),
            .basis = Basis::kRecipes,
            .citations = {evidence::kOverlapGuide}});
}

void PipelineParallel(Deliberation& d) {
  constexpr absl::string_view kRule = "decide.pp-overlap";
  if (d.f.pp < 2) return;
  const bool interleaved = d.f.vpp > 1;
  const bool chosen =
      d.Choose(K::overlap_p2p_comm, interleaved,
               {.rule_id = kRule,
                .reason = interleaved ? "the interleaved schedule has another chunk to compute while activations travel"
                                      : "without virtual stages there is nothing to compute meanwhile",
                .basis = Basis::kGuidance,
                .citations = {evidence::kOverlapGuide}});
  if (chosen) d.Follow(K::batch_p2p_comm, !interleaved, K::overlap_p2p_comm, kRule, "the two exclude each other");
}

void ContextParallel(Deliberation& d) {
  constexpr absl::string_view kRule = "decide.cp-overlap";
  if (d.f.cp < 2) return;
  d.Choose(K::cp_comm_type, Value(Value::List{"p2p"}),
           {.rule_id = kRule,
            .reason =
                absl::StrCat("CP ", d.f.cp, ": the ring sends the next keys and values while attention works on these"),
            .basis = Basis::kGuidance,
            .citations = {evidence::kOverlapGuide}});
}

}  // namespace

void DecideDenseOverlap(Deliberation& d) {
  DataParallel(d);
  ShardedParallel(d);
  TensorParallel(d);
  PipelineParallel(d);
  ContextParallel(d);
}

}  // namespace flightplan::decide
