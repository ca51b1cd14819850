// Provides threads to the resolver's searches, because the resolver creates none.
#pragma once

#include <cstddef>
#include <functional>

namespace flightplan::service {

using ParallelForBody = std::function<void(size_t begin, size_t end)>;

// Calls body for ranges that cover [0, count) on up to `threads` threads, the caller's among them; returns when all are
// done.
std::function<void(size_t count, const ParallelForBody& body)> ParallelOn(int threads);

}  // namespace flightplan::service
