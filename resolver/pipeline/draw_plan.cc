#include "resolver/pipeline/draw_plan.h"

#include "absl/status/status.h"
#include "resolver/derive/candidate.h"

namespace flightplan {

absl::StatusOr<Timeline> DrawPlan(const ResolvedPlan& plan, const TimelineAsked& asked) {
  if (plan.step == nullptr) {
    return absl::FailedPreconditionError(
        "the step has no forecast to draw: the model's layers, the batch or the GPU's rates are not known, or the "
        "layout "
        "does not divide the GPUs");
  }
  const StepModel& model = plan.step->model;
  return DrawStep(model.shape(), model.work(), CandidateOf(plan), model.rates(), asked);
}

}  // namespace flightplan
