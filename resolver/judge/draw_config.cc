#include "resolver/judge/draw_config.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/derive/candidate.h"

namespace flightplan {

absl::StatusOr<Timeline> DrawConfig(const JudgedConfig& judged, const TimelineAsked& asked) {
  const RunResult& run = judged.run;
  if (!judged.gpu.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("validate.hardware.gpu: ",
                     judged.gpu_fault.empty() ? "a step is drawn for a GPU; none is named" : judged.gpu_fault));
  }
  const bool weighed = judged.model != nullptr && judged.estimate.has_value();
  const std::optional<StepModel> model = weighed ? StepModelOf(*judged.model) : std::nullopt;
  if (!model.has_value() || !model->Forecast(judged.model->config, run.env, judged.estimate->layout).has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the step has no forecast to draw: the model, its batch or the number of GPUs is not known, or the "
        "sizes do not come out even",
        judged.not_judged.empty() ? "" : "; not judged: ", absl::StrJoin(judged.not_judged, "; ")));
  }
  const Candidate candidate = CandidateOf(*judged.model, run.env, judged.estimate->layout);
  return DrawStep(model->shape(), model->work(), candidate, model->rates(), asked);
}

}  // namespace flightplan
