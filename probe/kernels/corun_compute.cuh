// The compute that runs beside an exchange, in the classes that a layer has.
#pragma once

#include <string>

#include "probe/kernels/corun.cuh"
#include "probe/kernels/gemm.cuh"

namespace flightplan::probe {

enum class Work { kGemm, kWgrad, kElementwise };
inline constexpr Work kWorks[] = {Work::kGemm, Work::kWgrad, Work::kElementwise};
inline const char* Name(Work work) {
  constexpr const char* kNames[] = {"gemm", "wgrad", "elementwise"};
  return kNames[static_cast<int>(work)];
}

// Many waves of tiles on any chip.
GemmShape Filling(const Gpu& gpu);

class CorunCompute {
 public:
  explicit CorunCompute(Work work) : work_(work) {}
  // Takes its operands from the arena, and holds a GEMM against its reference.
  Status Allocate(Gpu& gpu);
  Status Launch(cudaStream_t stream);

 private:
  Work work_;
  MoeShape shape_;
  int sets_ = 1, turn_ = 0;
  Bf16 *in_ = nullptr, *out_ = nullptr;
  float* probs_ = nullptr;
  Gemms gemms_;
};

// The rows of one cell: corun.matrix of both sides, and corun.lead, which says how long the exchange was ahead.
std::vector<RowSpec> CorunRows(const std::map<std::string, double>& parameters, const char* communication, Work work,
                               const char* kind, const std::map<std::string, std::string>& labels = {});

}  // namespace flightplan::probe
