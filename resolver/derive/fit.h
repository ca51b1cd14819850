// Static memory by closed formulas: parameters, gradients and optimizer state of each pipeline stage's GPUs.
// Activations, dispatch buffers, graphs and the allocator are not counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "resolver/derive/placement.h"
#include "resolver/plan/config.h"
#include "resolver/plan/model.h"

namespace flightplan {

// Bytes on one GPU of a stage.
struct StaticMemory {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t optimizer_state = 0;
  int64_t total() const { return parameters + gradients + optimizer_state; }
};

// Which decoder layers a stage holds, and what else.
struct StageContents {
  std::vector<int64_t> layers;  // decoder layers, from 0
  bool embedding = false;
  bool output = false;
  int64_t mtp_depths = 0;
};

// By upstream's order of precedence: the layout string, then first and last stage sizes, then an even split (the first
// stages take what does not come out even, which the rules report). One entry per pipeline rank.
std::vector<StageContents> SplitStages(const ModelSpec& model, const Config& config);

// One entry per pipeline rank, with the vocabulary padded as the knobs say. `cc_major`: the GPU's compute capability,
// which decides how many copies a low-precision weight needs; 0: unknown, the larger number is taken. INVALID_ARGUMENT
// when the model's parameters cannot be counted.
absl::StatusOr<std::vector<StaticMemory>> StaticMemoryByStage(const ModelSpec& model, const Config& config,
                                                              const Placement& placement, int cc_major = 0);

}  // namespace flightplan
