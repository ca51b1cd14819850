// What probe/kernels/ptx.cuh says in PTX, said in C++ from the tables of the PTX manual: which lane holds which
// element.
#pragma once

#include "probe/emulation/cuda_bf16.h"

namespace flightplan::probe {

inline uint64_t GlobalNs() { return emulation::NowNs(); }

inline void StorePeer(uint4* to, uint4 value) {
  emulation::MustReach(to);
  emulation::StoreToPeer([=] { *to = value; });
}
inline uint4 LoadPeer(const uint4* from) {
  emulation::MustReach(from);
  emulation::MayBeHeld();
  return *from;
}
inline void FenceSystem() { emulation::FenceSystem(); }
inline void Signal(uint32_t* flag, uint32_t value) {
  emulation::MustReach(flag);
  emulation::FenceSystem();
  *flag = value;
}
inline bool HasCome(const uint32_t* flag, uint32_t value) {
  if (static_cast<int32_t>(*flag - value) >= 0) return true;
  emulation::WaitForOther();
  return static_cast<int32_t>(*flag - value) >= 0;
}

inline unsigned char* DynamicShared() { return static_cast<unsigned char*>(emulation::SharedMemory()); }

// As late as the code allows, or at once: a wait that is missing shows, and so does a stage that is still read.
inline void CopyAsync(Bf16* to, const Bf16* from, bool valid) {
  if (reinterpret_cast<uintptr_t>(to) % 16 != 0 || reinterpret_cast<uintptr_t>(from) % 16 != 0) {
    emulation::Fault("an asynchronous copy that is not aligned to 16 bytes");
  }
  emulation::Defer([=] {
    if (valid) std::memcpy(static_cast<void*>(to), from, 16);
    if (!valid) std::memset(static_cast<void*>(to), 0, 16);
  });
}
inline void CommitCopies() { emulation::CloseGroup(); }
template <int kPending>
inline void WaitForCopies() {
  emulation::Settle(kPending);
}

// ldmatrix .x4: lane i names row i % 8 of matrix i / 8; it gets two neighbours of row i / 4 of every matrix, or of
// column i / 4 if transposed.
template <bool kTransposed>
inline void LoadMatrices(uint32_t (&to)[4], const Bf16* from) {
  if (reinterpret_cast<uintptr_t>(from) % 16 != 0) emulation::Fault("a matrix row that is not aligned to 16 bytes");
  const auto rows = emulation::Meet(&from, sizeof from);
  const int lane = emulation::Lane(), line = lane / 4, pair = lane % 4 * 2;
  for (int matrix = 0; matrix < 4; ++matrix) {
    uint32_t packed = 0;
    for (int i = 0; i < 2; ++i) {
      const int row = kTransposed ? pair + i : line, column = kTransposed ? line : pair + i;
      const Bf16 x = emulation::FromLane<const Bf16*>(rows, matrix * 8 + row)[column];
      packed |= static_cast<uint32_t>(x.bits) << (16 * i);
    }
    to[matrix] = packed;
  }
}

// mma m16n8k16, row by column. A: registers 0..3 hold rows (lane / 4) + 0, 8, 0, 8 at k 0, 0, 8, 8 + lane % 4 * 2.
// B: registers 0, 1 hold column lane / 4 at k 0, 8 + lane % 4 * 2. C: 0, 1 row lane / 4, 2, 3 row lane / 4 + 8, columns
// lane % 4 * 2 and the next.
inline void MultiplyAdd(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  struct Registers {
    uint32_t a[4], b[2];
  };
  const Registers mine = {{a[0], a[1], a[2], a[3]}, {b0, b1}};
  const auto all = emulation::Meet(&mine, sizeof mine);
  const int lane = emulation::Lane();
  // Number `pair` (of two) in register `index` (of six, A's first) of a lane.
  const auto number = [&](int of_lane, int index, int pair) {
    Bf16 x;
    std::memcpy(&x, all[of_lane] + 4 * index + 2 * pair, sizeof x);
    return __bfloat162float(x);
  };
  for (int k = 0; k < 16; ++k) {
    const int quad = k % 8 / 2, upper = k / 8;
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4, column = lane % 4 * 2 + i % 2;
      c[i] += number(row * 4 + quad, i / 2 + 2 * upper, k % 2) * number(column * 4 + quad, 4 + upper, k % 2);
    }
  }
}

#define FLIGHTPLAN_HAS_WGMMA
// The fields of a descriptor, from the PTX manual's table for shared memory matrices swizzled over 128 bytes.
inline uint64_t SwizzledMatrix(const void* at, int panel_bytes, int group_bytes) {
  const uint64_t offset = static_cast<uint64_t>(static_cast<const unsigned char*>(at) - DynamicShared());
  return offset >> 4 | static_cast<uint64_t>(panel_bytes) >> 4 << 16 | static_cast<uint64_t>(group_bytes) >> 4 << 32 |
         uint64_t{1} << 62;
}
inline void FenceSums(float (&)[128]) {}  // a word to the compiler, of which there is none here
inline void BeginMatrices() { emulation::BeginMatrices(); }

namespace internal {

// Element [row][k] of an operand. The exchange of chunks takes bits of the address, not of the coordinates.
template <bool kRowsAlongLine>
float ElementAt(uint64_t matrix, int row, int k) {
  const uint64_t begin = (matrix & 0x3fff) << 4, panel = (matrix >> 16 & 0x3fff) << 4,
                 group = (matrix >> 32 & 0x3fff) << 4;
  const uint64_t r = static_cast<uint64_t>(row), c = static_cast<uint64_t>(k);
  uint64_t at = kRowsAlongLine ? begin + r / 64 * panel + r % 64 * 2 + c / 8 * group + c % 8 * 128
                               : begin + r / 8 * group + r % 8 * 128 + c * 2;
  at ^= (at >> 7 & 7) << 4;
  Bf16 x;
  std::memcpy(&x, DynamicShared() + at, sizeof x);
  return __bfloat162float(x);
}

}  // namespace internal

inline void AddPair(float* at, float x, float y) {
  at[0] += x;
  at[1] += y;
}
// wgmma m64n256k16: warp w holds rows 16 w + lane / 4 and 8 more; registers 4 j, 4 j + 1 the columns 8 j + lane % 4 * 2
// and the next of the first, 4 j + 2 and 4 j + 3 of the second. Computed when it is waited for, after others had turns,
// so that operands that are overwritten too early show.
template <bool kTransposeA, bool kTransposeB>
inline void MultiplyMatrices(float (&d)[128], uint64_t a, uint64_t b) {
  float* sums = d;
  const int thread = static_cast<int>(threadIdx.x) % 128, row0 = thread / 32 * 16 + thread % 32 / 4;
  const int column0 = thread % 4 * 2;
  emulation::DeferMatrices([=] {
    for (int k = 0; k < 16; ++k) {
      const float upper = internal::ElementAt<kTransposeA>(a, row0, k);
      const float lower = internal::ElementAt<kTransposeA>(a, row0 + 8, k);
      for (int i = 0; i < 64; ++i) {
        const float of_b = internal::ElementAt<kTransposeB>(b, i / 2 * 8 + column0 + i % 2, k);
        sums[i / 2 * 4 + i % 2] += upper * of_b;
        sums[i / 2 * 4 + 2 + i % 2] += lower * of_b;
      }
    }
  });
}
inline void CommitMatrices() { emulation::CloseMatrices(); }
template <int kPending>
inline void WaitForMatrices() {
  emulation::SettleMatrices(kPending);
}

}  // namespace flightplan::probe
