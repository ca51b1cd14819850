#include "resolver/evidence/plausible.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace flightplan {
namespace {

// A forecast is rarely off by more than its band; three bands, and never less than a half, are another machine, another
// run or another unit.
constexpr double kBands = 3;
constexpr double kLeastRatio = 1.5;
// Of the change that a pair of runs shows, against the forecast of the same pair.
constexpr double kLeastChange = 0.25;

double LogRatio(const Measurement& m) { return std::log(m.value / m.forecast); }

// How reports of others on the same GPU system stand to their forecasts: the median, where three tenants or an operator
// speak. One reporter cannot move the line that its own next report is held to.
double UsualLogRatio(const Measurement& report, const EvidenceSnapshot& evidence) {
  std::vector<double> ratios;
  bool by_operator = false;
  std::vector<std::string> tenants;
  for (const Measurement* other : evidence.ForGpu(report.gpu)) {
    if (other->metric != report.metric || !other->has_forecast || other->tenant == report.tenant) continue;
    ratios.push_back(LogRatio(*other));
    by_operator |= other->trust == Trust::kOperator;
    if (std::find(tenants.begin(), tenants.end(), other->tenant) == tenants.end()) tenants.push_back(other->tenant);
  }
  if (ratios.empty() || (!by_operator && tenants.size() < 3)) return 0;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

}  // namespace

std::string ImplausibleBecause(const Measurement& report, const EvidenceSnapshot& evidence) {
  if (!report.has_forecast) return "";
  if (report.metric == Metric::kAbChange) {
    const double half = std::max(kLeastChange, kBands * 0.5 * (report.forecast_high - report.forecast_low));
    if (std::abs(report.value - report.forecast) <= half) return "";
    return absl::StrFormat("a change of %+.0f %% where %+.0f %% is forecast, give or take %.0f", 100 * report.value,
                           100 * report.forecast, 100 * half);
  }
  const double band = std::log(report.forecast_high / std::max(report.forecast_low, 1e-9 * report.forecast_high)) / 2;
  const double limit = std::max(std::log(kLeastRatio), kBands * band);
  const double usual = UsualLogRatio(report, evidence);
  const double off = LogRatio(report) - usual;
  if (std::abs(off) <= limit) return "";
  return absl::StrFormat("%.2f times its forecast, where up to %.2f times is believed%s", std::exp(LogRatio(report)),
                         std::exp(usual + (off > 0 ? limit : -limit)),
                         usual != 0 ? absl::StrFormat(" (others report %.2f)", std::exp(usual)) : "");
}

}  // namespace flightplan
