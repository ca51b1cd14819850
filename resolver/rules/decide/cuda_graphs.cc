// Which part of a step is captured into CUDA graphs, and the settings that capture asks for.
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/derive/bridge_provider.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"
#include "resolver/rules/decide/rows.h"

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
  if (GraphsOfCore15(d.intent.env)) return Value("attn");
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
  if (d.stack.container) {  // a command line has no word for the config class's own field
    d.Follow(K::use_te_rng_tracker, true, K::cuda_graph_impl, kRule,
             "capture needs Transformer Engine's random-state tracker");
  }
  d.Follow(K::te_rng_tracker, true, K::cuda_graph_impl, kRule,
           "capture needs Transformer Engine's random-state tracker");
  if (impl != "full_iteration" && !(impl == "local" && d.has(K::cuda_graph_scope, "full_iteration"))) return;
  constexpr absl::string_view kNan = "a captured iteration cannot stop for a NaN check";
  d.Follow(K::check_for_nan_in_loss_and_grad, false, K::cuda_graph_impl, kRule, kNan);
  d.Follow(K::check_for_nan_in_loss, false, K::cuda_graph_impl, kRule, kNan);
  d.Follow(K::check_for_nan_in_grad, false, K::cuda_graph_impl, kRule, kNan);
}

bool SpoilsAttention(D d) {
  return d.on(K::overlap_moe_expert_parallel_comm) && OverlapSpoilsAttentionGraph(d.f.precision);
}
bool CapturesAttention(D d) { return AttentionGraphIsSmall(d.f) && !SpoilsAttention(d); }

AbSuggestion ScopedGraphsAb(D d) {
  AbSuggestion ab{.knob = K::cuda_graph_impl, .plan_value = "none", .other_value = "transformer_engine"};
  ab.companions = {{ModulesKnob(d), ScopedModules(d, !d.f.moe || CapturesAttention(d))},
                   {K::te_rng_tracker, Value(true)}};
  ab.low = -0.22;
  ab.high = 0.02;
  return ab;
}

void CaptureEverything(Deliberation& d) {
  d.Follow(K::cuda_graph_modules, Value(Value::List{}), K::cuda_graph_impl, kRule, "everything is captured");
}

// What goes with a captured iteration of a dropless MoE.
void FixedExpertBuffers(Deliberation& d) {
  CaptureEverything(d);
  d.Follow(K::moe_paged_stash, true, K::cuda_graph_impl, kRule, "pages expert activations out of the fixed buffers");
  d.Follow(K::moe_expert_rank_capacity_factor, d.expert_capacity_factor, K::cuda_graph_impl, kRule,
           d.f.benchmark ? "fixed expert buffers; with forced balance no token is dropped"
                         : "fixed expert buffers that hold every token even if all go to one rank");
  d.Follow(K::use_transformer_engine_op_fuser, true, K::cuda_graph_impl, kRule,
           "the fused grouped MLP works on fixed buffers");
  d.Follow(K::high_priority_a2a_comm_stream, d.on(K::overlap_moe_expert_parallel_comm), K::cuda_graph_impl, kRule,
           "the exchange must not queue behind expert GEMMs");
  Companions(d);
}

void WholeDenseIteration(Deliberation& d) {
  if (HasFullIteration(d)) {
    CaptureEverything(d);
  } else {
    d.Follow(K::cuda_graph_scope, Value(Value::List{Value("full_iteration")}), K::cuda_graph_impl, kRule,
             "before 0.18 the whole iteration is a scope of the local implementation");
  }
  Companions(d);
}

void CapturedModules(Deliberation& d) {
  const bool attention = CapturesAttention(d);
  d.Choose(ModulesKnob(d), ScopedModules(d, attention),
           {.rule_id = kRule,
            .reason = attention ? "the parts of a layer whose shapes are static"
                                : "attention's static buffers would take the memory that this microbatch needs, and "
                                  "beside EP overlap its graphs were seen to spoil gradients",
            .basis = Basis::kRecipes,
            .citations = {evidence::kMoeGuide}});
  Companions(d);
}

