#include "probe/emulation/reference_blas.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "probe/emulation/cuda_bf16.h"
#include "probe/emulation/queues.h"

namespace flightplan::probe {
namespace {

double E4m3(uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  const double fraction = (bits & 7) / 8.0;
  const double size = exponent == 0 ? fraction * std::exp2(-6) : (1 + fraction) * std::exp2(exponent - 7);
  return bits >> 7 != 0 ? -size : size;
}

// By rows, [rows][k].
using Matrix = std::vector<double>;

// Multiplies by what stands at every place of the scales' memory.
void Scale(Fp8Scales how, const void* scales, int rows, int k, BlasFault fault, Matrix* matrix) {
  const auto times = [&](int row0, int high, int k0, int wide, double by) {
    const int shift = fault == BlasFault::kNextRowsScales ? 1 : 0;
    for (int row = row0 + shift; row < std::min(rows, row0 + high + shift); ++row) {
      double* line = matrix->data() + int64_t{row} * k;
      for (int i = k0; i < std::min(k, k0 + wide); ++i) line[i] *= by;
    }
  };
  const auto number = [&](int at) {
    float scale;
    std::memcpy(&scale, static_cast<const char*>(scales) + 4 * at, sizeof scale);
    return static_cast<double>(scale);
  };
  const int blocks = (k + 127) / 128, high = (rows + 127) / 128;
  switch (how) {
    case Fp8Scales::kNone:
      return;
    case Fp8Scales::kTensor:
      return times(0, rows, 0, k, number(0));
    case Fp8Scales::kRow128:
      for (int at = 0; at < blocks * rows; ++at) times(at % rows, 1, at / rows * 128, 128, number(at));
      return;
    case Fp8Scales::kSquare128: {
      const int line = (blocks + 3) / 4 * 4;
      for (int at = 0; at < high * line; ++at) {
        if (at % line < blocks) times(at / line * 128, 128, at % line * 128, 128, number(at));
      }
      return;
    }
    case Fp8Scales::kMx32:
      for (int at = 0; at < 512 * high * blocks; ++at) {
        const int tile = at / 512, within = at % 512;
        const int row = tile / blocks * 128 + within / 16 + within % 16 / 4 * 32;
        const int block = tile % blocks * 4 + within % 4;
        if (row < rows && 32 * block < k) {
          times(row, 1, block * 32, 32, std::exp2(static_cast<const uint8_t*>(scales)[at] - 127));
        }
      }
  }
}

Matrix Read(const GemmShape& s, bool second, BlasLt::Operand operand, BlasFault fault) {
  const int rows = second ? s.n : s.m;
  const bool by_k = second ? s.b_by_k : s.a_by_k;
  Matrix matrix;
  for (int row = 0; row < rows; ++row) {
    for (int i = 0; i < s.k; ++i) {
      const int64_t at = by_k ? int64_t{i} * rows + row : int64_t{row} * s.k + i;
      matrix.push_back(
          s.fp8() ? E4m3(static_cast<const uint8_t*>(operand.numbers)[at])
                  : static_cast<double>(__bfloat162float(static_cast<const __nv_bfloat16*>(operand.numbers)[at])));
    }
  }
  Scale(second ? s.b_scales : s.a_scales, operand.scales, rows, s.k, fault, &matrix);
  return matrix;
}

void Multiply(const GemmShape& s, BlasLt::Operand a, BlasLt::Operand b, void* c, BlasFault fault) {
  const Matrix left = Read(s, false, a, fault), right = Read(s, true, b, fault);
  for (int row = 0; row < s.m; ++row) {
    for (int column = 0; column < s.n; ++column) {
      if (fault == BlasFault::kLeavesAColumnOut && column + 1 == s.n) continue;
      const double* x = left.data() + int64_t{row} * s.k;
      const double* y = right.data() + int64_t{column} * s.k;
      double sum = 0;
      for (int i = 0; i < s.k; ++i) sum += x[i] * y[i];
      const int64_t at = int64_t{row} * s.n + column;
      if (s.accumulate_fp32) static_cast<float*>(c)[at] += static_cast<float>(sum);
      if (!s.accumulate_fp32) static_cast<__nv_bfloat16*>(c)[at] = __float2bfloat16(static_cast<float>(sum));
    }
  }
}

class ReferencePlan : public BlasLt::Plan {
 public:
  ReferencePlan(const GemmShape& shape, BlasFault fault) : shape_(shape), fault_(fault) {}
  int Run(BlasLt::Operand a, BlasLt::Operand b, void* c, void*, void* stream) const override {
    return emulation::Queue(static_cast<cudaStream_t>(stream),
                            [shape = shape_, a, b, c, fault = fault_] { Multiply(shape, a, b, c, fault); });
  }

 private:
  GemmShape shape_;
  BlasFault fault_;
};

class ReferenceBlas : public BlasLt {
 public:
  explicit ReferenceBlas(BlasFault fault) : fault_(fault) {}
  size_t Version() const override { return 130002; }
  // FP8 operands lie along k, with sides of whole 16 bytes.
  std::unique_ptr<Plan> MakePlan(const GemmShape& s) override {
    if (s.fp8() && (s.a_by_k || s.b_by_k || s.m % 16 != 0 || s.n % 16 != 0 || s.k % 16 != 0)) return nullptr;
    return std::make_unique<ReferencePlan>(s, fault_);
  }

 private:
  BlasFault fault_;
};

}  // namespace

std::unique_ptr<BlasLt> MakeReferenceBlas(BlasFault fault) { return std::make_unique<ReferenceBlas>(fault); }

}  // namespace flightplan::probe
