#include "tests/evidence/summary.h"

#include <algorithm>
#include <cmath>

namespace flightplan {

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
}

double Median(std::vector<double> values) { return Quantile(std::move(values), 0.5); }

Summary Summarize(const std::vector<const HeldOutRow*>& rows) {
  std::vector<double> sizes, errors, widths;
  int inside = 0;
  for (const HeldOutRow* held : rows) {
    errors.push_back(held->error);
    sizes.push_back(std::abs(held->error));
    widths.push_back(held->half_width);
    inside += std::abs(std::log(1 + held->error)) <= held->half_width;
  }
  const double n = std::max<double>(1, static_cast<double>(rows.size()));
  return {100 * Median(sizes), 100 * Quantile(sizes, 0.9), 100 * Median(errors),
          100 * inside / n,    100 * Median(widths),       rows.size()};
}

}  // namespace flightplan
