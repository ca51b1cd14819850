// Which activations are dropped and computed again. Nothing is, unless the layout does not fit without it.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/base/bytes.h"
#include "resolver/derive/bridge_provider.h"
#include "resolver/derive/module_names.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"
#include "resolver/rules/decide/rows.h"

namespace flightplan::decide {
namespace {

using K = Knob;
constexpr absl::string_view kRule = "decide.recompute";
constexpr absl::string_view kOffloadRule = "decide.activation-offload";

std::string Gib(double bytes) { return absl::StrFormat("%.0f GiB", bytes / kGib); }

double Kept(const StageBytes& bytes) {
  return bytes[MemoryPart::kAttention] + bytes[MemoryPart::kDenseMlp] + bytes[MemoryPart::kExperts];
}

// With fully sharded parameters a recomputed layer would gather its weights once more, so activations of some layers go
// to the host instead; that path exists for one pipeline stage without recompute.
bool OffloadInstead(Deliberation& d) {
  const Features& f = d.f;
  const int64_t layers = d.intent.model.num_layers;
  if (!f.fsdp || f.pp != 1 || f.moe || layers < 2 || !d.open(K::cpu_offloading) ||
      !d.open(K::cpu_offloading_num_layers))
    return false;
  const StageBytes without = MemoryNeed(f, {});
  const double need = Reserved(f, without);
  const double a_layer = Kept(without) / static_cast<double>(layers);
  const double wanted = a_layer > 0 ? std::ceil((need - f.capacity) / a_layer) : 0;
  if (wanted < 1 || wanted >= static_cast<double>(layers)) return false;
  d.Choose(K::cpu_offloading, true,
           {.rule_id = kOffloadRule,
            .reason = absl::StrCat("about ", Gib(need), " by the closed formulas, ", KeptFree(f),
                                   "; recompute would gather sharded weights again"),
            .basis = Basis::kEstimate,
            .citations = {"Megatron-Bridge@067f987df perf_recipes/llama: FSDP with 5 to 40 offloaded layers"}});
  d.Follow(K::cpu_offloading_num_layers, static_cast<int64_t>(wanted), K::cpu_offloading, kOffloadRule,
           "the fewest layers that fit");
  d.footprint_bytes = need - wanted * a_layer;
  d.Choose(K::recompute_granularity, Value(), {.rule_id = kRule, .reason = "activation offloading excludes recompute"});
  return true;
}

// The caller has graphs of parts of the layers: a layer that is computed again as a whole is in none of them.
bool KeepsScopedGraphs(const Features& f) {
  return f.candidate.graphs == GraphImpl::kLocal || f.candidate.graphs == GraphImpl::kTransformerEngine;
}

// Bits of RecomputeModule that are out of question.
unsigned NeverRecomputed(const Deliberation& d) {
  unsigned never = NeverRecomputedInFp8(d.config(), d.intent.env);
  if (!LimitsOfProvider(d.config(), d.intent.env).layernorm_recompute) never |= kDropLayernorm;
  if (KeepsScopedGraphs(d.f)) never |= NeverRecomputedInGraphs(d.intent.env, d.f.candidate.graph_modules);
  return never | NeverRecomputedBesideMoved(MovedToHost(d.config()));
}

// Cheapest bytes first. In MLA the up projections are the largest rows and come with the dense MLP; elsewhere the
// expert activation and the norms cost next to no arithmetic. What comes last repeats whole parts of the layer: on
// LoongForge under EP overlap those that its schedule can pair, elsewhere `moe`, which repeats the exchanges and
// excludes EP overlap.
std::vector<DropStep> StepsFor(const Deliberation& d, bool overlap, bool paired) {
  const Features& f = d.f;
  const bool dense_layers = f.moe && f.shape.MoeLayers() < f.shape.num_layers && !f.hybrid_attention;
  std::vector<DropStep> steps;
  if (f.mla) steps.push_back({kDropMlaUpProj | (dense_layers ? unsigned{kDropMlp} : 0u)});
  if (f.moe) steps.push_back({kDropMoeAct | kDropLayernorm});
  if (f.shared_expert && !d.on(K::moe_shared_expert_overlap)) steps.push_back({kDropSharedExperts});
  if (paired) {
    steps.insert(steps.end(), std::begin(kWithinOverlapSteps), std::end(kWithinOverlapSteps));
  } else if (f.moe && !overlap) {
    steps.push_back({kDropMoe, kDropMoeAct | kDropSharedExperts});
  }
  const unsigned never = NeverRecomputed(d);
  for (DropStep& step : steps) step.add &= ~never;
  std::erase_if(steps, [](const DropStep& step) { return step.add == 0; });
  return steps;
}

// LoongForge moves the inputs of recomputed experts to the host while other microbatches compute; its documentation
// advises to bind each process to the NUMA node of its GPU for that.
unsigned TensorsToOffload(const Deliberation& d, unsigned recomputed) {
  if ((recomputed & kDropOverlapExperts) == 0 || !d.open(K::fine_grained_activation_offloading)) return 0;
  return InputsOfOverlapExperts(d.f);
}

void OffloadTensors(Deliberation& d, unsigned tensors) {
  d.Choose(K::fine_grained_activation_offloading, true,
           {.rule_id = kOffloadRule,
            .reason = "recompute inside the overlap schedule is not enough: the inputs it starts from wait on the host",
            .basis = Basis::kEstimate,
            .citations = {evidence::kLoongForgeOverlap}});
  d.Follow(K::offload_tensors, OffloadTensorsOf(tensors), K::fine_grained_activation_offloading, kOffloadRule,
           "the inputs of what a2a_overlap_mlp recomputes");
  d.Follow(K::bindpcie, true, K::fine_grained_activation_offloading, kOffloadRule,
           "copies to the host run at full rate only from the GPU's own NUMA node");
}

// What is computed again, and what one GPU holds by it.
struct Relief {
  bool full = false;
  bool paired = false;   // by the modules that LoongForge's overlap schedule can pair
  unsigned modules = 0;  // RecomputeModule bits
  unsigned tensors = 0;  // OffloadModule bits
  double bytes = 0;
};

double BytesWith(const Features& f, Recompute recompute) { return Reserved(f, MemoryNeed(f, recompute)); }

// Module by module until the layout fits; everything where modules are not enough and full recompute frees more.
Relief FindRelief(D d, double without) {
  const Features& f = d.f;
  const bool overlap_pinned = d.on(K::overlap_moe_expert_parallel_comm) || WgradAsksForOverlap(d);
  Relief relief{.paired = d.stack.fork && WillOverlapExperts(d), .bytes = without};
  for (const DropStep& step : StepsFor(d, overlap_pinned, relief.paired)) {
    if (Fits(f, relief.bytes)) break;
    relief.modules = (relief.modules | step.add) & ~step.contains;
    relief.bytes = BytesWith(f, {.modules = relief.modules});
  }
  relief.tensors = Fits(f, relief.bytes) ? 0 : TensorsToOffload(d, relief.modules);
  if (relief.tensors != 0) relief.bytes = BytesWith(f, {.modules = relief.modules, .offload = relief.tensors});
  if (relief.modules != 0 && Fits(f, relief.bytes)) return relief;
  const double with_full = BytesWith(f, {.full = true});
  const bool frees_more = relief.modules == 0 || (!overlap_pinned && with_full < relief.bytes);
  if (frees_more && !KeepsScopedGraphs(f) && MovedToHost(d.config()) == 0) {
    relief.full = true;
    relief.bytes = with_full;
  }
  return relief;
}

// The knob stays at its default, off; the reason is worth stating.
void ChooseNone(Deliberation& d) {
  d.Choose(
      K::recompute_granularity, Value(),
      {.rule_id = kRule,
       .reason = d.f.memory_known ? absl::StrCat("fits without by the closed formulas, ", KeptFree(d.f))
                                  : std::string("this GPU's memory size is not published, so no need for it is known"),
       .basis = Basis::kEstimate});
}

void ChooseNoneBesideWishes(Deliberation& d, std::string reason) {
  absl::StrAppend(&reason, KeepsScopedGraphs(d.f) ? "; the graphs that are asked for exclude what would make room"
                                                  : "; what is moved to the host excludes what would make more room");
  d.Choose(K::recompute_granularity, Value(),
           {.rule_id = kRule, .reason = std::move(reason), .basis = Basis::kEstimate});
}

// Pipelines of latent attention with experts: their largest activations are what a few small products expand, so that
// published recipes keep the room for what no forecast counts, such as experts that get more rows than others.
void ChooseUpProjection(Deliberation& d) {
  const double with = BytesWith(d.f, {.modules = kDropMlaUpProj});
  d.Choose(K::recompute_granularity, Value("selective"),
           {.rule_id = kRule,
            .reason = absl::StrCat(d.f.memory_known ? "fits without; " : "",
                                   "published pipelines of latent attention compute its up projections again ",
                                   d.f.memory_known ? "all the same" : "", ", which leaves about ",
                                   Gib(d.footprint_bytes - with), " more free"),
            .basis = Basis::kRecipes,
            .citations = {evidence::kUpProjectionRecipes, evidence::kRecomputeCosts},
            .alternatives = {{Value(), "fits too, and saves the work of computing them again"}}});
  d.Choose(K::recompute_modules, RecomputeModulesOf(kDropMlaUpProj),
           {.rule_id = kRule,
            .reason = "the up projections of latent attention expand into its largest activations",
            .basis = Basis::kRecipes,
            .citations = {evidence::kUpProjectionRecipes}});
  d.footprint_bytes = with;
}

// What full recompute needs beside it.
void CompleteFull(Deliberation& d) {
  d.Follow(K::recompute_method, Value("uniform"), K::recompute_granularity, kRule, "full recompute needs a method");
  d.Follow(K::recompute_num_layers, Value(1), K::recompute_granularity, kRule, "one layer is live at a time");
}

void ChooseFull(Deliberation& d, std::string reason) {
  absl::StrAppend(&reason, "; selective recompute is not enough");
  if (!d.Choose(K::recompute_granularity, Value("full"),
                {.rule_id = kRule,
                 .reason = std::move(reason),
                 .basis = Basis::kEstimate,
                 .citations = {evidence::kRecomputeCosts}})) {
    return;
  }
  CompleteFull(d);
}

void ChooseModules(Deliberation& d, const Relief& relief, std::string reason) {
  absl::StrAppend(&reason, Fits(d.f, relief.bytes) ? "; these modules make room" : "; these modules free most");
  d.Choose(K::recompute_granularity, Value("selective"),
           {.rule_id = kRule,
            .reason = std::move(reason),
            .basis = Basis::kEstimate,
            .citations = {evidence::kRecomputeCosts, evidence::kRecomputeRecipes},
            .alternatives = {{Value("full"), "frees more, costs about a third of the forward work again"}}});
  d.Choose(K::recompute_modules, RecomputeModulesOf(relief.modules),
           {.rule_id = kRule,
            .reason = "the modules that free most for the work of computing them again",
            .basis = Basis::kEstimate,
            .citations = {relief.paired ? evidence::kLoongForgeOverlap : evidence::kRecomputeCosts}});
  if (relief.tensors != 0) OffloadTensors(d, relief.tensors);
}

}  // namespace

Recompute RecomputeSoFar(const Deliberation& d) {
  if (d.f.shape.kind_count == 0) return {};
  const Candidate candidate = CandidateOf(d.config(), d.intent.env, d.f.shape, d.f.stages);
  if (candidate.recompute == RecomputeMode::kSelective) return {.modules = candidate.recompute_modules};
  return {.full = candidate.recompute != RecomputeMode::kNone};
}

void DecideRecompute(Deliberation& d) {
  double without = BytesWith(d.f, {});
  if (!Fits(d.f, without)) {
    const Recompute given = RecomputeSoFar(d);
    const bool unfused = UnfuseLossForRoom(d, [&](const Features& f) { return Fits(f, BytesWith(f, given)); });
    if (unfused) without = BytesWith(d.f, {});
  }
  d.footprint_bytes = without;
  d.recompute_needed = d.f.seq > 0 && !Fits(d.f, without);
  if (!d.open(K::recompute_granularity)) {
    if (d.config().Get(K::recompute_granularity).text() == "full") CompleteFull(d);
    d.footprint_bytes = BytesWith(d.f, RecomputeSoFar(d));
    return;
  }
  if (!d.recompute_needed) {
    const bool habit = d.f.pp > 1 && UpProjectionIsHabit(d.intent, d.f.candidate);
    return habit && d.open(K::recompute_modules) ? ChooseUpProjection(d) : ChooseNone(d);
  }
  if (OffloadInstead(d)) return;
  const Relief relief = FindRelief(d, without);
  d.footprint_bytes = relief.bytes;
  std::string reason = absl::StrCat("about ", Gib(without), " without it by the closed formulas, ", KeptFree(d.f));
  if (relief.full) return ChooseFull(d, std::move(reason));
  if (relief.modules == 0) return ChooseNoneBesideWishes(d, std::move(reason));
  ChooseModules(d, relief, std::move(reason));
}

}  // namespace flightplan::decide
