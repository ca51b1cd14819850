// The step-time forecast of one model on one GPU system, for configurations as the resolver decides them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "resolver/estimate/memory.h"
#include "resolver/estimate/step.h"
#include "resolver/estimate/unmeasured.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/intent.h"

namespace flightplan {

class StepModel {
 public:
  // Nothing when the model cannot be counted (it has no shape) or the GPU has no published rates.
  static std::optional<StepModel> Make(const NormalizedIntent& intent, std::optional<ModelShape> shape);

  // The pipeline of a configuration: read once for all that share it. `known`: as in StagesOf.
  StageLayout Stages(const Config& config, StageLayout known = {}) const {
    return StagesOf(shape_, config, std::move(known));
  }

  // The configuration as the formulas read it; points at `stages`.
  Candidate Read(const Config& config, const Environment& env, const StageLayout& stages) const {
    return CandidateOf(config, env, shape_, stages);
  }

  // Nothing without a batch or a sequence length, or when the sizes do not come out even. What is not finite
  // (StepForecast::is_finite) must not be used.
  std::optional<StepForecast> Forecast(const Candidate& candidate) const;
  std::optional<StepForecast> Forecast(const Config& config, const Environment& env, const StageLayout& stages) const {
    return Forecast(Read(config, env, stages));
  }

  // How a configuration's memory stands, by estimate/memory.h.
  enum class Room { kUnknown, kEnough, kMarginal, kShort };
  static Room RoomOf(FitVerdict verdict);
  MemoryForecast Memory(const Candidate& candidate) const;
  MemoryForecast Memory(const Config& config, const Environment& env, const StageLayout& stages) const {
    return Memory(Read(config, env, stages));
  }
  std::vector<absl::string_view> Unmeasured(const Candidate& candidate) const {
    return UnmeasuredTerms(shape_, candidate, rates_);
  }

  const ModelShape& shape() const { return shape_; }
  const ModelWork& work() const { return work_; }
  const GpuRates& rates() const { return rates_; }

 private:
  StepModel(ModelShape shape, const GpuRates& rates, const GpuSystem& gpu);
  ModelShape shape_;
  ModelWork work_;
  GpuRates rates_;
  double capacity_ = 0;  // bytes; 0: not known
  int cc_major_ = 0, domain_gpus_ = 8;
};

// Shares of the step, 0..1, largest first: "compute", "communication", "host", "bubble", "optimizer".
struct WallShare {
  absl::string_view name;
  double ratio = 0;
  bool measured = false;  // by a profile of the run; else forecast
};
std::vector<WallShare> WallsOf(const StepParts& parts);

// What a profile of the real run says stands in place of the forecast: its step time, and its shares where it has them;
// the forecast's other shares take what is left.
struct StepOutlook {
  double us = 0, low_us = 0, high_us = 0;
  std::vector<WallShare> walls;
  double model_flops = 0;
  bool measured = false;                      // `us` is a profile's, and no forecast
  std::vector<absl::string_view> unmeasured;  // terms without evidence (estimate/unmeasured.h)
};
StepOutlook OutlookOf(const StepForecast& forecast, const std::optional<MeasuredProfile>& profile);

}  // namespace flightplan
