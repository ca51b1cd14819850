// The order in which a pipeline's ranks run their passes, and when each of them runs.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "resolver/derive/schedule.h"

namespace flightplan {

// A pass of one rank: forward of a microbatch through a chunk, backward of one, or both in one pass (EP overlap).
struct PipelinePass {
  int64_t forward_microbatch = -1, backward_microbatch = -1;  // -1: none
  int forward_chunk = -1, backward_chunk = -1;
  double start_us = 0;                               // of its compute
  double end_us = 0;                                 // of its compute; what its transfer exposes comes behind
  double wait_us = 0;                                // in front of it
  double flight_us = 0;                              // of wait_us: what it waits for is on its way
  double forward_sent_us = 0, backward_sent_us = 0;  // when its outputs leave

  bool forward() const { return forward_chunk >= 0; }
  bool backward() const { return backward_chunk >= 0; }
  bool combined() const { return forward() && backward(); }
  int transfers() const { return combined() ? 2 : 1; }
};

// Upstream's order for one rank (Megatron-LM megatron/core/pipeline_parallel/schedules.py): warm-up forwards, then
// forward and backward by turns, then the backwards that are left. Virtual stages run in groups of microbatches. With
// `combined`, a forward and a backward of the middle are one pass (combined_1f1b.py).
std::vector<PipelinePass> OrderOfPasses(const Schedule& schedule, int rank, bool combined);

// Compute of one pass, by rank and chunk.
struct PassLengths {
  double forward = 0, backward = 0;
  double combined_forward = 0, combined_backward = 0;  // what each half adds to a combined pass
};

struct Replay {
  std::vector<std::vector<PipelinePass>> ranks;
  std::vector<double> end_us;  // of each rank's last pass, with its transfer
};

// How stages hand on.
struct PipelineHop {
  double us = 0;       // of a transfer
  double exposed = 0;  // share that stops the rank, 0..1
};

// `lengths` by rank, then chunk; `begin_us`: when each rank may start. FAILED_PRECONDITION: passes wait for each other
// for ever. CANCELLED: the budget of work is spent.
absl::StatusOr<Replay> ReplayPasses(const Schedule& schedule, bool combined,
                                    const std::vector<std::vector<PassLengths>>& lengths, const PipelineHop& hop,
                                    const std::vector<double>& begin_us);

}  // namespace flightplan
