#include "resolver/layouts/resolve_layout.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/work.h"
#include "resolver/layouts/execute_layout.h"
#include "resolver/layouts/given_knobs.h"
#include "resolver/layouts/last_look.h"
#include "resolver/layouts/layout_search.h"
#include "resolver/layouts/plan_cautions.h"
#include "resolver/layouts/search_work.h"
#include "resolver/layouts/virtual_stages.h"
#include "resolver/layouts/weigh_executions.h"
#include "resolver/layouts/weigh_splits.h"
#include "resolver/pipeline/resolve.h"

namespace flightplan {
namespace {

using K = Knob;

// Numbers of virtual stages as close as this are told apart by their number; half of it, so that the one that is taken
// is not a longer step than another question would find.
constexpr double kAsFastStages = kAsFast / 2;
// Numbers of virtual stages that go through the whole pipeline and can be launched.
constexpr size_t kMostStageCounts = 8;

// A plan with one of the numbers of virtual stages, and what its step counts for: that hangs on how it is executed.
struct StagedPlan {
  ResolvedPlan plan;
  int64_t stages = 1;
  double caution = 1;
  double RankedUs() const { return plan.step_us() * caution; }
};

std::pair<bool, int64_t> Plainness(const StagedPlan& plan) { return {LeavesNoRoom(plan.plan), plan.stages}; }

// Of the plans that are as fast as the fastest the one with the fewest virtual stages, of those that leave room where
// one does. Where that leaves none, the one that ranks first with what its memory counts for; and before it the fastest
// of those that leave room and take no longer, whatever their stages count for.
StagedPlan& FewestStagesOfTheFastest(std::vector<StagedPlan>& plans) {
  double fastest_us = std::numeric_limits<double>::max();
  for (const StagedPlan& plan : plans) fastest_us = std::min(fastest_us, plan.RankedUs());
  StagedPlan* best = nullptr;
  for (StagedPlan& plan : plans) {
    if (plan.RankedUs() > fastest_us * (1 + kAsFastStages)) continue;
    if (best == nullptr || Plainness(plan) < Plainness(*best)) best = &plan;
  }
  if (!LeavesNoRoom(best->plan)) return *best;
  for (StagedPlan& plan : plans) {
    if (!LeavesNoRoom(plan.plan)) continue;
    if (RankedUs(plan.plan) < RankedUs(best->plan) * (1 - kAsFastStages)) best = &plan;
  }
  double least_us = best->plan.step_us();
  for (StagedPlan& plan : plans) {
    if (LeavesNoRoom(plan.plan) || plan.plan.step_us() > least_us) continue;
    least_us = plan.plan.step_us();
    best = &plan;
  }
  return *best;
}

double CautionOf(const ResolvedPlan& plan) {
  return plan.step == nullptr ? 1 : 1 + CautionsOf(plan, /*memory=*/false).ratio();
}

// With the layers cut as is best, where the caller does not say how.
absl::StatusOr<ResolvedPlan> ExecuteCut(const NormalizedIntent& intent, const EvidenceSnapshot& evidence) {
  absl::StatusOr<ResolvedPlan> plan = ExecuteLayout(intent, evidence);
  if (plan.ok()) FLIGHTPLAN_RETURN_IF_ERROR(WeighSplits(intent, evidence, &*plan));
  if (plan.ok()) FLIGHTPLAN_RETURN_IF_ERROR(ExecuteAsUncut(intent, evidence, &*plan));
  return plan;
}

// Adds what can be launched of these numbers to the plans, those that are not among `tried` yet, until there are
// `most`.
absl::Status ExecuteStages(const std::vector<int64_t>& counts, size_t most, const NormalizedIntent& intent,
                           const EvidenceSnapshot& evidence, std::vector<int64_t>* tried,
                           std::vector<StagedPlan>* plans) {
  for (const int64_t stages : counts) {
    if (plans->size() >= most) break;
    if (std::find(tried->begin(), tried->end(), stages) != tried->end()) continue;
    tried->push_back(stages);
    Work::Spend(WorkOfAPlan(intent));
    if (Work::Spent()) break;
    NormalizedIntent asked = intent;
    asked.layout.virtual_pipeline_model_parallel_size = stages;
    FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan plan, ExecuteCut(asked, evidence));
    const double caution = CautionOf(plan);
    if (Launchable(plan)) plans->push_back({std::move(plan), stages, caution});
  }
  return absl::OkStatus();
}

bool PaysForRoom(const ResolvedPlan& plan) {
  const Config& config = plan.decided.config;
  return !config.Get(K::recompute_granularity).is_none() || config.Get(K::optimizer_cpu_offload).truthy();
}

GivenKnobs WeighedKnobs(const ResolvedPlan& plan) {
  GivenKnobs knobs;
  for (const Decision& decision : plan.decided.decisions) {
    if (decision.rule_id == kExecutionDecision && decision.env_var.empty())
      knobs.emplace_back(decision.knob, decision.value);
  }
  // Modules alone would leave open whether anything is computed again, and a share whether any of it is on the host.
  for (const auto& [part, whole] : {std::pair{K::recompute_modules, K::recompute_granularity},
                                    {K::optimizer_offload_fraction, K::optimizer_cpu_offload}}) {
    const auto has = [&](Knob knob) {
      return std::any_of(knobs.begin(), knobs.end(), [&](const auto& given) { return given.first == knob; });
    };
    const bool decided = plan.decided.config.origin(whole) == Origin::kDecided;
    if (decided && has(part) && !has(whole)) knobs.emplace_back(whole, plan.decided.config.Get(whole));
  }
  return knobs;
}

// How the best number of virtual stages is executed, apart from what hangs on the memory of each.
constexpr Knob kExchange[] = {K::moe_token_dispatcher_type, K::moe_flex_dispatcher_backend,
                              K::overlap_moe_expert_parallel_comm, K::cuda_graph_impl, K::cuda_graph_modules};
// And what it computes again.
constexpr Knob kRecompute[] = {K::recompute_granularity, K::recompute_modules, K::recompute_method,
                               K::recompute_num_layers};

// Adds those of the knobs that the plan decided.
GivenKnobs WithDecided(const ResolvedPlan& plan, absl::Span<const Knob> of, GivenKnobs knobs) {
  for (const Knob knob : of) {
    const Config& config = plan.decided.config;
    const bool decided = config.origin(knob) == Origin::kDecided && FindDecision(plan.decided.decisions, knob);
    const bool known = std::any_of(knobs.begin(), knobs.end(), [&](const auto& given) { return given.first == knob; });
    if (decided && !known) knobs.emplace_back(knob, config.Get(knob));
  }
  return knobs;
}

// Takes `tried` in the place of a plan with as many virtual stages, where it ranks before it and leaves as much room,
// or `full`, where none need be left.
void TakeShared(const GivenKnobs& given, bool full, ResolvedPlan tried, StagedPlan* own) {
  if (tried.step == nullptr || !Launchable(tried)) return;
  const double caution = CautionOf(tried);
  if (tried.step_us() * caution >= own->RankedUs()) return;
  if (!full && LeavesNoRoom(tried) && MostMemory(tried) > MostMemory(own->plan)) return;
  TellAsDecided(own->plan, given, &tried);
  if (!CutOf(own->plan).empty()) TellCut(own->plan, &tried);
  own->plan = std::move(tried);
  own->caution = caution;
}

// How the best number of virtual stages is executed holds at the others, too, where their own gain was a little short
// of it, or their decisions, one after the other, came out otherwise: else the word that is given back would find
// another number. As it is, and with what hangs on the memory of each weighed again.
absl::Status ShareExecution(const NormalizedIntent& intent, const EvidenceSnapshot& evidence,
                            std::vector<StagedPlan>* plans) {
  const ResolvedPlan& best = FewestStagesOfTheFastest(*plans).plan;
  const bool full = LeavesNoRoom(best);  // its decisions held it for enough; others with their own may pay for room
  const GivenKnobs exchange = WithDecided(best, kExchange, {});
  GivenKnobs all = WithDecided(best, kExchange, WeighedKnobs(best));
  if (full) all = WithDecided(best, kRecompute, std::move(all));
  const auto has = [](const ResolvedPlan& plan) {
    return [&plan](const auto& knob) { return plan.decided.config.Get(knob.first) == knob.second; };
  };
  for (StagedPlan& own : *plans) {
    if (std::all_of(all.begin(), all.end(), has(own.plan))) continue;
    NormalizedIntent asked = intent;
    asked.layout.virtual_pipeline_model_parallel_size = own.stages;
    GiveCut(own.plan, &asked);
    NormalizedIntent alike = asked;
    GiveKnobs(all, &alike);
    const bool other_exchange = !std::all_of(exchange.begin(), exchange.end(), has(own.plan));
    FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, Resolve(std::move(alike), evidence));
    TakeShared(all, full, std::move(tried), &own);
    if (!other_exchange) continue;
    GiveKnobs(exchange, &asked);
    FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan weighed, ExecuteLayout(asked, evidence));
    TakeShared(exchange, full, std::move(weighed), &own);
  }
  return absl::OkStatus();
}

