// Is there a GPU at all? Asked of the driver alone, so that a node without one answers at once.
#pragma once

#include "probe/status.h"

namespace flightplan::probe {

// kNoGpu with the reason. Neither creates a context nor keeps the driver loaded.
Status FindGpu();

}  // namespace flightplan::probe
