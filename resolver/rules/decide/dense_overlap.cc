// Data-, tensor-, pipeline- and context-parallel communication, each hidden on its own gate.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/derive/context_exchange.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"
#include "resolver/rules/decide/rows.h"

namespace flightplan::decide {
namespace {

using K = Knob;

// Without the distributed optimizer gradients are all-reduced, which overlaps all the same; but not in a container,
// where nothing comes of it (dp-overlap.needs-ddp-distopt), nor with optimizers that exclude it (mlm.muon-no-ogr).
bool OverlapsAllReduce(D d) {
  const absl::string_view optimizer = d.value(K::optimizer).text();
  return !d.stack.container && (optimizer.empty() || optimizer == "adam" || optimizer == "sgd");
}

void DataParallel(Deliberation& d) {
  constexpr absl::string_view kRule = "decide.dp-overlap";
  const int64_t ranks = d.f.dp * d.f.cp;
  const bool several = ranks > 1 && !d.f.fsdp, shards = several && d.on(K::use_distributed_optimizer);
  const bool on = (shards || (several && OverlapsAllReduce(d))) && !d.f.bring_up;
  std::string reason = on && shards   ? absl::StrCat("optimizer state is sharded over ", ranks,
                                                     " ranks: gradients and parameters move while layers compute")
                       : on           ? absl::StrCat("gradients are summed over ", ranks, " ranks while layers compute")
                       : d.f.bring_up ? std::string("bring-up: overlap comes after the run is correct")
                       : d.f.fsdp     ? std::string("FSDP moves gradients and parameters by a schedule of its own")
                       : several      ? std::string("it needs the distributed optimizer here")
                                      : std::string("one rank holds each parameter: no gradients to reduce");
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
// What each FSDP refuses of the command line's own defaults goes with it.
void ShardedParallel(Deliberation& d) {
  constexpr absl::string_view kRule = "decide.fsdp-sharding";
  if (d.on(K::use_torch_fsdp2) && !d.on(K::use_megatron_fsdp)) {
    d.Follow(K::gradient_accumulation_fusion, false, K::use_torch_fsdp2, kRule,
             "its gradients are reduced by PyTorch, which the fused accumulation goes past");
    d.Follow(K::ckpt_format, "torch_dist", K::use_torch_fsdp2, kRule, "it writes sharded checkpoints");
  }
  if (!d.on(K::use_megatron_fsdp)) return;
  d.Follow(K::ckpt_format, "fsdp_dtensor", K::use_megatron_fsdp, kRule, "the only one that it writes and reads");
  d.Choose(K::data_parallel_sharding_strategy, "optim_grads_params",
           {.rule_id = kRule,
            .reason = "FSDP is asked for: weights, gradients and optimizer state are sharded, as in every published "
                      "recipe with it",
            .basis = Basis::kRecipes,
            .citations = {"Megatron-Bridge@067f987df scripts/performance/utils/overrides.py:100"}});
}

constexpr Row kTensorParallel[] = {
    {.when = [](D d) { return d.f.bring_up; },
     .value = false,
     .why = "bring-up: overlap comes after the run is correct",
     .basis = Basis::kRecipes,
     .cites = {evidence::kOverlapGuide}},
    {.when = [](D d) { return !d.on(K::sequence_parallel); },
     .value = false,
     .why = "without sequence parallelism the stack switches it off",
     .basis = Basis::kRecipes,
     .cites = {evidence::kOverlapGuide}},
    {.when = Flex,
     .value = false,
     .why = "its user buffers and launch order compete with the flex dispatcher's kernels for SMs and queues",
     .basis = Basis::kRecipes,
     .cites = {evidence::kOverlapGuide}},
    {.when = [](D d) { return d.f.precision == Precision::kNvfp4 || d.f.precision == Precision::kFp8Blockwise; },
     .value = false,
     .why = "user buffers carry neither NVFP4 nor blockwise FP8 operands; published recipes leave it off",
     .basis = Basis::kRecipes,
     .cites = {evidence::kOverlapGuide}},
    {.when = [](D d) { return d.stack.fork && d.on(K::fp16); },
     .value = false,
     .why = "LoongForge switches it off under fp16",
     .basis = Basis::kRule,
     .cites = {"LoongForge@c6275661 loongforge/train/validators.py:437"}},
    {.when = [](D d) { return d.on(K::deterministic_mode); },
     .value = false,
     .why = "deterministic mode excludes it",
     .basis = Basis::kRecipes,
     .cites = {evidence::kOverlapGuide}},
    {.value = true,
     .why =
         [](D d) {
           return absl::StrCat("TP ", d.f.tp,
                               " with sequence parallelism: all-gather and reduce-scatter run beside the GEMMs");
         },
     .basis = Basis::kRecipes,
     .cites = {evidence::kOverlapGuide}},
};

void BatchedWhereExposed(Deliberation& d) {
  d.Follow(K::batch_p2p_comm, d.f.vpp <= 1, K::overlap_p2p_comm, "decide.pp-overlap", "the two exclude each other");
}

constexpr Row kPipelineParallel[] = {
    {.when = [](D d) { return d.f.vpp > 1; },
     .value = true,
     .why = "the interleaved schedule has another chunk to compute while activations travel",
     .basis = Basis::kGuidance,
     .cites = {evidence::kOverlapGuide},
     .then = BatchedWhereExposed},
    {.value = false,
     .why = "without virtual stages there is nothing to compute meanwhile",
     .basis = Basis::kGuidance,
     .cites = {evidence::kOverlapGuide},
     .then = BatchedWhereExposed},
};

void ContextParallel(Deliberation& d) {
  constexpr absl::string_view kRule = "decide.cp-overlap";
  if (d.f.cp < 2) return;
  const auto choose = [&](const char* type, std::string reason, absl::string_view citation) {
    return d.Choose(
        K::cp_comm_type, Value(Value::List{type}),
        {.rule_id = kRule, .reason = std::move(reason), .basis = Basis::kGuidance, .citations = {citation}});
  };
  // LoongForge sets the exchange by its own degree (context_parallel_ulysses_degree).
  const bool own_degree = d.stack.fork;
  const ContextExchange exchange =
      own_degree ? ContextExchange() : ContextExchangeOf(d.f.shape, d.f.tp, d.f.cp, d.f.seq, d.f.domain);
  switch (exchange.type) {
    case CpComm::kP2p:
      choose("p2p",
             absl::StrCat("CP ", d.f.cp, ": the ring sends the next keys and values while attention works on these"),
             evidence::kOverlapGuide);
      return;
    case CpComm::kAllToAll:
      choose("a2a",
             absl::StrCat("CP ", d.f.cp, ": ", d.f.shape.sinks ? "attention sinks need" : "a window needs",
                          " the whole sequence of their heads; a ring cannot serve it"),
             evidence::kWindowedContext);
      return;
    case CpComm::kAllGather:
      choose("all_gather",
             absl::StrCat("CP ", d.f.cp, ": a window needs the whole sequence's keys, and the heads of a rank do not ",
                          "divide by CP for an all-to-all"),
             evidence::kWindowedContext);
      return;
    case CpComm::kAllToAllP2p:
      break;
  }
  const bool chosen =
      choose("a2a+p2p",
             absl::StrCat("CP ", d.f.cp, " leaves the NVLink domain of ", d.f.domain, " GPUs with ", d.f.seq / d.f.cp,
                          " tokens a rank, too few to hide a ring of all their keys and values on the network: an ",
                          "all-to-all of ", exchange.inside, " ranks inside, rings of ", exchange.outside, " between"),
             evidence::kLongContext);
  if (!chosen) return;
  const Value sizes(Value::List{Value(exchange.inside), Value(exchange.outside)});
  d.Follow(K::hierarchical_context_parallel_sizes, sizes, K::cp_comm_type, kRule, "the two levels of a2a+p2p");
}

}  // namespace

bool WillOverlapDataParallel(const Deliberation& d) {
  const bool shards = d.on(K::use_distributed_optimizer) && d.f.dp * d.f.cp > 1 && !d.f.fsdp;
  return shards && (d.pinned(K::overlap_grad_reduce) ? d.on(K::overlap_grad_reduce) : !d.f.bring_up) &&
         (!d.pinned(K::overlap_param_gather) || d.on(K::overlap_param_gather));
}

void DecideDenseOverlap(Deliberation& d) {
  DataParallel(d);
  ShardedParallel(d);
  if (d.f.tp > 1) Choose(d, K::tp_comm_overlap, "decide.tp-overlap", kTensorParallel);
  if (d.f.pp > 1) Choose(d, K::overlap_p2p_comm, "decide.pp-overlap", kPipelineParallel);
  ContextParallel(d);
}

}  // namespace flightplan::decide
