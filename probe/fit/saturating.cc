#include "probe/fit/saturating.h"

#include <algorithm>

#include "probe/fit/least_squares.h"

namespace flightplan::fit {

std::optional<SaturatingCurve> FitSaturating(const std::vector<Sample>& samples) {
  const std::vector<Sample> points = Usable(samples);
  if (points.size() < 3) return std::nullopt;
  double steepest = 0, most = 0, low_x = points.front().x, high_x = points.front().x;
  for (const Sample& point : points) {
    steepest = std::max(steepest, point.y / point.x);
    most = std::max(most, point.y);
    low_x = std::min(low_x, point.x);
    high_x = std::max(high_x, point.x);
  }
  const auto model = [](const std::array<double, 3>& p, double x) {
    return SaturatingCurve{p[0], p[1], p[2], 0, 0, 0}.At(x);
  };
  // A sharp bend and a soft one are different valleys: both are tried.
  FitResult<3> best;
  best.error = INFINITY;
  for (const double power : {1.0, 4.0}) {
    const FitResult<3> tried = LeastSquares<3>(model, points, {steepest, most, power},
                                               {steepest * 0.2, most * 0.5, 0.5}, {steepest * 20, most * 20, 16.0});
    if (tried.error < best.error) best = tried;
  }
  return SaturatingCurve{best.parameters[0], best.parameters[1], best.parameters[2], best.error, low_x, high_x};
}

}  // namespace flightplan::fit
