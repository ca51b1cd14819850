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
#include "resolver/pipeline/resolve.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr char kEvenSplit[] = "as many layers on the last rank as on the others";

// Whether another split can be written, and may be of use: none mends what something else than memory refuses.
bool MayCut(const NormalizedIntent& intent, const ResolvedPlan& plan) {
  const Config& config = plan.decided.config;
  if (plan.step == nullptr || SplitIsGiven(intent) || intent.model.hybrid_layer_pattern.has_value() ||
      config.Get(K::pipeline_model_parallel_size).integer() <= 1 ||
      config.origin(K::pipeline_model_parallel_layout) == Origin::kAbsent) {
    return false;
  }
  return Launchable(plan) || ErrorsBesideMemory(plan).empty();
}

// The layers of each stage, and the stages that they come to.
struct Split {
  std::vector<int64_t> layers;
  StageLayout stages;
};

// The splits that a search knows, but for the plan's own.
std::vector<Split> OtherSplits(const ResolvedPlan& plan, const Candidate& c) {
  const StepModel& model = plan.step->model;
  const ModelShape& shape = model.shape();
  // A fork's hash layers stand in the first stage (lff.hash-first-stage).
  const int64_t least = StackOf(plan.env).fork ? plan.decided.config.Get(K::moe_n_hash_layers).integer() : 0;
  const std::vector<ChunkContents>& own = c.stages->chunks;
  std::vector<Split> splits;
  for (std::vector<int64_t>& layers :
       StageSplits(shape.num_layers, shape.mtp_depths, c.pp, c.vpp, TailLayers(model.work()))) {
    const bool same = std::equal(own.begin(), own.end(), layers.begin(), layers.end(),
                                 [](const ChunkContents& chunk, int64_t count) { return chunk.Layers() == count; });
    if (same || layers.front() < least) continue;
    StageLayout stages = StagesOfSizes(shape, c.pp, c.vpp, layers);
    splits.push_back({std::move(layers), std::move(stages)});
  }
  return splits;
}

// Leaves the split by which the plan's step is shortest, where it is worth it.
void KeepFastest(const ResolvedPlan& plan, Candidate c, std::vector<Split>* splits) {
  const StepModel& model = plan.step->model;
  const LayerTimes times = TimeLayers(model.work(), c, model.rates());
  double limit_us = plan.step->step.us * (1 - kWorthASplit);
  std::vector<Split> fastest;
  for (Split& split : *splits) {
    c.stages = &split.stages;
    StepForecast step;
    const double us = StepUsBelow(limit_us, model.work(), c, model.rates(), times, &step);
    if (!(us < limit_us)) continue;
    limit_us = us;
    fastest.clear();
    fastest.push_back(std::move(split));
  }
  *splits = std::move(fastest);
}

// Leaves the split by which a plan that does not fit needs the least memory: another dispatcher may fit there.
void KeepSmallest(const ResolvedPlan& plan, Candidate c, std::vector<Split>* splits) {
  double least = MostMemory(plan);
  std::vector<Split> smallest;
  for (Split& split : *splits) {
    c.stages = &split.stages;
    const double most = plan.step->model.Memory(c).fullest.total.value;
    if (!(most < least)) continue;
    least = most;
    smallest.clear();
    smallest.push_back(std::move(split));
  }
  *splits = std::move(smallest);
}

// Leaves those with which something may rank before a plan that leaves no room: with another dispatcher or recompute,
// which may fit with that split alone.
void KeepRanking(const NormalizedIntent& intent, const ResolvedPlan& plan, std::vector<Split>* splits) {
  std::vector<StageLayout> stages;
  for (const Split& split : *splits) stages.push_back(split.stages);
  const std::vector<bool> may = MayRankBefore(intent, plan, stages);
  size_t i = 0;
  std::erase_if(*splits, [&](const Split&) { return !may[i++]; });
}

std::vector<Split> WorthExecuting(const NormalizedIntent& intent, const ResolvedPlan& plan) {
  const Candidate own = CandidateOf(plan);
  std::vector<Split> splits = OtherSplits(plan, own);
  if (splits.empty()) return splits;
  if (!Launchable(plan)) {
    KeepSmallest(plan, own, &splits);
  } else if (LeavesNoRoom(plan)) {
    KeepRanking(intent, plan, &splits);
  } else {
    KeepFastest(plan, own, &splits);
  }
  return splits;
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

std::string LayoutTextOf(const StageLayout& stages, int64_t mtp_depths) {
  std::vector<int64_t> layers;
  for (const ChunkContents& chunk : stages.chunks) layers.push_back(chunk.Layers());
  return LayoutText(layers, mtp_depths);
}

bool IsBetterCut(const ResolvedPlan& plan, const ResolvedPlan& split) {
  if (!Launchable(split)) return false;
  if (!Launchable(plan)) return true;
  if (LeavesNoRoom(split) && !LeavesNoRoom(plan)) return false;
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
  const bool kept =
      !CutOf(plan).empty() && known->value == split->decided.config.Get(K::pipeline_model_parallel_layout);
  const std::string reason = kept ? known->reason
                             : Launchable(plan)
                                 ? absl::StrFormat("the search: %.1f %% shorter step than with %s",
                                                   100 * (1 - split->step_us() / plan.step_us()), kEvenSplit)
                                 : absl::StrCat("the search: fits, where ", kEvenSplit, " does not");
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
  for (const Split& split : WorthExecuting(intent, *plan)) {
    NormalizedIntent asked = intent;
    asked.layout.virtual_pipeline_model_parallel_size = CandidateOf(*plan).vpp;
    asked.layout.pipeline_model_parallel_layout = LayoutText(split.layers, plan->step->model.shape().mtp_depths);
    // As the plan is executed: what that gains beside the split may fall short of, or go beyond, what an A/B asks for.
    const GivenKnobs own = ExecutionKnobs(CandidateOf(*plan), plan->decided.config, intent);
    NormalizedIntent alike = asked;
    GiveKnobs(own, &alike);
    FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, Resolve(std::move(alike), evidence));
    if (tried.step != nullptr) {
      TellAsDecided(*plan, own, &tried);
      TakeCut(intent, std::move(tried), plan);
    }
    // Graphs that the plan's own decisions leave to an A/B are no gain of the split's.
    GivenKnobs graphs;
    if (!is_short) {
      std::copy_if(own.begin(), own.end(), std::back_inserter(graphs), [](const auto& knob) {
        return knob.first == K::cuda_graph_impl || knob.first == K::cuda_graph_modules;
      });
    }
    GiveKnobs(graphs, &asked);
    FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan weighed, ExecuteLayout(asked, evidence));
    if (!graphs.empty() && weighed.step != nullptr) TellAsDecided(*plan, graphs, &weighed);
    TakeCut(intent, std::move(weighed), plan);
  }
  return absl::OkStatus();
}

}  // namespace flightplan