// The class default of some releases, of which every launch warns though nothing is captured. Before 0.18 the list is a
// text on command lines, which an empty one would break; a container's field is a list.
void NoOldName(Deliberation& d) {
  const K modules = ModulesKnob(d);
  if (modules == K::cuda_graph_scope && (!d.stack.container || GraphsOfCore15(d.intent.env))) return;
  if (!d.known(modules) || d.pinned(modules) || !d.is(K::cuda_graph_impl, "none")) return;
  if (!d.is(modules, "full") && !d.has(modules, "full")) return;
  d.Follow(modules, Value(Value::List{}), K::cuda_graph_impl, kRule,
           "nothing is captured; the default of this release is an old name for the whole layer");
}

bool HostBound(D d) {
  return d.intent.profile.has_value() &&
         (d.intent.profile->wall == Wall::kHost || d.intent.profile->host_gap_ratio.value_or(0) > 0.05);
}
bool Mamba(D d) { return d.intent.model.hybrid_layer_pattern.has_value(); }
bool DenseLayers(D d) { return !d.f.moe && !Mamba(d); }
double GraphBytes(const Features& f) { return f.pp > 1 ? evidence::kGraphBytesPipeline : evidence::kGraphBytes; }
bool TightMemory(D d) { return d.recompute_needed || !Fits(d.f, d.footprint_bytes + GraphBytes(d.f)); }
// The recompute may free more than was needed, so that the plan itself need not be tight.
std::string WhyNoRoom(D d) {
  return absl::StrCat(d.recompute_needed ? "room has to be made" : "memory is tight",
                      ", and captured layers keep their buffers and a pool of their own");
}
bool OnFastX86(D d) { return OnFastX86Host(d.f, d.intent); }
bool ExpertPipelineOnX86(D d) { return d.f.pp > 1 && LeavesGraphsOfPipelines(d.f, d.intent) && !HostBound(d); }
constexpr char kPipelineOnX86[] =
    "pipeline on x86 hosts: published pairs gain a fifth or run out of memory, since the layers of each microbatch in "
    "flight keep buffers; upstream asks for host gaps in a profile first";
std::optional<double> GainWhereHostBound(D d) { return HostBound(d) ? std::optional<double>(-0.2) : std::nullopt; }

