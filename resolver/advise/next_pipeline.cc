#include "resolver/advise/next_pipeline.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "resolver/advise/more_recompute.h"
#include "resolver/derive/pipeline.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr size_t kMostForecast = 12, kMostJudged = 3;
// From what changes least, as the search would try them.
constexpr int64_t kVirtualStages[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16};

struct Pipeline {
  KnobChanges changes;
  StepEffect effect;
};

// Whether the layers stand in the stages by other words than the number of stages and the layout.
bool OtherWords(const NormalizedIntent& intent, const Config& config) {
  return intent.model.hybrid_layer_pattern.has_value() || config.Get(K::account_for_loss_in_pipeline_split).truthy() ||
         config.Get(K::account_for_embedding_in_pipeline_split).truthy() ||
         !config.Get(K::num_layers_in_first_pipeline_stage).is_none() ||
         !config.Get(K::num_layers_in_last_pipeline_stage).is_none() ||
         config.origin(K::pipeline_model_parallel_layout) == Origin::kAbsent ||
         config.origin(K::virtual_pipeline_model_parallel_size) == Origin::kAbsent;
}

// The layout's letters stand in the fix.
std::string Words(const KnobChanges& changes) {
  std::vector<std::string> words;
  for (const auto& [knob, value] : changes) {
    if (knob == K::virtual_pipeline_model_parallel_size) {
      const int64_t count = value.is_none() ? 1 : value.integer();
      words.push_back(absl::StrCat(count, count == 1 ? " virtual stage" : " virtual stages", " a rank"));
    } else if (knob == K::pipeline_model_parallel_layout) {
      words.emplace_back(value.is_none() ? "as many layers to each stage" : "the layers laid out anew");
    } else {
      words.push_back(TextOf({{knob, value}}));
    }
  }
  return absl::StrJoin(words, ", ");
}

// All that are not the plan's own, those that are nearest to it first.
std::vector<KnobChanges> Others(const StepModel& model, const PlanForecast& plan) {
  const Config& config = plan.config;
  const int64_t layers = model.shape().num_layers, mtp = model.shape().mtp_depths;
  const int64_t pp = plan.stages.pp, own = plan.stages.vpp;
  const Value& own_layout = config.Get(K::pipeline_model_parallel_layout);
  std::vector<int64_t> counts(std::begin(kVirtualStages), std::end(kVirtualStages));
  std::stable_sort(counts.begin(), counts.end(),
                   [own](int64_t a, int64_t b) { return std::abs(a - own) < std::abs(b - own); });
  std::vector<KnobChanges> others;
  for (const int64_t vpp : counts) {
    if (pp * vpp > layers) continue;
    const bool even = layers % (pp * vpp) == 0;
    bool plain = true;
    for (const std::vector<int64_t>& split : StageSplits(layers, mtp, pp, vpp, TailLayers(model.work()))) {
      const Value layout = even && std::exchange(plain, false) ? Value() : Value(LayoutText(split, mtp));
      if (vpp == own && layout == own_layout) continue;
      KnobChanges changes;
      if (vpp != own) changes.emplace_back(K::virtual_pipeline_model_parallel_size, vpp > 1 ? Value(vpp) : Value());
      if (layout != own_layout) changes.emplace_back(K::pipeline_model_parallel_layout, layout);
      others.push_back(std::move(changes));
      if (others.size() == kMostForecast) return others;
    }
  }
  return others;
}

// Whether it leaves as much room as the plan does, if need be with more computed again, where the step is still worth a
// run.
bool LeavesRoom(const NormalizedIntent& intent, const StepModel& model, const PlanForecast& plan,
                const MemoryForecast& now, Pipeline* pipeline) {
  const auto fits = [&](const KnobChanges& changes) {
    const MemoryForecast memory = MemoryWith(model, plan, changes);
    return StepModel::RoomOf(memory.verdict) <= plan.room && !TakesScarceMemory(plan, now, memory);
  };
  if (fits(pipeline->changes)) return true;
  for (const KnobChanges& more : MoreRecompute(intent, plan.config)) {
    KnobChanges changes = pipeline->changes;
    changes.insert(changes.end(), more.begin(), more.end());
    if (!fits(changes)) continue;
    const std::optional<StepForecast> then = ForecastWith(model, plan, changes);
    if (!then.has_value()) continue;
    const StepEffect effect = EffectOf(plan.step, *then);
    if (effect.change >= kWorthARun) continue;
    *pipeline = {std::move(changes), effect};
    return true;
  }
  return false;
}

}  // namespace

std::optional<Finding> FindNextPipeline(const NormalizedIntent& intent, const StepModel& model,
                                        const PlanForecast& plan, const StepOutlook& outlook) {
  const Config& config = plan.config;
  const auto bubble = std::find_if(outlook.walls.begin(), outlook.walls.end(),
                                   [](const WallShare& wall) { return wall.name == "bubble"; });
  if (!plan.stages_given || bubble == outlook.walls.end() || bubble->ratio < kSmallWall || plan.stages.pp <= 1 ||
      intent.stage == Stage::kBringUp || plan.room == StepModel::Room::kShort || OtherWords(intent, config) ||
      model.shape().num_layers > kMostLayersOfText) {
    return std::nullopt;
  }
  // A bubble that was measured is larger than the forecast knows: fewer virtual stages are no way out of it.
  const bool measured = intent.profile.has_value() && intent.profile->pipeline_bubble_ratio.has_value();
  std::vector<Pipeline> better;
  for (KnobChanges& changes : Others(model, plan)) {
    const auto& [first, value] = changes.front();
    if (measured && first == K::virtual_pipeline_model_parallel_size && value.integer() < plan.stages.vpp) continue;
    const std::optional<StepForecast> then = ForecastWith(model, plan, changes);
    if (!then.has_value()) continue;
    const StepEffect effect = EffectOf(plan.step, *then);
    if (effect.change < kWorthARun) better.push_back({std::move(changes), effect});
  }
  if (better.empty()) return std::nullopt;
  std::stable_sort(better.begin(), better.end(),
                   [](const Pipeline& a, const Pipeline& b) { return a.effect.change < b.effect.change; });
  better.resize(std::min(better.size(), kMostJudged));
  const MemoryForecast now = model.Memory(config, plan.env, plan.stages);
  std::optional<Pipeline> best;
  for (Pipeline& pipeline : better) {
    if (best.has_value() && best->effect.change <= pipeline.effect.change) break;
    if (!LeavesRoom(intent, model, plan, now, &pipeline) || !MayBeTried(plan, pipeline.changes)) continue;
    if (!best.has_value() || pipeline.effect.change < best->effect.change) best = std::move(pipeline);
  }
  if (!best.has_value()) return std::nullopt;
  const MemoryForecast memory = MemoryWith(model, plan, best->changes);
  Finding finding = OtherStepFinding("decide.next-step-pipeline", "the schedule replayed with the forecast's pieces",
                                     plan, best->changes, StepModel::RoomOf(memory.verdict));
  const int own = plan.stages.vpp;
  finding.seen = absl::StrFormat("the bubble takes %.0f %% of the step with %d virtual %s a rank", 100 * bubble->ratio,
                                 own, own == 1 ? "stage" : "stages");
  finding.needs = absl::StrCat("next to try: ", Words(best->changes), "; ", PromiseOf(best->effect, now, memory),
                               ". You gave the stages, so they stay until you change them");
  return finding;
}

}  // namespace flightplan
