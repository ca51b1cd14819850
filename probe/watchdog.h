// Ends the process when it does not end by itself: a kernel or a reader that hangs must not keep a node.
#pragma once

#include <atomic>

#include "probe/method/run.h"

namespace flightplan::probe {

// Starts a thread that lives as long as the process. After `hard_seconds`, or a second after `stop`, it prints the
// profile so far, tagged partial, and leaves with kOutOfTime; it waits half a second at most for a reader that does not
// read.
void StartWatchdog(double hard_seconds, const std::atomic<bool>* stop, LineWriter* out, Progress* progress);

}  // namespace flightplan::probe
