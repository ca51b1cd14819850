#include "probe/fit/contention.h"

#include <algorithm>
#include <cmath>

#include "probe/fit/least_squares.h"

namespace flightplan::fit {
namespace {

struct Line {
  double at_0 = 1, slope = 0;
};

// The line through the samples by relative least squares; with one place on the x axis it takes the given slope.
Line FitLine(const std::vector<Sample>& points, double slope_if_unknown) {
  double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
  for (const Sample& point : points) {
    const double sigma = SigmaOf(point) * point.y, weight = 1 / (sigma * sigma);
    w += weight;
    wx += weight * point.x;
    wy += weight * point.y;
    wxx += weight * point.x * point.x;
    wxy += weight * point.x * point.y;
  }
  const double determinant = w * wxx - wx * wx;
  Line line{0, slope_if_unknown};
  if (determinant > 1e-9 * w * wxx) line.slope = std::max(0.0, (w * wxy - wx * wy) / determinant);
  line.at_0 = (wy - line.slope * wx) / w;
  return line;
}

bool IsUsable(const CorunSample& sample, double total_sms) {
  const auto sane = [](double ratio) { return std::isfinite(ratio) && ratio >= 0.5 && ratio < 1e3; };
  return sample.sms >= 0 && sample.sms < total_sms && sane(sample.slowdown.compute) &&
         sane(sample.slowdown.communication);
}

}  // namespace

Slowdown CorunCurve::At(double sms) const {
  const double s = std::fmin(std::fmax(sms, 0.0), 0.95 * total_sms);
  // Nothing runs faster for company: what falls below 1 is noise.
  return {std::fmax(1.0, compute_at_0 + compute_slope * s / (total_sms - s)),
          std::fmax(1.0, communication_at_0 + communication_slope * s / total_sms)};
}

double CorunCurve::GainError(double sms, double of_both) const {
  const Slowdown at = At(sms);
  const double compute = of_both / at.compute, communication = of_both / at.communication;
  return std::sqrt(compute * compute + communication * communication);
}

std::optional<CorunCurve> FitCorun(const std::vector<CorunSample>& samples, double total_sms) {
  if (!(total_sms > 0)) return std::nullopt;
  std::vector<Sample> compute, communication;
  for (const CorunSample& sample : samples) {
    if (!IsUsable(sample, total_sms)) continue;
    compute.push_back({sample.sms / (total_sms - sample.sms), sample.slowdown.compute, sample.error});
    communication.push_back({sample.sms / total_sms, sample.slowdown.communication, sample.error});
  }
  if (compute.empty()) return std::nullopt;
  const Line c = FitLine(compute, 1), m = FitLine(communication, 0);
  CorunCurve curve{total_sms, c.at_0, c.slope, m.at_0, m.slope, 0};
  std::vector<double> residuals;
  for (size_t i = 0; i < compute.size(); ++i) residuals.push_back((c.at_0 + c.slope * compute[i].x) / compute[i].y - 1);
  const double compute_error = ErrorOfResiduals(residuals, compute, 2);
  residuals.clear();
  for (size_t i = 0; i < communication.size(); ++i)
    residuals.push_back((m.at_0 + m.slope * communication[i].x) / communication[i].y - 1);
  curve.error = std::max(compute_error, ErrorOfResiduals(residuals, communication, 2));
  return curve;
}

}  // namespace flightplan::fit
