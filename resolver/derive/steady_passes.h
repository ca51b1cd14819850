// Which chunks the ranks of an interleaved pipeline run at one time, by upstream's order of passes (derive/schedule.h).
#pragma once

#include "resolver/derive/stage_layout.h"

namespace flightplan {

// Of `layout.chunks`; groups of pp microbatches.
SteadyPasses SteadyPassesOf(const StageLayout& layout);

// Works them out once for all forecasts of the layout; where nobody did, each forecast does for itself.
void KeepSteadyPasses(StageLayout* layout);

}  // namespace flightplan
