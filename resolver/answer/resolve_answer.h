// Writes a resolved plan as the bytes of its answer.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "resolver/pipeline/resolved_plan.h"
#include "resolver/plan/config_answer.h"
#include "resolver/render/launch.h"

namespace flightplan {

// What an answer says of where it comes from.
struct AnswerOrigin {
  std::string digest;  // of the question, the catalogue and the evidence
  std::string catalog_revision;
  int64_t evidence_revision = 0;
};

// As much of the plan, whose findings are in order, as `plan.intent.view` asks for, with its launches. `own`: its
// launch, of which the least view has nothing. `model`: the model as an encoded flightplan.v1.ModelSpec; read for the
// full view alone.
ConfigAnswer AnswerOf(const ResolvedPlan& plan, const Launch& own, AnswerOrigin origin, absl::string_view model);

// "decide.ep-overlap", an error: for logs and metrics.
void AddFound(const Finding& finding, ConfigAnswer* answer);

}  // namespace flightplan
