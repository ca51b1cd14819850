// How many SMs to give the exchange (moe_flex_dispatcher_num_sms): more SMs shorten it and stretch the compute beside
// it.
#pragma once

#include <array>
#include <cstddef>

namespace flightplan::fit {

struct SmAdvice {
  int best = 0;
  // The counts that nothing measured tells from the best: one value when both are equal, else a range to sweep.
  int low = 0, high = 0;
  double best_us = 0;  // of the pair
};

inline constexpr int kLeastSms = 4, kMostSms = 64;  // even counts; DeepEP takes no others
inline constexpr size_t kSmCounts = (kMostSms - kLeastSms) / 2 + 1;

// From the time of each of the first `count` counts: the least count within half a per cent of the shortest, and all
// that an error of this relative size does not tell from it.
SmAdvice PickSms(const std::array<double, kSmCounts>& us, size_t count, double error);

}  // namespace flightplan::fit
