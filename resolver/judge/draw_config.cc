#include "resolver/judge/draw_config.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/derive/candidate.h"

namespace flightplan {

absl::StatusOr<Timeline> DrawConfig(const JudgedConfig& judged, const TimelineAsked& asked) {
  const RunResult& run = judged.run;
  if (!judged.gpu.has_value())
    return absl::FailedPreconditionError("hardware.gpu: a step is drawn for a GPU; none is named");
  const std::optional<ForecastBasis> basis = BasisOfForecast(judged.gpu, run);
  if (!basis.has_value() || !basis->model.Forecast(run.config, run.env, basis->stages).has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the step has no forecast to draw: the model, its batch or the number of GPUs is not known, or the "
        "sizes do not come out even",
        judged.not_judged.empty() ? "" : "; not judged: ", absl::StrJoin(judged.not_judged, "; ")));
  }
  const StepModel& model = basis->model;
  const Candidate candidate = CandidateOf(run.config, run.env, model.shape(), basis->stages);
  return DrawStep(model.shape(), model.work(), candidate, model.rates(), asked);
}

}  // namespace flightplan
