#include <algorithm>
#include <cmath>

#include "probe/kernels/corun.cuh"

namespace flightplan::probe {
namespace {

constexpr uint64_t kGateLimitNs = 2'000'000'000, kHeadStartNs = 20'000;

__global__ void GateKernel(const uint32_t* counter, uint32_t blocks) {
  const uint64_t begin = GlobalNs(), limit = counter == nullptr ? kHeadStartNs : kGateLimitNs;
  while (GlobalNs() - begin < limit) {
    if (counter != nullptr && HasCome(counter, blocks)) return;
    __nanosleep(50);
  }
}

Enqueue Repeated(const Enqueue& work, int turns) {
  return [work, turns](cudaStream_t stream) -> Status {
    for (int i = 0; i < turns; ++i) TRY(work(stream));
    return Ok();
  };
}

}  // namespace

Status LaunchGate(cudaStream_t stream, const uint32_t* counter, uint32_t blocks) {
  return RunKernel({stream, 1, 1}, GateKernel, counter, blocks);
}

Status Corun::Prepare(Gpu& gpu, const Enqueue& compute, const Enqueue& other, uint32_t* counter, uint32_t blocks) {
  counter_ = counter;
  blocks_ = blocks;
  double compute_us = 0, other_us = 0;
  TRY(WarmUp(gpu, compute));
  TRY(WarmUp(gpu, other));
  TRY(WarmUp(gpu, [&](cudaStream_t stream) { return LaunchGate(stream, counter_, blocks_); }));
  TRY(TimeHeld(gpu, compute, &compute_us));
  TRY(other_.Capture(gpu, other));
  TRY(other_.Replay(gpu, &other_us));
  TRY(compute_.Capture(gpu, Repeated(compute, TurnsFor(other_us, compute_us))));
  return compute_.Replay(gpu, &compute_us);
}

Status Corun::Take(Gpu& gpu, Together* t) {
  TRY(compute_.Replay(gpu, &t->compute_alone));
  TRY(other_.Replay(gpu, &t->other_alone));
  if (counter_ != nullptr) CUDA_TRY(cudaMemsetAsync(counter_, 0, sizeof *counter_, gpu.stream));
  TRY(gpu.Hold(gpu.stream));
  const Status status = Start(gpu);
  gpu.Release();
  TRY(status);
  CUDA_TRY(cudaStreamSynchronize(gpu.urgent));
  CUDA_TRY(cudaStreamSynchronize(gpu.stream));
  float lead_ms = 0;
  CUDA_TRY(cudaEventElapsedTime(&lead_ms, other_.span().begin(), compute_.span().begin()));
  t->lead = 1e3 * static_cast<double>(lead_ms);
  TRY(compute_.span().Us(&t->compute));
  return other_.span().Us(&t->other);
}

// The other goes first, as the schedule queues an exchange before the compute that hides it.
Status Corun::Start(Gpu& gpu) {
  CUDA_TRY(cudaEventRecord(gpu.joins[0], gpu.stream));
  CUDA_TRY(cudaStreamWaitEvent(gpu.urgent, gpu.joins[0]));
  TRY(other_.Launch(gpu.urgent));
  TRY(LaunchGate(gpu.stream, counter_, blocks_));
  return compute_.Launch(gpu.stream);
}

}  // namespace flightplan::probe
