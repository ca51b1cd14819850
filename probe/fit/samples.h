// What a fit is given: points with the half-widths of their 95 % intervals. Nothing in this folder needs more than the
// standard library: the probe's worker, which builds alone, and the resolver both use it.
#pragma once

#include <cmath>
#include <vector>

namespace flightplan::fit {

struct Sample {
  double x = 0, y = 0;
  double error = 0;  // of y, relative; 0: not known
};

// No interval is taken for narrower than this: clocks and alignment move a row by half a per cent between runs.
inline constexpr double kLeastError = 0.005;
// Relative half-width that a fit claims when it has no more points than parameters.
inline constexpr double kUntestedError = 0.15;

// The points that a relative fit can use.
inline std::vector<Sample> Usable(const std::vector<Sample>& samples) {
  std::vector<Sample> usable;
  for (const Sample& sample : samples) {
    if (std::isfinite(sample.x) && std::isfinite(sample.y) && sample.x > 0 && sample.y > 0) usable.push_back(sample);
  }
  return usable;
}

inline double SigmaOf(const Sample& sample) {
  const double known = std::isfinite(sample.error) ? sample.error : 0;
  return std::fmax(known, kLeastError) / 1.96;
}

}  // namespace flightplan::fit
