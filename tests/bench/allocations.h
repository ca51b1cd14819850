// Counts what the process allocates, for benchmarks. Linked as a source of theirs: it replaces operator new.
#pragma once

#include <cstdint>

namespace flightplan::bench {

// Calls of operator new since the process began, of all threads.
int64_t Allocations();

}  // namespace flightplan::bench
