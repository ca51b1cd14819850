// What an answer comes to with a fix, and whether that is better than without.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/estimate/memory.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/finding.h"

namespace flightplan {

// What an answer says, as far as a fix is judged by it.
struct FixOutcome {
  std::vector<absl::string_view> found;   // rule ids of all findings
  std::vector<absl::string_view> errors;  // of those that are errors
  std::vector<absl::string_view> grave;   // those, and what spoils the training
  FitVerdict fit = FitVerdict::kUnknown;
  double memory_bytes = 0;  // of the fullest GPU; 0: not known
  double step_us = 0;       // 0: not known
  // A question's own choice of CUDA graphs (cuda_graph_impl), which is made anew with each fix. Empty: not ours.
  std::string graphs;
};
FixOutcome OutcomeOf(const std::vector<Finding>& findings, const EstimatedPlan* estimate, double step_us);

// Whether the finding is gone and nothing else is worse.
bool IsBetter(const FixOutcome& before, const FixOutcome& after, absl::string_view rule_id);

// Whether any fix of this answer would be said to change the step: of what does not run, the memory fixes alone.
bool SaysStep(const FixOutcome& outcome);

// Of the GPU; what mends the host's is no way to make room there.
bool IsMemory(absl::string_view rule_id);

}  // namespace flightplan
