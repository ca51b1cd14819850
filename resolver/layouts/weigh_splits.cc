#include "resolver/layouts/weigh_splits.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/base/status_macros.h"
#include "resolver/derive/candidate.h"
#include "resolver/derive/pipeline.h"
#include "resolver/derive/stage_layout.h"
#include "resolver/estimate/step.h"
#include "resolver/layouts/execution_space.h"
#include "resolver/layouts/given_knobs.h"
#include "resolver/layouts/last_look.h"
#include "resolver/layouts/layout_findings.h"
#include "resolver/layouts/plan_cautions.h"
#include "resolver/layouts/weigh_executions.h"
#include "resolver/pipeline/resolve.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/prediction_stages.h"

namespace flightplan {
namespace {

using K = Knob;

// Per cent of the step: one that gains less ranks before the even split by its memory.
constexpr double kSaidShorter = 0.05;
constexpr char kEvenSplit[] = "as many layers on the last rank as on the others";

// Whether another split can be written, and may be of use: none mends what something else than memory refuses.
bool MayCut(const NormalizedIntent& intent, const ResolvedPlan& plan) {
  const Config& config = plan.decided.config;
  if (plan.step == nullptr || config.Get(K::pipeline_model_parallel_size).integer() <= 1) return false;
  if (!MaySplit(intent, config)) return false;
  return Launchable(plan) || ErrorsBesideMemory(plan).empty();
}

// The split with the least value of those below the limit: one or none. `value_below`: as StepUsBelow.
template <typename ValueBelow>
std::vector<StageLayout> Least(std::vector<StageLayout> splits, double limit, const ValueBelow& value_below) {
  std::vector<StageLayout> least;
  for (StageLayout& split : splits) {
    const double value = value_below(split, limit);
    if (!(value < limit)) continue;
    limit = value;
    least.clear();
    least.push_back(std::move(split));
  }
  return least;
}

// What is worth going through the whole pipeline.
std::vector<StageLayout> WorthExecuting(const NormalizedIntent& intent, const ResolvedPlan& plan) {
  const StepModel& model = plan.step->model;
  Candidate c = CandidateOf(plan);
  std::vector<StageLayout> splits = OtherSplits(plan);
  if (splits.empty()) return splits;
  if (!Launchable(plan)) {  // another dispatcher may fit where the least memory is needed
    c.loss = LeastLoss(plan.intent, model.shape(), plan.decided.config, c);
    return Least(std::move(splits), MostMemory(plan), [&](const StageLayout& split, double) {
      c.stages = &split;
      return model.Memory(c).fullest.total.value;
    });
  }
  if (LeavesNoRoom(plan)) {  // another dispatcher or recompute may fit with one split alone
    const std::vector<bool> may = MayRankBefore(intent, plan, splits);
    size_t i = 0;
    std::erase_if(splits, [&](const StageLayout&) { return !may[i++]; });
    return splits;
  }
  const LayerTimes times = TimeLayers(model.work(), c, model.rates());
  return Least(std::move(splits), plan.step->step.us * (1 - kWorthASplit), [&](const StageLayout& split, double limit) {
    c.stages = &split;
    StepForecast step;
    return StepUsBelow(limit, model.work(), c, model.rates(), times, &step);
  });
}

}  // namespace

bool SplitIsGiven(const NormalizedIntent& intent) {
  constexpr K kOfLayers[] = {K::pipeline_model_parallel_layout,     K::num_layers_in_first_pipeline_stage,
                             K::num_layers_in_last_pipeline_stage,  K::account_for_embedding_in_pipeline_split,
                             K::account_for_loss_in_pipeline_split, K::num_layers_per_virtual_pipeline_stage};
  return intent.layout.pipeline_model_parallel_layout.has_value() ||
         std::any_of(std::begin(kOfLayers), std::end(kOfLayers),
                     [&](K knob) { return PinOf(intent, knob).has_value(); });
}

bool MaySplit(const NormalizedIntent& intent, const Config& config) {
  return !SplitIsGiven(intent) && !intent.model.hybrid_layer_pattern.has_value() &&
         config.origin(K::pipeline_model_parallel_layout) != Origin::kAbsent;
}

int64_t LeastInFirstStage(const Config& config, const Environment& env) {
  return StackOf(env).fork ? config.Get(K::moe_n_hash_layers).integer() : 0;
}

std::vector<StageLayout> OtherSplits(const ResolvedPlan& plan) {
  const Candidate c = CandidateOf(plan);
  const StepModel& model = plan.step->model;
  const ModelShape& shape = model.shape();
  const int64_t least = LeastInFirstStage(plan.decided.config, plan.env);
  const std::vector<ChunkContents>& own = c.stages->chunks;
  std::vector<StageLayout> splits;
  for (const std::vector<int64_t>& split :
       StageSplits(shape.num_layers, shape.mtp_depths, c.pp, c.vpp, TailLayers(model.work()))) {
    const std::vector<int64_t> layers = WithDecoderBesidePrediction(split, shape.mtp_depths, StackOf(plan.env));
    const bool same = std::equal(own.begin(), own.end(), layers.begin(), layers.end(),
                                 [](const ChunkContents& chunk, int64_t count) { return chunk.Layers() == count; });
    if (!same && layers.front() >= least) splits.push_back(StagesOfSizes(shape, c.pp, c.vpp, layers));
  }
  return splits;
}

std::string LayoutTextOf(const StageLayout& stages, int64_t mtp_depths) {
  std::vector<int64_t> layers;
  for (const ChunkContents& chunk : stages.chunks) layers.push_back(chunk.Layers());
  return LayoutText(layers, mtp_depths);
}

bool IsBetterCut(const ResolvedPlan& plan, const ResolvedPlan& split) {
  if (!Launchable(split)) return false;
  if (!Launchable(plan)) return true;
  return RankedUs(split) < RankedUs(plan) * (1 - kWorthASplit);
}

std::string CutOf(const ResolvedPlan& plan) {
  const Decision* const cut = FindDecision(plan.decided.decisions, K::pipeline_model_parallel_layout);
  return cut != nullptr && cut->rule_id == kSplitDecision ? cut->value.ToText() : "";
}

void GiveCut(const ResolvedPlan& plan, NormalizedIntent* intent) {
  std::string cut = CutOf(plan);
  if (!cut.empty()) intent->layout.pipeline_model_parallel_layout = std::move(cut);
}

void TellCut(const ResolvedPlan& plan, ResolvedPlan* split) {
  const Decision* const known = FindDecision(plan.decided.decisions, K::pipeline_model_parallel_layout);
  std::string reason;
  if (CutOf(plan).empty() && !Launchable(plan)) {
    reason = absl::StrCat("the search: fits, where ", kEvenSplit, " does not");
  } else if (CutOf(plan).empty()) {
    const double shorter = 100 * (1 - split->step_us() / plan.step_us());
    reason = shorter >= kSaidShorter
                 ? absl::StrFormat("the search: %.1f %% shorter step than with %s", shorter, kEvenSplit)
                 : absl::StrCat("the search: leaves more room than with ", kEvenSplit);
  } else if (known->value == split->decided.config.Get(K::pipeline_model_parallel_layout)) {
    reason = known->reason;
  } else {  // how much shorter than the even split's is not known of the second
    reason = absl::StrCat("the search: a shorter step than with ", kEvenSplit);
  }
  MarkDecided(K::pipeline_model_parallel_layout, kSplitDecision, reason, split);
}

namespace {

// Takes `tried`, which is the plan's question with a split given, in the plan's place where it is better.
void TakeCut(const NormalizedIntent& intent, ResolvedPlan tried, ResolvedPlan* plan) {
  if (!IsBetterCut(*plan, tried)) return;
  TellCut(*plan, &tried);
  if (const Decision* stages = FindDecision(plan->decided.decisions, K::virtual_pipeline_model_parallel_size)) {
    *DecisionOf(K::virtual_pipeline_model_parallel_size, &tried) = *stages;
    MarkDecided(K::virtual_pipeline_model_parallel_size, &tried);
  }
  tried.intent.layout = intent.layout;
  *plan = std::move(tried);
}

}  // namespace

absl::Status WeighSplits(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, ResolvedPlan* plan) {
  if (!MayCut(intent, *plan)) return absl::OkStatus();
  const bool is_short = !Launchable(*plan) || LeavesNoRoom(*plan);
  for (const StageLayout& split : WorthExecuting(intent, *plan)) {
    NormalizedIntent asked = intent;
    asked.layout.virtual_pipeline_model_parallel_size = CandidateOf(*plan).vpp;
    asked.layout.pipeline_model_parallel_layout = LayoutTextOf(split, plan->step->model.shape().mtp_depths);
    // As the plan is executed: what that gains beside the split may fall short of, or go beyond, what an A/B asks for.
    const GivenKnobs own = ExecutionKnobs(CandidateOf(*plan), plan->decided.config, intent);
    NormalizedIntent alike = asked;
    GiveKnobs(own, &alike);
    FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, Resolve(std::move(alike), evidence));
    if (tried.step != nullptr) {
      TellAsDecided(*plan, own, &tried);
      TakeCut(intent, std::move(tried), plan);
    }
    // An overlap and graphs that the plan's own decisions leave to an A/B are no gain of the split's.
    GivenKnobs unsettled;
    if (!is_short) {
      std::copy_if(own.begin(), own.end(), std::back_inserter(unsettled), [](const auto& knob) {
        const bool overlaps = knob.first == K::overlap_moe_expert_parallel_comm && knob.second.truthy();
        return overlaps || knob.first == K::cuda_graph_impl || knob.first == K::cuda_graph_modules;
      });
    }
    GiveKnobs(unsettled, &asked);
    FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan weighed, ExecuteLayout(asked, evidence));
    if (!unsettled.empty() && weighed.step != nullptr) TellAsDecided(*plan, unsettled, &weighed);
    TakeCut(intent, std::move(weighed), plan);
  }
  return LookAtSplits(intent, evidence, plan);
}

absl::Status ExecuteAsUncut(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, ResolvedPlan* plan) {
  if (!intent.layout.pipeline_model_parallel_layout.has_value() || !MayGainByAb(*plan)) return absl::OkStatus();
  NormalizedIntent uncut = intent;
  uncut.layout.pipeline_model_parallel_layout.reset();
  uncut.layout.virtual_pipeline_model_parallel_size = CandidateOf(*plan).vpp;
  FLIGHTPLAN_ASSIGN_OR_RETURN(const ResolvedPlan even, ExecuteLayout(uncut, evidence));
  const GivenKnobs carried = Carried(even, *plan);
  if (carried.empty() || !Launchable(even)) return absl::OkStatus();
  NormalizedIntent asked = intent;
  GiveKnobs(carried, &asked);
  FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, ExecuteLayout(asked, evidence));
  if (IsBetterCut(*plan, tried)) TakeExecution(carried, std::move(tried), plan);
  return absl::OkStatus();
}

}  // namespace flightplan
