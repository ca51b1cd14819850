// One rank's side of an all-to-all, on one device: what it sends is read, and what it would receive is written, so that
// the memory sees what it sees in a real exchange. The wire is stood in for by a pace.
#pragma once

#include "probe/kernels/gpu.cuh"

namespace flightplan::probe {

inline constexpr int kMostPeers = 15;

struct Exchange {
  const uint4* from = nullptr;  // peers chunks of `words`
  uint4* to[kMostPeers] = {};   // `words` each
  int64_t words = 0;            // to one peer
  int peers = 0;
  int sms = 0;                       // one block on each
  int turns = 1;                     // of the whole exchange, in one launch
  uint32_t* started = nullptr;       // counts the blocks that have come onto the chip; null: nobody asks
  double link_bytes_per_second = 0;  // 0: as fast as it goes

  int64_t Bytes() const { return 16 * words * peers; }
};

// Takes the buffers of an exchange of about `bytes` from the arena and fills what is sent.
Status AllocateExchange(Gpu& gpu, int64_t bytes, int ranks, Exchange* exchange);
Status LaunchExchange(const Gpu& gpu, cudaStream_t stream, const Exchange& exchange);
// Runs it on poisoned buffers and compares every word.
Status CheckExchange(Gpu& gpu, const Exchange& exchange);

// What NVLink gives one rank each way: 85 % of its nominal rate, which is 16/17 of what NVML counts by the clock of the
// links (26.5625 GB/s for each of H100's 25). Where NVML does not tell, or sees no link, that of the generation: 300,
// 450 and 900 GB/s.
inline double LinkRate(const Gpu& gpu) {
  if (gpu.nvlink_bytes_per_second.value_or(0) > 0) return 0.85 * 16 / 17 * *gpu.nvlink_bytes_per_second;
  return 0.85 * (gpu.compute_major >= 10 ? 900e9 : gpu.compute_major == 9 ? 450e9 : 300e9);
}

// What one 400 Gb/s port a GPU gives beyond the NVLink domain, by the same allowance.
inline constexpr double kNetworkRate = 0.85 * 50e9;

}  // namespace flightplan::probe
