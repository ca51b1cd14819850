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
#include "resolver/layouts/execute_layout.h"
#include "resolver/layouts/execution_space.h"
#include "resolver/layouts/given_knobs.h"
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

// The layers of each stage by which the plan's step is shortest, of those that are worth it; of a plan that does not
// fit, by which it needs the least memory: another dispatcher may fit there. Empty: there are none.
std::vector<int64_t> FastestSplit(const ResolvedPlan& plan) {
  const StepModel& model = plan.step->model;
  const ModelShape& shape = model.shape();
  const bool fits = Launchable(plan);
  Candidate c = CandidateOf(plan);
  // A fork's hash layers stand in the first stage (lff.hash-first-stage).
  const int64_t least = StackOf(plan.env).fork ? plan.decided.config.Get(K::moe_n_hash_layers).integer() : 0;
  double best_value = fits ? plan.step->step.us * (1 - kWorthASplit) : MostMemory(plan);
  const LayerTimes times = TimeLayers(model.work(), c, model.rates());
  const std::vector<ChunkContents>& own = c.stages->chunks;
  std::vector<int64_t> best;
  for (std::vector<int64_t>& layers :
       StageSplits(shape.num_layers, shape.mtp_depths, c.pp, c.vpp, TailLayers(model.work()))) {
    const bool same = std::equal(own.begin(), own.end(), layers.begin(), layers.end(),
                                 [](const ChunkContents& chunk, int64_t count) { return chunk.Layers() == count; });
    if (same || layers.front() < least) continue;
    const StageLayout stages = StagesOfSizes(shape, c.pp, c.vpp, layers);
    c.stages = &stages;
    StepForecast step;
    const double value = fits ? StepUsBelow(best_value, model.work(), c, model.rates(), times, &step)
                              : model.Memory(c).fullest.total.value;
    if (!(value < best_value)) continue;
    best_value = value;
    best = std::move(layers);
  }
  return best;
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
                                 ? absl::StrFormat("the search: %.0f %% shorter step than with %s",
                                                   100 * (1 - split->step_us() / plan.step_us()), kEvenSplit)
                                 : absl::StrCat("the search: fits, where ", kEvenSplit, " does not");
  MarkDecided(K::pipeline_model_parallel_layout, kSplitDecision, reason, split);
}

absl::Status WeighSplits(const NormalizedIntent& intent, const EvidenceSnapshot& evidence, ResolvedPlan* plan) {
  if (!MayCut(intent, *plan)) return absl::OkStatus();
  const std::vector<int64_t> layers = FastestSplit(*plan);
  if (layers.empty()) return absl::OkStatus();
  NormalizedIntent asked = intent;
  asked.layout.virtual_pipeline_model_parallel_size = CandidateOf(*plan).vpp;
  asked.layout.pipeline_model_parallel_layout = LayoutText(layers, plan->step->model.shape().mtp_depths);
  FLIGHTPLAN_ASSIGN_OR_RETURN(ResolvedPlan tried, ExecuteLayout(asked, evidence));
  if (!IsBetterCut(*plan, tried)) return absl::OkStatus();
  TellCut(*plan, &tried);
  if (const Decision* stages = FindDecision(plan->decided.decisions, K::virtual_pipeline_model_parallel_size)) {
    *DecisionOf(K::virtual_pipeline_model_parallel_size, &tried) = *stages;
    MarkDecided(K::virtual_pipeline_model_parallel_size, &tried);
  }
  tried.intent.layout = intent.layout;
  *plan = std::move(tried);
  return absl::OkStatus();
}

}  // namespace flightplan
