#include "resolver/judge/weigh_config.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/derive/model_from_knobs.h"
#include "resolver/derive/placement.h"
#include "resolver/derive/shape.h"

namespace flightplan {

WeighedConfig WeighConfig(const std::optional<GpuSystem>& gpu, RunResult* run) {
  const auto not_judged = [](absl::string_view why) {
    return WeighedConfig{std::nullopt, absl::StrCat("memory: ", why)};
  };
  if (!gpu.has_value()) return not_judged("no GPU is given");
  if (!run->env.world_size.has_value()) return not_judged("the number of GPUs is not known");
  auto model = ModelFromKnobs(run->config);
  if (!model.ok()) return not_judged(model.status().message());
  const auto shape = MakeShape(*model, run->config);
  if (!shape.ok()) return not_judged(shape.status().message());
  NormalizedIntent intent;
  intent.model = *std::move(model);
  intent.gpu = *gpu;
  intent.env = run->env;
  const Placement placement = PlaceLayout(run->config, run->env);
  EstimatedPlan estimate = Estimate(intent, *shape, placement, run->config, run->env.vars);
  if (estimate.stages.empty()) return not_judged("the layout does not come out even");
  JudgeMemory(*estimate.memory(), run);
  return {std::move(estimate), ""};
}

}  // namespace flightplan
