// How many SMs to give the exchange (moe_flex_dispatcher_num_sms): more SMs shorten it and stretch the compute beside
// it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "probe/fit/contention.h"
#include "probe/fit/pair.h"
#include "probe/fit/saturating.h"

namespace flightplan::fit {

struct SmQuestion {
  PairParts parts;              // compute nodes; the exchange is worked out for every count
  double exchange_bytes = 0;    // of one dispatch or combine
  double latency_us = 0;        // of one exchange whatever its size
  double link_us_per_byte = 0;  // at the link's own rate; 0: only the SMs limit
  PairSchedule schedule;
};

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

// `bandwidth`: bytes a second against SMs. Nothing without an exchange to speed up.
std::optional<SmAdvice> AdviseSms(const SmQuestion& question, const SaturatingCurve& bandwidth,
                                  const CorunCurve& corun);

}  // namespace flightplan::fit
