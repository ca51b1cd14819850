// What probe/kernels/bulk.cuh says in PTX, said in C++.
#pragma once

#include <bit>

#include "probe/emulation/ptx.h"

namespace flightplan::probe {
namespace internal {

enum class Stage : uint8_t { kOwn = 1, kShown };  // seen by whoever set it up alone; by all

struct PhaseBarrier {
  uint8_t arrivals, missing, phase;
  Stage stage;
  int32_t bytes;  // expected, less those that arrived

  void Settle() {
    if (missing != 0 || bytes != 0) return;
    missing = arrivals;
    phase ^= 1;
  }
};
static_assert(sizeof(PhaseBarrier) == sizeof(uint64_t));

inline PhaseBarrier Look(const uint64_t* at) {
  const PhaseBarrier barrier = std::bit_cast<PhaseBarrier>(*at);
  if (barrier.stage == Stage::kOwn) emulation::Fault("a barrier that was set up and not fenced");
  if (barrier.stage != Stage::kShown) emulation::Fault("a barrier that was not set up");
  return barrier;
}

template <class Change>
void ChangeBarrier(uint64_t* at, Change change) {
  PhaseBarrier barrier = Look(at);
  change(&barrier);
  barrier.Settle();
  *at = std::bit_cast<uint64_t>(barrier);
}

constexpr uint64_t kMade = 0x70616d726f736e74;  // in a map that MakeTensorMap has made

struct MatrixPlace {
  uint64_t made;
  const Bf16* matrix;
  int64_t width, lines, tile_lines;
};

inline int32_t TileBytes(const MatrixPlace& place) { return static_cast<int32_t>(2 * kTileLine * place.tile_lines); }

inline void Land(const MatrixPlace& place, int column, int line, int64_t offset) {
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
}

}  // namespace internal

inline void InitBarrier(uint64_t* barrier, int arrivals) {
  const uint8_t count = static_cast<uint8_t>(arrivals);
  *barrier = std::bit_cast<uint64_t>(internal::PhaseBarrier{count, count, 0, internal::Stage::kOwn, 0});
  emulation::SetUp(barrier);
}
inline void FenceBarriers() {
  for (uint64_t* at : emulation::TakeSetUp()) {
    internal::PhaseBarrier barrier = std::bit_cast<internal::PhaseBarrier>(*at);
    barrier.stage = internal::Stage::kShown;
    *at = std::bit_cast<uint64_t>(barrier);
  }
}
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
  if (internal::Look(at).phase != parity) return true;
  emulation::Pause();
  return internal::Look(at).phase != parity;
}
inline void AcquireMap(const TensorMap* map) { emulation::Acquire(map); }

// What cuTensorMapEncodeTiled asks of such a matrix, from the driver's manual.
inline Status MakeTensorMap(const Bf16* matrix, int64_t width, int64_t lines, int tile_lines, TensorMap* map) {
  const bool legal = reinterpret_cast<uintptr_t>(matrix) % 16 == 0 && reinterpret_cast<uintptr_t>(map) % 64 == 0 &&
                     width > 0 && width % 8 == 0 && width < int64_t{1} << 32 && lines > 0 && lines < int64_t{1} << 32 &&
                     tile_lines > 0 && tile_lines <= 256;
  if (!legal) return Fail(Code::kUnsupported, "cuTensorMapEncodeTiled failed with 1");
  const internal::MatrixPlace place = {internal::kMade, matrix, width, lines, tile_lines};
  std::memcpy(map, &place, sizeof place);
  return Ok();
}

inline void CopyTile(const TensorMap* map, int column, int line, void* to, uint64_t* barrier) {
  internal::MatrixPlace place;
  std::memcpy(&place, map, sizeof place);
  const int64_t offset = static_cast<unsigned char*>(to) - DynamicShared();
  if (place.made != internal::kMade || reinterpret_cast<uintptr_t>(map) % 64 != 0) {
    emulation::Fault("a copy by what is no tensor map");
  }
  if (!emulation::HasAcquired(map)) emulation::Fault("a tensor map that the thread has not acquired");
  if (offset % 1024 != 0) emulation::Fault("a tile that is not aligned to 1024 bytes");
  internal::Look(barrier);
  emulation::LandLater([=] {
    internal::Land(place, column, line, offset);
    internal::ChangeBarrier(barrier, [&](internal::PhaseBarrier* b) { b->bytes -= internal::TileBytes(place); });
  });
}

}  // namespace flightplan::probe
