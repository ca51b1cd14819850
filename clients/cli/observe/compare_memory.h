// The memory of a run beside its forecast.
#pragma once

#include "clients/cli/observe/observation.h"

namespace flightplan::cli {

// Adds the figures of the memory, in bytes, and what their difference comes from, where the run says so. Reads the
// launch's estimate, the ranks and GPUs of the log, and the snapshot; sets the peaks.
void CompareMemory(Observation* o);

}  // namespace flightplan::cli
