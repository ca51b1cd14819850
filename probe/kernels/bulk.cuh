// Hopper's bulk copies of tiles (TMA), and the barriers in shared memory that they report to. On a CPU they are said in
// words (probe/emulation/bulk.h).
#pragma once

#include "probe/kernels/gpu.cuh"

namespace flightplan::probe {

// Where a matrix lies and in which tiles it is read; what is in it only the driver knows.
struct alignas(128) TensorMap {
  uint64_t opaque[16];
};

inline constexpr int kTileLine = 64;  // numbers in a line of a tile: 128 bytes, the width that is swizzled

// Of a bf16 matrix [lines][width] that is read in tiles of `tile_lines` lines of kTileLine, swizzled over 128 bytes;
// zeros beyond its edges. `width` is a multiple of 8.
Status MakeTensorMap(const Bf16* matrix, int64_t width, int64_t lines, int tile_lines, TensorMap* map);

}  // namespace flightplan::probe

#ifndef __CUDACC__
#include "probe/emulation/bulk.h"
#elif defined(FLIGHTPLAN_HAS_WGMMA)

namespace flightplan::probe {

// `arrivals` end a phase of the barrier, and the arrival of all bytes that it was told to expect.
__device__ inline void InitBarrier(uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(SharedAddress(barrier)), "r"(arrivals) : "memory");
}
// After it and a barrier of the block all threads and the copy engine see barriers that this thread has set up.
__device__ inline void FenceBarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ inline void Arrive(uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SharedAddress(barrier)) : "memory");
}
__device__ inline void ArriveAndExpect(uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SharedAddress(barrier)), "r"(bytes)
               : "memory");
}
// Whether the phase of this parity is over; waits a moment for it. Of a new barrier the phase before the first is.
__device__ inline bool PhaseIsOver(uint64_t* barrier, int parity) {
  uint32_t over;
  asm volatile(
      "{\n.reg .pred over;\nmbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\nselp.u32 %0, 1, 0, over;\n}"
      : "=r"(over)
      : "r"(SharedAddress(barrier)), "r"(parity)
      : "memory");
  return over != 0;
}
// The host has written the map: before its first use the thread that uses it looks again.
__device__ inline void AcquireMap(const TensorMap* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(map) : "memory");
}
// Starts the copy of the tile that begins at [line][column] to shared memory, at a multiple of 1024 bytes.
__device__ inline void CopyTile(const TensorMap* map, int column, int line, void* to, uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          SharedAddress(to)),
      "l"(map), "r"(SharedAddress(barrier)), "r"(column), "r"(line)
      : "memory");
}

}  // namespace flightplan::probe
#endif
