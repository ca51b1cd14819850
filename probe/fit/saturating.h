// Something that grows in proportion until it meets a ceiling: bandwidth against SMs, the rate of expert GEMMs against
// rows. A smooth minimum of both limits,
//
//   y(x) = ((slope * x)^-power + ceiling^-power)^(-1 / power),
//
// fits DeepEP's published bandwidth on B200 for 16 to 48 SMs within 2.0 % with power 8 (deepseek-ai/DeepEP, hybrid-ep
// branch @94a9f8f6b1, docs/README_Hybrid-EP.md); power 1 is x / (x + half).
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "probe/fit/samples.h"

namespace flightplan::fit {

struct SaturatingCurve {
  double slope = 0;    // of y, per x, far below the ceiling
  double ceiling = 0;  // same unit as y
  double power = 1;    // how sharp the bend is
  double error = 0;    // relative half-width of At inside [low_x, high_x]
  double low_x = 0, high_x = 0;

  double At(double x) const {
    const double rising = slope * x;
    if (!(rising > 0)) return 0;
    // With the larger of both in front nothing overflows.
    const double most = std::fmin(rising, ceiling);
    const double ratio = most / std::fmax(rising, ceiling);
    return most * std::pow(1 + std::pow(ratio, power), -1 / power);
  }
  // The x at which this share of the ceiling is reached, 0 < share < 1.
  double Reaching(double share) const { return ceiling / slope * std::pow(std::pow(share, -power) - 1, -1 / power); }
};

// Nothing with fewer than three usable points, which a curve of three parameters would pass through whatever they say.
std::optional<SaturatingCurve> FitSaturating(const std::vector<Sample>& samples);

}  // namespace flightplan::fit