constexpr Row kGraphs[] = {
    {.when = [](D d) { return !LimitsOfProvider(d.config(), d.intent.env).graphs; },
     .value = "none",
     .why = "Megatron-Bridge refuses graphs of this model's MoE layers, which it runs in its own way"},
    {.when = [](D d) { return d.f.bring_up; },
     .value = "none",
     .why = "bring-up: graphs come after the run is correct",
     .basis = Basis::kGuidance,
     .cites = {evidence::kMoeGuide}},
    {.when = [](D d) { return d.stack.packs; },
     .value = "none",
     .why = "a layer in a CUDA graph takes no packed sequences, and this stack packs",
     .cites = {"Megatron-LM@core_v0.16.1 megatron/core/transformer/transformer_layer.py:1021"}},
    {.when = [](D d) { return GraphsOfCore15(d.intent.env); },
     .value = "none",
     .why = "graphs of core 0.15 exclude expandable segments, without which variable token counts fragment the memory",
     .cites = {"Megatron-LM@core_v0.15.3 megatron/core/transformer/cuda_graphs.py:1349"}},
    {.when = [](D d) { return d.f.fsdp; },
     .value = "none",
     .why = "fully sharded parameters move during the step",
     .basis = Basis::kRecipes},
    {.when = [](D d) { return d.full_iteration_graphs; },
     .value = "full_iteration",
     .why = "MXFP8 on Blackwell: expert buffers of fixed size make the whole iteration static, and host overhead "
            "disappears",
     .basis = Basis::kRecipes,
     .cites = {evidence::kOverlapAfterHostOverhead, evidence::kFusedPathBf16},
     .other = Other{"transformer_engine", "leaves the experts' launches to the host"},
     .then = FixedExpertBuffers},
    {.when = [](D d) { return d.on(K::cpu_offloading); },
     .value = "none",
     .why = "activation offloading excludes scoped graphs"},
    {.when = [](D d) { return DenseLayers(d) && d.f.benchmark && d.f.blackwell && d.f.pp == 1; },
     .value = [](D d) { return Value(HasFullIteration(d) ? "full_iteration" : "local"); },
     .why = "dense model on one pipeline stage: shapes are static and Blackwell outruns the host",
     .basis = Basis::kRecipes,
     .cites = {"Megatron-Bridge@067f987df perf_recipes/llama: full iteration on Blackwell with PP 1"},
     .then = WholeDenseIteration},
    {.when = DenseLayers,
     .value = "none",
     .why = "dense layers on this GPU are large enough to keep ahead of the host",
     .basis = Basis::kRecipes,
     .needs_ab = HostBound,
     .ab = ScopedGraphsAb},
    // Full recompute excludes scoped graphs, but it may yet make way for something else.
    {.when = [](D d) { return ExpertPipelineOnX86(d) && d.is(K::recompute_granularity, "full"); },
     .value = "none",
     .why = kPipelineOnX86,
     .basis = Basis::kGuidance,
     .cites = {evidence::kGraphsGuide, evidence::kGraphsQwen},
     .needs_ab = true},
    {.when = ExpertPipelineOnX86,
     .value = "none",
     .why = kPipelineOnX86,
     .basis = Basis::kGuidance,
     .cites = {evidence::kGraphsGuide, evidence::kGraphsQwen},
     .needs_ab = true,
     .ab = ScopedGraphsAb},
    {.when = [](D d) { return d.is(K::recompute_granularity, "full"); },
     .value = "none",
     .why = "full recompute excludes scoped graphs"},
    {.when = [](D d) { return d.f.moe && !HostBound(d) && d.f.ep_crosses_domain && !Hybridep(d); },
     .value = "none",
     .why = "the exchange runs over the network and bounds the step, not the host",
     .basis = Basis::kMeasured,
     .cites = {evidence::kGraphsCommunicationBound}},
    {.when = TightMemory,
     .value = "none",
     .why = WhyNoRoom,
     .basis = Basis::kEstimate,
     .cites = {evidence::kGraphsOutOfMemory},
     .needs_ab = [](D d) { return HostBound(d) || OnFastX86(d); },
     .ab = ScopedGraphsAb},
    {.when = [](D d) { return d.f.moe; },
     .value = "transformer_engine",
     .why = "dropless experts stay outside; attention, router and preprocessing are static and launch-bound",
     .basis = Basis::kMeasured,
     .cites = {evidence::kGraphsQwen, evidence::kGraphsGptOss},
     .other = Other{"full_iteration", "needs static expert shapes"},
     .expected = GainWhereHostBound,
     .then = CapturedModules},
    {.value = "transformer_engine",
     .why = "Mamba blocks are many small kernels with static shapes",
     .basis = Basis::kMeasured,
     .cites = {evidence::kGraphsQwen, evidence::kGraphsGptOss},
     .other = Other{"full_iteration", "needs static expert shapes"},
     .expected = GainWhereHostBound,
     .then = CapturedModules},
};

// Where the loss alone leaves none.
void MakeRoomForGraphs(Deliberation& d) {
  if (!d.open(K::cuda_graph_impl) || d.recompute_needed) return;
  const Row* const row = FirstThatHolds(kGraphs, d);
  if (row == nullptr || row->when != TightMemory) return;
  const Recompute recompute = RecomputeSoFar(d);
  const auto bytes = [&](const Features& f) { return Reserved(f, MemoryNeed(f, recompute)); };
  UnfuseLossForRoom(d, [&](const Features& f) { return Fits(f, bytes(f) + GraphBytes(f)); });
  d.footprint_bytes = bytes(d.f);  // reported pairs may have had more, or less, computed again than was thought
}

void RespectGraphs(Deliberation& d) {
  d.Respect(K::cuda_graph_impl, kRule, "set by the caller");
  if (d.is(K::cuda_graph_impl, "transformer_engine")) {
    const bool spoils = d.f.moe && SpoilsAttention(d);
    d.Follow(ModulesKnob(d), ScopedModules(d, !spoils), K::cuda_graph_impl, kRule,
             spoils ? "the parts of a dropless layer whose shapes are static, without attention: beside EP overlap its "
                      "graphs were seen to spoil gradients"
                    : "the parts of a dropless layer whose shapes are static");
  }
  Companions(d);
}

}  // namespace

void DecideCudaGraphs(Deliberation& d) {
  if (d.pinned(K::cuda_graph_impl)) {
    RespectGraphs(d);
  } else {
    MakeRoomForGraphs(d);
    Choose(d, K::cuda_graph_impl, kRule, kGraphs);
  }
  NoOldName(d);
}

}  // namespace flightplan::decide
