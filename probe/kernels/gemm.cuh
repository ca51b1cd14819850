// GEMMs of one or several experts, by cuBLASLt or by an own kernel on the tensor cores.
#pragma once

#include <memory>
#include <vector>

#include "probe/kernels/fp8.cuh"
#include "probe/kernels/gpu.cuh"

namespace flightplan::probe {

struct TensorMap;  // bulk.cuh

enum class GemmPath { kLibrary, kOwn, kTma };
inline const char* Name(GemmPath path) {
  constexpr const char* kNames[] = {"cublaslt", "own", "tma"};
  return kNames[static_cast<int>(path)];
}
// The library where it is; else the best own kernel that the card can run: on Hopper it comes to 0.98 of the library.
inline GemmPath BestPath(const Gpu& gpu) {
  if (gpu.blas != nullptr) return GemmPath::kLibrary;
  return gpu.compute_major == 9 ? GemmPath::kTma : GemmPath::kOwn;
}

// One GEMM of the own kernel's list, on the device.
struct GemmTask {
  const Bf16 *a, *b;
  void* c;
  int m, n, k;
  int first_tile;  // of all tasks' output tiles in a row
};

// Device memory that operands of several lists share which never run at the same time; outputs are every list's own.
class OperandPool {
 public:
  // Elements that one set of `count` GEMMs of this shape takes.
  static int64_t Elements(const GemmShape& shape, int count);
  Status Reserve(Arena& arena, int64_t elements);
  void Rewind() { used_ = 0; }  // for the next list
  Status Take(int64_t elements, Bf16** memory);

 private:
  Bf16* memory_ = nullptr;
  int64_t elements_ = 0, used_ = 0;
};

// A list of GEMMs that run as one operation: on four streams by the library, as TransformerEngine spreads experts, or
// in one launch of an own kernel. All have the same storage orders and output type.
class Gemms {
 public:
  // kUnsupported: the library is missing or has no algorithm, or the device is not of the kernel's generation.
  // `sm_count` 0: all.
  Status Open(Gpu& gpu, GemmPath path, std::vector<GemmShape> shapes, int sm_count = 0);

  // Takes sets of operands from the arena and fills them; as many as turn the cache over, `most` at most.
  Status AllocateSets(int most, int* sets);
  // Takes one set, with what is read (bf16) from the pool and what is written from the arena. Whoever takes from the
  // pool after it overwrites what this list reads with numbers of the same kind: it is checked before.
  Status AllocateFrom(OperandPool* pool);

  Status Run(cudaStream_t stream, int set);
  // Holds sampled elements of set 0 against sums in double precision.
  Status Check();

  int64_t SetBytes() const;
  double Flops() const;
  // Output tiles of the own kernel.
  int tiles() const { return tiles_; }

 private:
  struct Set {
    std::vector<Bf16*> a, b;
    std::vector<Fp8Matrix> a8, b8;  // in their place, of 8 bits
    std::vector<void*> c;
    GemmTask* tasks = nullptr;  // on the device
    TensorMap* maps = nullptr;  // likewise, where the kernel reads by them
  };

  using Readers = std::vector<std::pair<Fp8Reader, Fp8Reader>>;  // of A and of B, one pair per shape; none of bf16

  Status AllocateSet(Set* set, OperandPool* pool);
  Status AllocateFp8Set(Set* set);
  Status RunLibrary(cudaStream_t stream, const Set& set);
  Status RunOwn(cudaStream_t stream, const Set& set);
  Status OpenReaders(const Set& set, Readers* readers);
  Status Want(const Readers& readers, size_t task, int row, int column, double* want);
  Status CheckElement(const Set& set, const Readers& readers, size_t task, int row, int column, Comparison* comparison);

  Gpu* gpu_ = nullptr;
  GemmPath path_ = GemmPath::kOwn;
  int sm_count_ = 0;
  std::vector<GemmShape> shapes_;
  std::vector<std::shared_ptr<BlasLt::Plan>> plans_;  // one per shape
  std::vector<Set> sets_;
  Bf16* wide_ = nullptr;  // what FP8 operands are cast from, one after the other
  int tiles_ = 0;
};

// A list of GEMMs as one graph, for experiments that time two of them in alternation.
class GemmWindow {
 public:
  // Checks the GEMMs, then captures `turns` turns through their sets of operands; no graph where nothing is timed.
  Status Prepare(Gpu& gpu, GemmPath path, std::vector<GemmShape> shapes, int turns, int sm_count = 0);
  Status Replay(Gpu& gpu, double* us) { return window_.Replay(gpu, us); }

 private:
  Gemms gemms_;
  TimedGraph window_;
};

}  // namespace flightplan::probe
