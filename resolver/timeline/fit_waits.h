// Makes a replayed schedule end with the forecast's step. Both have the same passes; how long ranks wait for each other
// the forecast knows by closed formulas alone, so that the waits are what differs.
#pragma once

#include <vector>

#include "resolver/timeline/replay.h"
#include "resolver/timeline/step_view.h"

namespace flightplan {

// The waits of each rank are shortened alike, or what is missing is waited for in front of the optimizer, until every
// rank ends at `step_us`. A rank whose passes alone take longer than that has all of them shortened alike, with their
// `costs`. Returns the most that a pass was shortened by, 0..1: more than rounding only where the forecast takes what
// forward and backward hide for more than the passes that run alone leave.
double FitWaits(double step_us, const PipelineHop& hop, Replay* replay, CostTable* costs, std::vector<OnceTimes>* once);

}  // namespace flightplan
