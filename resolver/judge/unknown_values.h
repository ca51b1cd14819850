// What may be said of a launch whose values are not all known: --micro-batch-size $MBS with MBS set nowhere.
#pragma once

#include "resolver/engine/engine.h"
#include "resolver/judge/read_config.h"

namespace flightplan {

// Takes out of `run` what rests on a value that only a run would know, and says in `reading` what it was. Of a script
// without a launch nothing is left but that it has none.
void DropWhatIsNotKnown(Reading* reading, RunResult* run);

}  // namespace flightplan
