// The forecast of a decided plan: memory of every pipeline stage with its band, and whether it fits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "resolver/derive/placement.h"
#include "resolver/estimate/memory.h"
#include "resolver/plan/config.h"
#include "resolver/plan/found.h"
#include "resolver/plan/intent.h"

namespace flightplan {

struct EstimatedPlan {
  // Of every stage; for a verdict, of those that can be the fullest. Empty: the layout does not come out even, nothing
  // can be said.
  std::vector<StageForecast> stages;
  StageLayout layout;  // what each stage holds, where there are stages
  size_t fullest = 0;  // of `stages`
  FitVerdict fit = FitVerdict::kUnknown;
  MemoryPart widest = MemoryPart::kParameters;  // contributes most to the upper half of the fullest stage's band
  int64_t static_bytes = 0;                     // parameters, gradients and optimizer state of the fullest stage
  int64_t usable_bytes = 0;                     // 0: the GPU's memory is not known
  int64_t reserved_bytes = 0;                   // held by others, not in usable_bytes
  int reported_runs = 0;                        // that moved the stages' totals
  Band host;                                    // main memory of the fullest node; 0: nothing is kept there
  FitVerdict host_fit = FitVerdict::kUnknown;
  int64_t host_memory_bytes = 0;  // of one node; 0: not known
  std::string scope;              // what is counted, and what the band comes from

  // For the rules; empty where there are no stages.
  std::optional<FoundMemory> memory() const;
};

// `shape`: of the model, where its parameters can be counted. `vars`: the process environment that the plan exports on
// top of the caller's. `known`: its layout, where that is known already.
EstimatedPlan Estimate(const NormalizedIntent& intent, const std::optional<ModelShape>& shape,
                       const Placement& placement, const Config& config, const EnvVars& vars = {},
                       StageLayout known = {});

// The GPU as the memory formulas see it.
GpuMemory MemoryOf(const GpuSystem& gpu);

}  // namespace flightplan
