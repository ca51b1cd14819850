// The replayed step as events of the ranks that are asked for.
#pragma once

#include <vector>

#include "resolver/estimate/step_detail.h"
#include "resolver/timeline/pass_cost.h"
#include "resolver/timeline/replay.h"
#include "resolver/timeline/timeline.h"

namespace flightplan {

// The costs of passes: by rank, then chunk.
struct ChunkCosts {
  PassCost forward, backward, half_forward, half_backward;
};
using CostTable = std::vector<std::vector<ChunkCosts>>;

PassCost CostOf(const PipelinePass& pass, const std::vector<ChunkCosts>& chunks);

// When a rank does what it does once a step. Lengths of 0: not done, or part of the passes.
struct OnceTimes {
  double gather_first_us = 0, gather_first_hidden_us = 0;  // in front of the first pass
  double reduce_us = 0, reduce_hidden_us = 0;              // behind the last
  double optimizer_start_us = 0;                           // all ranks know the gradients' norm
  double optimizer_us = 0, fixed_us = 0;
  double gather_last_us = 0;  // behind the optimizer
};

// Fills `ranks` and the sums of the slowest one.
void SumStep(const StepDetail& detail, const Replay& replay, const CostTable& costs, const std::vector<OnceTimes>& once,
             Timeline* timeline);

// "F 12.1", "B 3", "F 12.1 B 8.2": microbatch, and chunk where there are several.
std::string NameOf(const PipelinePass& pass, int vpp);

// The index in `passes` of a pass's sort, which is put there if it is new.
int SortOf(const PipelinePass& pass, int rank, const PassCost& cost, std::vector<TimelinePass>* passes);

// The view STEP. At most `max_events` events, or 20 a rank: beyond that each rank shows its first and last passes, as
// many of each, and the ones between as one event.
TimelineView ViewStep(const StepDetail& detail, const Replay& replay, const CostTable& costs,
                      const std::vector<OnceTimes>& once, const TimelineAsked& asked, Timeline* timeline);

}  // namespace flightplan