// A bring-up is about whether the run is right: it has virtual stages, a part more that can be wrong, only where no
// pipeline without them starts, however much faster they are.
constexpr char kPlainPipeline[] = "bring-up: virtual stages come after the run is correct; the stage tune weighs them";
constexpr char kNoPlainPipeline[] = "bring-up: no pipeline without virtual stages starts; of these the search's choice";

// Of a bring-up whose virtual stages are open.
void SayStages(const char* why, ResolvedPlan* plan) {
  Decision* const decision = DecisionOf(K::virtual_pipeline_model_parallel_size, plan);
  decision->rule_id = kLayoutDecision;
  decision->reason = why;
  decision->basis = Basis::kGuidance;
  decision->value = plan->run.config.Get(K::virtual_pipeline_model_parallel_size);
}

absl::StatusOr<ResolvedPlan> Searched(const NormalizedIntent& intent, const EvidenceSnapshot& evidence) {
  const bool bring_up = intent.stage == Stage::kBringUp;
  if (bring_up) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan plain, ExecuteCut(intent, evidence));
    if (Launchable(plain)) {
      if (VirtualStagesAreOpen(intent)) SayStages(kPlainPipeline, &plain);
      return plain;
    }
  }
  VirtualStageSearch search(intent);
  const std::vector<int64_t> counts = search.AsDecided();
  std::vector<StagedPlan> plans;  // that can be launched
  std::vector<int64_t> tried;
  // The first that can be launched says how the others are executed.
  for (size_t i = 0; i < counts.size() && plans.empty(); ++i) {
    FLIGHTPLAN_RETURN_IF_ERROR(ExecuteStages({counts[i]}, kMostStageCounts, intent, evidence, &tried, &plans));
  }
  if (plans.empty()) {
    absl::StatusOr<ResolvedPlan> plain = ExecuteCut(intent, evidence);
    // A number may fit with what this one puts on the host.
    if (!plain.ok() || !Launchable(*plain) || !PaysForRoom(*plain)) return plain;
    tried.push_back(1);
    FLIGHTPLAN_RETURN_IF_ERROR(ExecuteStages(search.AsIn(*plain), kMostStageCounts, intent, evidence, &tried, &plans));
    if (plans.empty()) return plain;
    const double caution = CautionOf(*plain);
    plans.insert(plans.begin(), {*std::move(plain), 1, caution});
  }
  FLIGHTPLAN_RETURN_IF_ERROR(
      ExecuteStages(search.AsIn(plans.front().plan), kMostStageCounts, intent, evidence, &tried, &plans));
  FLIGHTPLAN_RETURN_IF_ERROR(ShareExecution(intent, evidence, &plans));
  ResolvedPlan best = std::move(FewestStagesOfTheFastest(plans).plan);
  FLIGHTPLAN_RETURN_IF_ERROR(LookAtStages(intent, evidence, &search, &best));
  FLIGHTPLAN_RETURN_IF_ERROR(WeighSplits(intent, evidence, &best));
  MarkDecided(K::virtual_pipeline_model_parallel_size, kLayoutDecision, kLeftOpen, &best);
  if (bring_up) SayStages(kNoPlainPipeline, &best);
  best.intent.layout = intent.layout;
  return best;
}

// With numbers of virtual stages that fit beside LoongForge's recompute within the overlap alone.
absl::StatusOr<ResolvedPlan> Resolved(const NormalizedIntent& intent, const EvidenceSnapshot& evidence) {
  absl::StatusOr<ResolvedPlan> plan = Searched(intent, evidence);
  if (!plan.ok() || !VirtualStagesAreOpen(intent)) return plan;
  const auto searched = [&](const NormalizedIntent& asked) { return Searched(asked, evidence); };
  FLIGHTPLAN_RETURN_IF_ERROR(WeighWithinOverlap(intent, searched, &*plan));
  return plan;
}

}  // namespace

absl::StatusOr<ResolvedPlan> ResolveLayout(const NormalizedIntent& intent, const EvidenceSnapshot& evidence) {
  // A question that had spent its work before has what is known without a search.
  const bool spent = Work::Spent();
  absl::StatusOr<ResolvedPlan> plan = Resolved(intent, evidence);
  if (spent || !plan.ok()) return plan;
  absl::Status whole = CheckWork();
  if (!whole.ok()) plan = std::move(whole);
  return plan;
}

void SayPlainPipeline(ResolvedPlan* plan) { SayStages(kPlainPipeline, plan); }

}  // namespace flightplan
