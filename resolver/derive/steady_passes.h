// Which chunks the ranks of an interleaved pipeline run at one time, by upstream's order of passes (derive/schedule.h).
#pragma once

#include "resolver/derive/stage_layout.h"

namespace flightplan {

// Of `layout.chunks`; groups of pp microbatches.
SteadyPasses SteadyPassesOf(const StageLayout& layout);

}  // namespace flightplan
