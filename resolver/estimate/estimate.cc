#include "resolver/estimate/estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "resolver/estimate/device_memory.h"
#include "resolver/plan/encoders.h"

namespace flightplan {

GpuMemory MemoryOf(const GpuSystem& gpu) {
  const int64_t domain = std::clamp<int64_t>(gpu.nvlink_domain_gpus, 1, 1 << 20);
  const auto node = static_cast<int>(std::clamp<int64_t>(gpu.gpus_per_node, 1, 1 << 20));
  return {static_cast<double>(gpu.hbm_bytes.value_or(0)),
          {gpu.cc_major, static_cast<int>(domain)},
          static_cast<double>(gpu.host_memory_bytes.value_or(0)),
          node};
}

EstimatedPlan Estimate(const NormalizedIntent& intent, const std::optional<ModelShape>& shape,
                       const Placement& placement, const Config& config, const EnvVars& vars, StageLayout known) {
  EstimatedPlan plan;
  plan.usable_bytes = intent.gpu.hbm_bytes.value_or(0);
  plan.reserved_bytes = intent.gpu.reserved_bytes.value_or(0);
  plan.host_memory_bytes = intent.gpu.host_memory_bytes.value_or(0);
  if (placement.data_parallel_size == 0 || (intent.model.is_moe() && placement.expert_data_parallel_size == 0))
    return plan;
  if (!shape.has_value()) return plan;
  // A rank would hold a share of them that no run has.
  const int64_t ep = std::max<int64_t>(1, config.Get(Knob::expert_model_parallel_size).integer());
  if (shape->experts % ep != 0) return plan;
  plan.layout = StagesOf(*shape, config, std::move(known));
  Candidate candidate = CandidateOf(config, intent.env, *shape, plan.layout);
  const auto conf = vars.find("PYTORCH_CUDA_ALLOC_CONF");
  if (conf != vars.end() && absl::StrContains(conf->second, "expandable_segments:True"))
    candidate.expandable_segments = true;
  const GpuMemory gpu = MemoryOf(intent.gpu);
  const MemoryModel model(*shape, candidate, gpu.device);
  double most = -1;
  // A verdict needs the fullest alone.
  std::vector<int> ranks = plan.layout.distinct_ranks;
  if (intent.view != View::kVerdict) {
    ranks.resize(static_cast<size_t>(plan.layout.pp));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  plan.stages.reserve(ranks.size());
  for (const int rank : ranks) {
    MemoryPart widest = MemoryPart::kParameters;
    StageForecast& stage = plan.stages.emplace_back(ForecastStage(model, candidate, rank, &widest));
    stage.device = DeviceBand(stage, candidate, shape->is_moe(), gpu.capacity);
    if (const Band host = ForecastHost(model, candidate, rank, gpu); host.value > plan.host.value) plan.host = host;
    if (stage.total.value <= most) continue;
    most = stage.total.value;
    plan.fullest = plan.stages.size() - 1;
    plan.widest = widest;
  }
  const StageForecast& fullest = plan.stages[plan.fullest];
  plan.fit = Judge(fullest.total, gpu.capacity);
  plan.host_fit = Judge(plan.host, gpu.node_memory);
  plan.static_bytes = std::llround(model.StaticBytes());
  plan.scope = absl::StrCat(BuildsEncoders(intent.model, intent.env)
                                ? "everything on the GPU but the model's encoders of images or sound"
                                : "everything on the GPU",
                            "; most of the band is ", absl::StrReplaceAll(Name(plan.widest), {{"_", " "}}));
  return plan;
}

std::optional<FoundMemory> EstimatedPlan::memory() const {
  if (stages.empty()) return std::nullopt;
  const Band& total = stages[fullest].total;
  return FoundMemory{static_bytes,
                     std::llround(total.low),
                     std::llround(total.value),
                     std::llround(total.high),
                     usable_bytes > 0 ? std::optional(usable_bytes) : std::nullopt,
                     /*at_least=*/false,
                     reserved_bytes,
                     reported_runs,
                     std::llround(host.low),
                     std::llround(host.value),
                     std::llround(host.high),
                     host_memory_bytes > 0 ? std::optional(host_memory_bytes) : std::nullopt};
}

}  // namespace flightplan
