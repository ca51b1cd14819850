// What the allocator keeps of memory that nobody uses any more.
#pragma once

namespace flightplan::service {

// Gives it back to the system where it is much: a search takes tens of MiB, and the next one may be hours away.
void ReturnFreeMemory();

}  // namespace flightplan::service
