// A change of knobs to try on a plan, weighed by the plan's own forecast and put to the rules of its stack.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/estimate/effect.h"
#include "resolver/estimate/step_model.h"
#include "resolver/plan/decision.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/found.h"

namespace flightplan {

inline constexpr double kWorthARun = -0.02;  // repeated runs of one configuration differ by a per cent
inline constexpr double kSmallWall = 0.03;   // of a step: nobody looks for what a smaller one could give

// A plan's own forecast, for comparison with others. `env` holds the variables that the plan exports.
struct PlanForecast {
  const Config& config;
  const Environment& env;
  const Found& found;
  const StageLayout& stages;
  const StepForecast& step;
  StepModel::Room room;
  absl::Span<const Decision> decisions;
  absl::Span<const Finding> findings;  // of the answer so far
  const Patch& chosen;                 // sizes that the caller left open and a search chose
  bool stages_given = false;           // virtual stages or the layout are the caller's word
};

// The first is what a change is about, the others go with it.
using KnobChanges = std::vector<std::pair<Knob, Value>>;

// From the plan to the other run of the pair.
KnobChanges ChangesOf(const AbSuggestion& ab);

// And what the stack's own recipe of the precision that the changes choose then sets beside them.
KnobChanges WithPrecisionRecipe(KnobChanges changes, const Config& config, const Environment& env);

Config With(Config config, const KnobChanges& changes);

// The knob that names what graphs capture: cuda_graph_modules, or what older releases have.
Knob GraphModulesKnob(const Config& config);

// "fp8=hybrid, fp8_recipe=blockwise"
std::string TextOf(const KnobChanges& changes);

// The step of the plan with the changes; nothing where it has none.
std::optional<StepForecast> ForecastWith(const StepModel& model, const PlanForecast& plan, const KnobChanges& changes);

MemoryForecast MemoryWith(const StepModel& model, const PlanForecast& plan, const KnobChanges& changes);

// Whether the stack accepts the plan with the changes and has no warning that the plan has not.
bool MayBeTried(const PlanForecast& plan, const KnobChanges& changes);

// Whether it takes more memory than the plan where that is marginal already: it may not fit, and decisions made anew
// would pay for the room.
inline bool TakesScarceMemory(const PlanForecast& plan, const MemoryForecast& now, const MemoryForecast& then) {
  return plan.room >= StepModel::Room::kMarginal && then.fullest.total.value > now.fullest.total.value;
}

// An empty finding of the next step's kind, for what is seen and needed.
Finding NextStepFinding(absl::string_view source);

// One of the list. Its fix is the changes, which the question has to be asked again with, and decisions that would be
// others beside them: what the plan gives for its memory; what it does not give, where `left` is little room with the
// changes or they are other stages, microbatches or recompute; and beside these how they are executed. What is promised
// holds all else as it is.
Finding OtherStepFinding(absl::string_view rule_id, absl::string_view source, const PlanForecast& plan,
                         const KnobChanges& changes, StepModel::Room left);

// "step -20 % (-26..-14), 69 -> 62 GiB (50..80), all else as it is"
std::string PromiseOf(const StepEffect& effect, const MemoryForecast& now, const MemoryForecast& then);

}  // namespace flightplan
