// What probe/kernels/bulk.cuh says in PTX, said in C++.
#pragma once

#include <bit>

#include "probe/emulation/ptx.h"

namespace flightplan::probe {
namespace internal {

struct PhaseBarrier {
  uint8_t arrivals, missing, phase, unused;
  int32_t bytes;  // expected, less those that arrived

  void Settle() {
    if (missing != 0 || bytes != 0) return;
    missing = arrivals;
    phase ^= 1;
  }
};
static_assert(sizeof(PhaseBarrier) == sizeof(uint64_t));

template <class Change>
void ChangeBarrier(uint64_t* at, Change change) {
  PhaseBarrier barrier = std::bit_cast<PhaseBarrier>(*at);
  change(&barrier);
  barrier.Settle();
  *at = std::bit_cast<uint64_t>(barrier);
}

struct MatrixPlace {
  const Bf16* matrix;
  int64_t width, lines, tile_lines;
};

}  // namespace internal

inline void InitBarrier(uint64_t* barrier, int arrivals) {
  const uint8_t count = static_cast<uint8_t>(arrivals);
  *barrier = std::bit_cast<uint64_t>(internal::PhaseBarrier{count, count, 0, 0, 0});
}
inline void FenceBarriers() {}
inline void Arrive(uint64_t* at) {
  internal::ChangeBarrier(at, [](internal::PhaseBarrier* barrier) {
    if (barrier->missing-- == 0) emulation::Fault("more arrivals at a barrier than it was set up for");
  });
}
inline void ArriveAndExpect(uint64_t* at, int bytes) {
  internal::ChangeBarrier(at, [&](internal::PhaseBarrier* barrier) {
    barrier->bytes += bytes;
    if (barrier->missing-- == 0) emulation::Fault("more arrivals at a barrier than it was set up for");
  });
}
inline bool PhaseIsOver(uint64_t* at, int parity) {
  if (std::bit_cast<internal::PhaseBarrier>(*at).phase != parity) return true;
  emulation::Pause();
  return std::bit_cast<internal::PhaseBarrier>(*at).phase != parity;
}
inline void AcquireMap(const TensorMap*) {}

inline Status MakeTensorMap(const Bf16* matrix, int64_t width, int64_t lines, int tile_lines, TensorMap* map) {
  const internal::MatrixPlace place = {matrix, width, lines, tile_lines};
  std::memcpy(map, &place, sizeof place);
  return Ok();
}

inline void CopyTile(const TensorMap* map, int column, int line, void* to, uint64_t* barrier) {
  internal::MatrixPlace place;
  std::memcpy(&place, map, sizeof place);
  const int64_t offset = static_cast<unsigned char*>(to) - DynamicShared();
  if (offset % 1024 != 0) emulation::Fault("a tile that is not aligned to 1024 bytes");
  for (int64_t y = 0; y < place.tile_lines; ++y) {
    for (int64_t x = 0; x < kTileLine; ++x) {
      const int64_t from_line = line + y, from_column = column + x;
      Bf16 number = {0};
      if (from_line < place.lines && from_column < place.width) {
        number = place.matrix[from_line * place.width + from_column];
      }
      int64_t at = offset + y * 2 * kTileLine + 2 * x;
      at ^= (at >> 7 & 7) << 4;
      std::memcpy(DynamicShared() + at, &number, sizeof number);
    }
  }
  internal::ChangeBarrier(
      barrier, [&](internal::PhaseBarrier* b) { b->bytes -= static_cast<int32_t>(2 * kTileLine * place.tile_lines); });
}

}  // namespace flightplan::probe
