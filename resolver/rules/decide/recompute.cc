// Which activations are dropped and computed again. Nothing is, unless the layout does not fit without it.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {
namespace {

using K = Knob;
constexpr absl::string_view kRule = "decide.recompute";

struct Step {
  unsigned add;
  absl::string_view name;
};

std::string Gib(double bytes) { return absl::StrFormat("%.0f GiB", bytes / (1u << 30)); }

Value ModulesOf(unsigned bits) {
  static const auto* const kModules =
      new std::vector<std::pair<unsigned, Value>>{{kDropMlaUpProj, Value("mla_up_proj")},
                                                  {kDropMlp, Value("mlp")},
                                                  {kDropMoeAct, Value("moe_act")},
                                                  {kDropLayernorm, Value("layernorm")},
                                                  {kDropSharedExperts, Value("shared_experts")},
                                                  {kDropMoe, Value("moe")}};
  Value::List list;
  for (const auto& [bit, name] : *kModules) {
    if ((bits & bit) != 0) list.push_back(name);
  }
  return Value(std::move(list));
}

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
           {.rule_id = "decide.activation-offload",
            .reason = absl::StrCat("about ", Gib(need), " by the closed formulas, ", Gib(f.capacity),
                                   " usable; recompute would gather sharded weights again"),
            .basis = Basis::kEstimate,
            .citations = {"Megatron-Bridge@067f987df perf_recipes/llama: FSDP with 5 to 40 offloaded layers"}});
  d.Follow(K::cpu_offloading_num_layers, static_cast<int64_t>(wanted), K::cpu_offloading, "decide.activation-offload",
           "the fewest layers that fit");
  d.footprint_bytes = need - wanted * a_layer;
  d.Choose(K::recompute_granularity, Value(), {.rule_id = kRule, .reason = "activation offloading excludes recompute"});
  return true;
}

}  // namespace

void DecideRecompute(Deliberation& d) {
  const Features& f = d.f;
  auto need = [&](unsigned modules) { return Reserved(f, MemoryNeed(f, {.modules = modules})); };
  const double without = need(0);
  d.footprint_bytes = without;
  d.recompute_needed = f.seq > 0 && !Fits(f, without);
  if (!d.open(K::recompute_granularity)) return;
  if (!d.recompute_needed) {
    // The knob stays at its default, off; the reason is worth stating.
    d.Choose(
        K::recompute_granularity, Value(),
        {.rule_id = kRule,
         .reason = f.memory_known ? absl::StrCat("fits without: about ", Gib(without), " by the closed formulas, of ",
                                                 Gib(f.capacity), " usable")
                                  : std::string("this GPU's memory size is not published, so no need for it is known"),
         .basis = Basis::kEstimate});
    return;
  }

  if (OffloadInstead(d)) return;

  // Cheapest bytes first. In MLA the up projections are the largest rows and come with the dense MLP; elsewhere the
  // expert activation and the norms cost next to no arithmetic. `moe` repeats the exchanges, so it comes last before
  // full recompute, and excludes EP overlap.
  const bool low_precision_delayed = f.precision == Precision::kFp8Delayed;
  const bool dense_layers = f.moe && f.shape.MoeLayers() < f.shape.num_layers && !f.hybrid_attention;
  std::vector<Step> steps;
  if (f.mla) steps.push_back({kDropMlaUpProj | (dense_layers ? unsigned{kDropMlp} : 0u), "mla_up_proj"});
  if (f.moe && !low_precision_delayed) steps.push_back({kDropMoeAct | kDropLayernorm, "moe_act"});
  if (f.shared_expert && !d.on(K::moe_shared_expert_overlap)) steps.push_back({kDropSharedExperts, "shared_experts"});
  const bool overlap_pinned = d.on(K::overlap_moe_expert_parallel_comm);
  if (f.moe && !overlap_pinned) steps.push_back({kDropMoe, "moe"});

  unsigned bits = 0;
  double now = without;
  for (const Step& step : steps) {
    if (Fits(f, now)) break;
    bits |= step.add;
    if ((step.add & kDropMoe) != 0) bits &= ~(kDropMoeAct | kDropSharedExperts);  // contained in it
    now = need(bits);
  }
  const double with_full = Reserved(f, MemoryNeed(f, {.full = true}));
  const bool full = bits == 0 || (!Fits(f, now) && !overlap_pinned && with_full < now);
  std::string reason = absl::StrCat("about ", Gib(without), " by the closed formulas, ", Gib(f.capacity), " usable");
  if (full) {
    d.footprint_bytes = with_full;
    absl::StrAppend(&reason, "; selective recompute is not enough");
    if (!d.Choose(K::recompute_granularity, Value("full"),
                  {.rule_id = kRule,
                   .reason = std::move(reason),
                   .basis = Basis::kEstimate,
                   .citations = {evidence::kRecomputeCosts}})) {
      return;
    }
    d.Follow(K::recompute_method, Value("uniform"), K::recompute_granularity, kRule, "full recompute needs a method");
    d.Follow(K::recompute_num_layers, Value(1), K::recompute_granularity, kRule, "one layer is live at a time");
    return;
  }
  d.footprint_bytes = now;
  absl::StrAppend(&reason, "; about ", Gib(now), " with these modules");
  d.Choose(K::recompute_granularity, Value("selective"),
           {.rule_id = kRule,
            .reason = std::move(reason),
            .basis = Basis::kEstimate,
            .citations = {evidence::kRecomputeCosts, evidence::kRecomputeRecipes},
            .alternatives = {{Value("full"), "frees more, costs about a third of the forward work again"}}});
  d.Choose(K::recompute_modules, ModulesOf(bits),
           {.rule_id = kRule,
            .reason = "the modules that free most for the work of computing them again",
            .basis = Basis::kEstimate,
            .citations = {evidence::kRecomputeCosts}});
}

}  // namespace flightplan::decide
