// The decisions: every knob that the caller left open and that is ours to choose, with its reason.
//
// A decision looks at features (layout, fabric, capabilities, precision, memory, measured profile), never at a name.
// What the caller or the model gave is not touched. Where the evidence does not settle a knob, the conservative value
// is taken and an A/B suggested.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/derive/stage_layout.h"
#include "resolver/derive/start_config.h"
#include "resolver/evidence/measurement.h"
#include "resolver/plan/config.h"
#include "resolver/plan/decision.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// The finding that the closed formulas see no room for the plan, whatever is recomputed or offloaded.
inline constexpr absl::string_view kDoesNotFitRule = "decide.does-not-fit";

struct DecidedPlan {
  Config config;
  EnvVars env;  // variables to export: decided ones, and the caller's own unchanged
  std::vector<Decision> decisions;
  std::vector<AbSuggestion> ab_suggestions;
  std::vector<Finding> findings;  // what a caller's wish makes impossible, and what to know about a decision
  StageLayout stages;             // that the decisions judged memory by
};

// `start`: class defaults, the model's knobs (Origin::kModel), layout and pins (Origin::kCaller), and the model's
// shape.
// `reported`: pairs of runs of this class of model on this GPU system; a decision that they change cites them.
DecidedPlan Decide(const NormalizedIntent& intent, const DerivedPlan& start,
                   absl::Span<const Measurement* const> reported = {});

// The most of the step that EP overlap cost in a published run.
inline constexpr double kMostLostByOverlap = 0.13;

// Whether EP overlap was left off by what was published of exchanges inside one NVLink domain alone.
bool IsOverlapKeptInside(const Decision& decision);

// The variables that a plan of the question exports where it comes to this configuration.
EnvVars EnvironmentWith(const NormalizedIntent& intent, const std::optional<ModelShape>& shape, Config config);

// Whether the configuration's flex backend is one that the decisions would take on this system; true without one.
bool FlexBackendRuns(const NormalizedIntent& intent, const Config& config);

// Gives the other side of each A/B what goes with it beside the rest of the plan: attention stays out of the graphs,
// and the shared expert alone, where EP overlap excludes them. Holds after Decide; to be asked again where decisions
// were changed since.
void CompleteOtherSides(const NormalizedIntent& intent, DecidedPlan* plan);
void CompleteOtherSide(const NormalizedIntent& intent, const Config& config, AbSuggestion* ab);

}  // namespace flightplan
