// Which part of a step is captured into CUDA graphs, and the settings that capture asks for.
#include "absl/strings/str_cat.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {
namespace {

using K = Knob;
constexpr absl::string_view kRule = "decide.cuda-graphs";

// The list of captured modules, under the name that the release knows.
Knob ModulesKnob(const Deliberation& d) {
  return d.known(K::cuda_graph_modules) ? K::cuda_graph_modules : K::cuda_graph_scope;
}

// A whole iteration is an implementation of its own since 0.18; before, a scope of the local one.
bool HasFullIteration(const Deliberation& d) { return d.known(K::cuda_graph_modules); }

Value ScopedModules(const Deliberation& d, bool attention) {
  Value::List modules;
  if (d.intent.model.hybrid_layer_pattern.has_value()) modules.emplace_back("mamba");
  if (attention) modules.emplace_back("attn");
  if (d.f.moe) {
    modules.emplace_back("moe_router");
    modules.emplace_back("moe_preprocess");
  }
  return Value(std::move(modules));
}

// Capture replays the random state, which only TE's tracker supports; a captured iteration cannot stop to look for
// NaNs.
void Companions(Deliberation& d) {
  const absl::string_view impl = d.value(K::cuda_graph_impl).text();
  if (impl.empty() || impl == "none") return;
  if (StackOf(d.intent.env).container) {  // a command line has no word for the config class's own field
    d.Follow(K::use_te_rng_tracker, true, K::cuda_graph_impl, kRule,
             "capture needs Transformer Engine's random-state tracker");
  }
  d.Follow(K::te_rng_tracker, true, K::cuda_graph_impl, kRule,
           "capture needs Transformer Engine's random-state tracker");
  if (impl != "full_iteration") return;
  constexpr absl::string_view kNan = "a captured iteration cannot stop for a NaN check";
  d.Follow(K::check_for_nan_in_loss_and_grad, false, K::cuda_graph_impl, kRule, kNan);
  d.Follow(K::check_for_nan_in_loss, false, K::cuda_graph_impl, kRule, kNan);
  d.Follow(K::check_for_nan_in_grad, false, K::cuda_graph_impl, kRule, kNan);
}

void Off(Deliberation& d, std::string reason, Basis basis, std::vector<absl::string_view> citations, bool suggest) {
  if (suggest) {
    AbSuggestion ab{.knob = K::cuda_graph_impl, .plan_value = "none", .other_value = "transformer_engine"};
    ab.companions = {{ModulesKnob(d), ScopedModules(d, /*attention=*/true)}, {K::te_rng_tracker, Value(true)}};
    ab.reason = reason;
    ab.low = -0.22;
    ab.high = 0.02;
    d.SuggestAb(std::move(ab));
  }
  d.Choose(K::cuda_graph_impl, "none",
           {.rule_id = kRule,
            .reason = std::move(reason),
            .basis = basis,
            .citations = std::move(citations),
            .needs_ab = suggest});
}

void FullIterationMoe(Deliberation& d) {
  d.Choose(
      K::cuda_graph_impl, "full_iteration",
      {.rule_id = kRule,
       .reason = "MXFP8 on Blackwell: expert buffers of fixed size make the whole iteration static, and host overhead "
                 "disappears",
       .basis = Basis::kRecipes,
       .citations = {evidence::kOverlapAfterHostOverhead, evidence::kFusedPathBf16},
       .alternatives = {{Value("transformer_engine"), "leaves the experts' launches to the host"}}});
  d.Follow(K::cuda_graph_modules, Value(Value::List{}), K::cuda_graph_impl, kRule, "everything is captured");
  d.Follow(K::moe_paged_stash, true, K::cuda_graph_impl, kRule, "pages expert activations out of the fixed buffers");
  d.Follow(K::moe_expert_rank_capacity_factor, d.expert_capacity_factor, K::cuda_graph_impl, kRule,
           d.f.benchmark ? "fixed expert buffers; with forced balance no token is dropped"
                         : "fixed expert buffers that hold every token even if all go to one rank");
  d.Follow(K::use_transformer_engine_op_fuser, true, K::cuda_graph_impl, kRule,
           "the fused grouped MLP works on fixed buffers");
  d.Follow(K::high_priority_a2a_comm_stream, d.on(K::overlap_moe_expert_parallel_comm), K::cuda_graph_impl, kRule,
           "the exchange must not queue behind expert GEMMs");
}

}  // namespace

