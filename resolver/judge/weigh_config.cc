#include "resolver/judge/weigh_config.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/derive/model_from_knobs.h"
#include "resolver/derive/placement.h"
#include "resolver/derive/shape.h"

namespace flightplan {

WeighedConfig EstimateConfig(const std::optional<GpuSystem>& gpu, const Config& config, const Environment& env) {
  const auto not_judged = [](absl::string_view why) {
    return WeighedConfig{std::nullopt, absl::StrCat("memory: ", why)};
  };
  if (!gpu.has_value()) return not_judged("no GPU is given");
  if (!env.world_size.has_value()) return not_judged("the number of GPUs is not known");
  auto model = ModelFromKnobs(config);
  if (!model.ok()) return not_judged(model.status().message());
  const auto shape = MakeShape(*model, config);
  if (!shape.ok()) return not_judged(shape.status().message());
  NormalizedIntent intent;
  intent.model = *std::move(model);
  intent.gpu = *gpu;
  intent.env = env;
  const Placement placement = PlaceLayout(config, env);
  EstimatedPlan estimate = Estimate(intent, *shape, placement, config, env.vars);
  if (estimate.stages.empty()) return not_judged("the layout does not come out even");
  return {std::move(estimate), ""};
}

WeighedConfig WeighConfig(const std::optional<GpuSystem>& gpu, RunResult* run) {
  WeighedConfig weighed = EstimateConfig(gpu, run->config, run->env);
  if (weighed.estimate.has_value()) JudgeMemory(*weighed.estimate->memory(), run);
  return weighed;
}

}  // namespace flightplan
