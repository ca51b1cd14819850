// FP8 as cuda_fp8.h has it, for tests without a GPU: e4m3, rounded to nearest, ties to even, too large to the largest.
#pragma once

#include <cmath>
#include <cstdint>

using __nv_fp8_storage_t = unsigned char;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t, __nv_fp8_interpretation_t) {
  const unsigned sign = std::signbit(x) ? 0x80 : 0;
  const float size = std::fabs(x);
  if (std::isnan(x)) return 0x7f;
  if (size >= 448) return static_cast<__nv_fp8_storage_t>(sign | 0x7e);
  // In steps of the exponent's last digit, 2^-9 at the least; nearbyint takes ties to even.
  int exponent = 0;
  std::frexp(size, &exponent);
  const int step = std::max(exponent - 4, -9);
  const int steps = static_cast<int>(std::nearbyint(std::ldexp(size, -step)));  // 8..16, fewer of the smallest
  return static_cast<__nv_fp8_storage_t>(sign | static_cast<unsigned>(steps + 8 * (step + 9)));
}
