// Two pieces of work at once, and what each loses by the other.
#pragma once

#include <algorithm>
#include <cmath>

#include "probe/kernels/gpu.cuh"

namespace flightplan::probe {

struct Together {
  double compute_alone = 0, other_alone = 0;  // microseconds
  double compute = 0, other = 0;              // from the common start to each end

  double ComputeSlowdown() const { return Slowdown(compute, compute_alone, other); }
  double OtherSlowdown() const { return Slowdown(other, other_alone, compute); }

 private:
  // Up to the end of whichever ends first both run, after it the rest runs alone: of `mine_alone`, mine - first were
  // done at full speed after it, the others took `first`.
  static double Slowdown(double mine, double mine_alone, double theirs) {
    const double first = std::min(mine, theirs), done = mine_alone - (mine - first);
    return done > 0 ? first / done : NAN;
  }
};

class Corun {
 public:
  // `work` is enqueued `turns` times on one stream. The compute side is repeated until it lasts as long as the other.
  Status Prepare(Gpu& gpu, const Enqueue& compute, const Enqueue& other, int other_turns) {
    double compute_us = 0, other_us = 0;
    TRY(WarmUp(gpu, compute));
    TRY(WarmUp(gpu, other));
    TRY(TimeHeld(gpu, compute, &compute_us));
    TRY(other_.Capture(gpu, Repeated(other, other_turns)));
    TRY(other_.Replay(gpu, &other_us));
    const int turns = std::clamp(static_cast<int>(std::lround(other_us / compute_us)), 1, 500);
    TRY(compute_.Capture(gpu, Repeated(compute, turns)));
    return compute_.Replay(gpu, &compute_us);
  }

  Status Take(Gpu& gpu, Together* t) {
    TRY(compute_.Replay(gpu, &t->compute_alone));
    TRY(other_.Replay(gpu, &t->other_alone));
    // The other goes first, as the schedule queues an exchange before the compute that hides it.
    TRY(gpu.Hold(gpu.stream));
    Status status = Start(gpu);
    gpu.Release();
    TRY(status);
    CUDA_TRY(cudaStreamSynchronize(gpu.side));
    CUDA_TRY(cudaStreamSynchronize(gpu.stream));
    // From the earlier of both starts, so that one that has to wait for room is charged for it.
    float lead_ms = 0;
    CUDA_TRY(cudaEventElapsedTime(&lead_ms, other_.span().begin(), compute_.span().begin()));
    TRY(compute_.span().Us(&t->compute));
    TRY(other_.span().Us(&t->other));
    const double lead = 1e3 * static_cast<double>(lead_ms);
    (lead > 0 ? t->compute : t->other) += std::fabs(lead);
    return Ok();
  }

 private:
  static Enqueue Repeated(const Enqueue& work, int turns) {
    return [work, turns](cudaStream_t stream) -> Status {
      for (int i = 0; i < turns; ++i) TRY(work(stream));
      return Ok();
    };
  }
  Status Start(Gpu& gpu) {
    CUDA_TRY(cudaEventRecord(gpu.joins[0], gpu.stream));
    CUDA_TRY(cudaStreamWaitEvent(gpu.side, gpu.joins[0]));
    TRY(other_.Launch(gpu.side));
    return compute_.Launch(gpu.stream);
  }

  TimedGraph compute_, other_;
};

}  // namespace flightplan::probe
