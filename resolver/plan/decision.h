// Why one knob has its value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/knob.h"

namespace flightplan {

enum class Basis { kCaller, kRule, kMeasured, kRecipes, kGuidance, kEstimate };

struct Alternative {
  Value value;
  std::string reason;  // why not, one sentence
};

struct Decision {
  absl::string_view rule_id;  // "decide.ep-overlap"
  Knob knob{};
  std::string env_var;  // set when an environment variable was decided
  Value value;
  std::string reason;  // one sentence, with the figures that mattered
  Basis basis = Basis::kGuidance;
  std::vector<std::string> citations;  // evidence row, recipe, document
  std::vector<Alternative> alternatives;
  bool needs_ab = false;                      // evidence does not settle it; the conservative value was taken
  std::optional<double> expected_step_ratio;  // relative change of the step against the alternative; negative is faster
};

// Rule ids of decisions that a search took.
inline constexpr char kLayoutDecision[] = "plan.layout";
inline constexpr char kSplitDecision[] = "plan.layer-split";
inline constexpr char kExecutionDecision[] = "plan.execution";

// Whether evidence has the last word: a measurement, or what published recipes have in common. No forecast overrules
// it.
inline bool IsSettled(const Decision& decision) {
  return !decision.needs_ab && (decision.basis == Basis::kMeasured || decision.basis == Basis::kRecipes);
}

// The decision about a knob; null: none.
inline const Decision* FindDecision(absl::Span<const Decision> decisions, Knob knob) {
  for (const Decision& decision : decisions) {
    if (decision.env_var.empty() && decision.knob == knob) return &decision;
  }
  return nullptr;
}

// Two runs that differ in one knob (and in what must go with it).
struct AbSuggestion {
  Knob knob{};
  Value plan_value;
  Value other_value;
  std::vector<std::pair<Knob, Value>> companions;
  std::string reason;
  EnvVars env;                             // variables that the other run exports
  double expected = 0, low = 0, high = 0;  // relative change of the step; all zero: unknown
};

}  // namespace flightplan
