// Compute beside an exchange or a copy, and what each loses by the other.
#pragma once

#include <algorithm>
#include <cmath>

#include "probe/kernels/gpu.cuh"
#include "probe/method/together.h"

namespace flightplan::probe {

// Waits until *counter has come to `blocks`, or two seconds at most: compute behind it begins when all of an exchange
// is on the chip, so that nothing of the exchange waits for room. Null: nobody counts, and 20 us have to be enough.
Status LaunchGate(cudaStream_t stream, const uint32_t* counter, uint32_t blocks);

// Turns of compute that last as long as the other.
inline int TurnsFor(double other_us, double compute_us) {
  return std::clamp(static_cast<int>(std::lround(other_us / std::max(compute_us, 1e-3))), 1, 500);
}

// One device's.
class Corun {
 public:
  // `other` is one launch. Its kernel counts in *counter the blocks that have come onto the chip, `blocks` in all;
  // null: nobody counts. The compute side is repeated until it lasts as long.
  Status Prepare(Gpu& gpu, const Enqueue& compute, const Enqueue& other, uint32_t* counter, uint32_t blocks);
  Status Take(Gpu& gpu, Together* t);

 private:
  Status Start(Gpu& gpu);

  TimedGraph compute_, other_;
  uint32_t* counter_ = nullptr;
  uint32_t blocks_ = 0;
};

}  // namespace flightplan::probe
