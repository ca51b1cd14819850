// What is said of a search for layouts, and what refuses a plan for other reasons than its sizes.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/finding.h"

namespace flightplan {

// What refuses a plan, whatever its memory and the sizes that are open.
std::vector<Finding> ErrorsBesideMemory(const ResolvedPlan& plan);

// What refuses every layout alike: the model, its precision on these GPUs, or pins. Nothing need be searched. `plain`:
// the question without a search.
std::vector<Finding> ErrorsOfEveryLayout(const ResolvedPlan& plain);
inline constexpr char kEachRefused[] = "no layout was searched: each would be refused, whatever its sizes";

// A finding about a search. `id` must outlive it: a constant.
Finding PlanFinding(absl::string_view id, Severity severity, std::string seen, std::string needs);

}  // namespace flightplan
