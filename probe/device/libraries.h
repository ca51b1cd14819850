// cuBLASLt, loaded at run time: the worker is built without its headers and runs without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace flightplan::probe {

// How an operand is held: bf16; or 8 bits (e4m3) with one scale for all, for 128 numbers along k, for a square of 128
// rows and 128 numbers, or for 32 numbers (MXFP8).
enum class Fp8Scales { kNone, kTensor, kRow128, kSquare128, kMx32 };

// C[m, n] = sum over k of A[m, k] B[n, k] (+ C), row-major. `a_by_k`: A lies in memory as [k][m]; `b_by_k`: B as
// [k][n]. fp32 sums; C is bf16, or fp32 to which is added.
struct GemmShape {
  int m = 0, n = 0, k = 0;
  bool a_by_k = false, b_by_k = false;
  bool accumulate_fp32 = false;
  int sm_count = 0;                                                    // SMs that the library is asked to use; 0: all
  Fp8Scales a_scales = Fp8Scales::kNone, b_scales = Fp8Scales::kNone;  // both or none

  bool fp8() const { return a_scales != Fp8Scales::kNone; }

  double Flops() const { return 2.0 * m * n * k; }
};

inline constexpr size_t kBlasWorkspaceBytes = 32 << 20;  // what cuBLAS itself takes on Hopper

class BlasLt {
 public:
  struct Operand {
    const void* numbers = nullptr;
    const void* scales = nullptr;  // of 8 bits alone
  };
  // One shape, with the library's first choice of algorithm. Must not outlive the library.
  class Plan {
   public:
    virtual ~Plan() = default;
    // 0, or the library's error. `stream` is a cudaStream_t, `workspace` of kBlasWorkspaceBytes.
    virtual int Run(Operand a, Operand b, void* c, void* workspace, void* stream) const = 0;
  };

  // Null: not installed.
  static std::unique_ptr<BlasLt> Load();
  virtual ~BlasLt() = default;
  virtual size_t Version() const = 0;  // 130002: 13.0.2
  // Null: the library has no algorithm.
  virtual std::unique_ptr<Plan> MakePlan(const GemmShape& shape) = 0;
};

}  // namespace flightplan::probe