void DecideCudaGraphs(Deliberation& d) {
  const Features& f = d.f;
  if (!d.open(K::cuda_graph_impl)) {
    if (d.pinned(K::cuda_graph_impl)) {
      d.Respect(K::cuda_graph_impl, kRule, "set by the caller");
      if (d.is(K::cuda_graph_impl, "transformer_engine")) {
        d.Follow(ModulesKnob(d), ScopedModules(d, true), K::cuda_graph_impl, kRule,
                 "the parts of a dropless layer whose shapes are static");
      }
      Companions(d);
    }
    return;
  }
  if (f.bring_up)
    return Off(d, "bring-up: graphs come after the run is correct", Basis::kGuidance, {evidence::kMoeGuide}, false);
  if (f.fsdp) return Off(d, "fully sharded parameters move during the step", Basis::kRecipes, {}, false);
  if (d.full_iteration_graphs) {
    FullIterationMoe(d);
    return Companions(d);
  }
  if (d.is(K::recompute_granularity, "full")) {
    return Off(d, "full recompute excludes scoped graphs", Basis::kRule, {}, false);
  }
  if (d.on(K::cpu_offloading)) return Off(d, "activation offloading excludes scoped graphs", Basis::kRule, {}, false);

  const bool host_bound = d.intent.profile.has_value() && (d.intent.profile->wall == Wall::kHost ||
                                                           d.intent.profile->host_gap_ratio.value_or(0) > 0.05);
  const bool mamba = d.intent.model.hybrid_layer_pattern.has_value();
  if (!f.moe && !mamba) {
    if (f.benchmark && f.blackwell && f.pp == 1 && HasFullIteration(d)) {
      d.Choose(K::cuda_graph_impl, "full_iteration",
               {.rule_id = kRule,
                .reason = "dense model on one pipeline stage: shapes are static and Blackwell outruns the host",
                .basis = Basis::kRecipes,
                .citations = {"Megatron-Bridge@067f987df perf_recipes/llama: full iteration on Blackwell with PP 1"}});
      d.Follow(K::cuda_graph_modules, Value(Value::List{}), K::cuda_graph_impl, kRule, "everything is captured");
      return Companions(d);
    }
    return Off(d, "dense layers on this GPU are large enough to keep ahead of the host", Basis::kRecipes, {},
               host_bound);
  }
  const double graph_bytes = f.pp > 1 ? evidence::kGraphBytesPipeline : evidence::kGraphBytes;
  if (d.recompute_needed || !Fits(f, d.footprint_bytes + graph_bytes)) {
    return Off(d, "memory is tight, and captured layers keep their buffers and a pool of their own", Basis::kMeasured,
               {evidence::kGraphsOutOfMemory}, host_bound);
  }
  const bool flex = d.is(K::moe_token_dispatcher_type, "flex");
  const bool hybridep = flex && d.is(K::moe_flex_dispatcher_backend, "hybridep");
  if (f.moe && !host_bound && f.ep_crosses_domain && !hybridep) {
    return Off(d, "the exchange runs over the network and bounds the step, not the host", Basis::kMeasured,
               {evidence::kGraphsCommunicationBound}, false);
  }
  if (f.moe && !host_bound && flex && !hybridep) {
    return Off(d, "deepep waits on the host for token counts in every layer; no published recipe pairs it with graphs",
               Basis::kRecipes, {evidence::kDeepepRecipes}, true);
  }
  const bool attention = f.mbs * f.seq / f.cp < evidence::kManyTokensForAttentionGraph &&
                         !(f.hopper && d.on(K::overlap_moe_expert_parallel_comm) && f.sixteen_bit);
  d.Choose(K::cuda_graph_impl, "transformer_engine",
           {.rule_id = kRule,
            .reason =
                f.moe ? "dropless experts stay outside; attention, router and preprocessing are static and launch-bound"
                      : "Mamba blocks are many small kernels with static shapes",
            .basis = Basis::kMeasured,
            .citations = {evidence::kGraphsQwen, evidence::kGraphsGptOss},
            .alternatives = {{Value("full_iteration"), "needs static expert shapes"}},
            .expected_step_ratio = host_bound ? std::optional<double>(-0.2) : std::nullopt});
  d.Choose(ModulesKnob(d), ScopedModules(d, attention),
           {.rule_id = kRule,
            .reason = attention ? "the parts of a layer whose shapes are static"
                                : "attention's static buffers would take the memory that this microbatch needs",
            .basis = Basis::kRecipes,
            .citations = {evidence::kMoeGuide}});
  Companions(d);
}

}  // namespace flightplan::decide
