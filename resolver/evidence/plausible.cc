#include "resolver/evidence/plausible.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"

namespace flightplan {
namespace {

// A forecast is rarely off by more than its band; three bands, and never less than a half, are another machine, another
// run or another unit.
constexpr double kBands = 3;
constexpr double kLeastRatio = 1.5;
// Of the change that a pair of runs shows, against the forecast of the same pair.
constexpr double kLeastChange = 0.25;

// How reports of others on the same GPU system stand to their forecasts: the median, where three tenants or an operator
// speak. One reporter cannot move the line that its own next report is held to.
double UsualLogRatio(const Measurement& report, const EvidenceSnapshot& evidence) {
  const RunTable& table = evidence.ForGpu(report.run->gpu).Of(report.run->metric);
  const int32_t own = table.TenantOf(report.tenant);
  std::vector<double> ratios;
  bool by_operator = false;
  absl::flat_hash_set<int32_t> tenants;
  for (const RunTable::Ratio& other : table.ratios()) {
    if (other.tenant == own) continue;
    ratios.push_back(other.log_ratio);
    by_operator |= other.by_operator;
    tenants.insert(other.tenant);
  }
  if (ratios.empty() || (!by_operator && tenants.size() < 3)) return 0;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

}  // namespace

std::string ImplausibleBecause(const Measurement& report, const EvidenceSnapshot& evidence) {
  const MeasuredRun& run = *report.run;
  if (!run.has_forecast) return "";
  if (run.metric == Metric::kAbChange) {
    const double half = std::max(kLeastChange, kBands * 0.5 * (run.forecast_high - run.forecast_low));
    if (std::abs(report.value - run.forecast) <= half) return "";
    return absl::StrFormat("a change of %+.0f %% where %+.0f %% is forecast, give or take %.0f", 100 * report.value,
                           100 * run.forecast, 100 * half);
  }
  const double band = std::log(run.forecast_high / std::max(run.forecast_low, 1e-9 * run.forecast_high)) / 2;
  const double limit = std::max(std::log(kLeastRatio), kBands * band);
  const double usual = UsualLogRatio(report, evidence);
  const double log_ratio = std::log(report.value / run.forecast);
  const double off = log_ratio - usual;
  if (std::abs(off) <= limit) return "";
  return absl::StrFormat("%.2f times its forecast, where up to %.2f times is believed%s", std::exp(log_ratio),
                         std::exp(usual + (off > 0 ? limit : -limit)),
                         usual != 0 ? absl::StrFormat(" (others report %.2f)", std::exp(usual)) : "");
}

}  // namespace flightplan
