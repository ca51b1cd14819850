// The launch of a resolved question, and which of the caller's words it does not carry.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/finding.h"
#include "resolver/render/launch.h"

namespace flightplan {

class Catalog;

// `written`: the plan's, or that of the other run of an A/B, for which `like` is the plan's own launch.
Launch LaunchIn(absl::string_view dialect, const Config& written, const EnvVars& exported, const ResolvedPlan& plan,
                const Written* like);
// The plan's, in its stack's own dialect; empty where the answer has none and nothing is pinned.
Launch OwnLaunch(const ResolvedPlan& plan);

// A finding for each knob that the caller pinned, that the stack's launch has no word for and that it does not run
// anyway: an error where the model, its optimizer or the memory that is forecast would be another, else a warning.
// `own`: the plan's launch.
std::vector<Finding> FindUnwrittenPins(const ResolvedPlan& plan, const Launch& own, const Catalog& catalog);

}  // namespace flightplan
