#include "probe/fit/sm_advice.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace flightplan::fit {

SmAdvice PickSms(const std::array<double, kSmCounts>& us, size_t count, double error) {
  constexpr double kSame = 1.005;
  // Both sides of a comparison share most of their errors, so the counts are told apart better than either is known.
  constexpr double kShared = 0.25;
  double shortest = us[0];
  for (size_t i = 1; i < count; ++i) shortest = std::fmin(shortest, us[i]);
  size_t best = 0;
  while (best + 1 < count && us[best] > shortest * kSame) ++best;
  const double tolerance = std::max(kSame, 1 + kShared * error);
  size_t low = best, high = best;
  while (low > 0 && us[low - 1] <= shortest * tolerance) --low;
  while (high + 1 < count && us[high + 1] <= shortest * tolerance) ++high;
  const auto sms = [](size_t i) { return kLeastSms + 2 * static_cast<int>(i); };
  return {sms(best), sms(low), sms(high), us[best]};
}

}  // namespace flightplan::fit
