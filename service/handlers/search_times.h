// How a search divides the time of its call.
#pragma once

#include <algorithm>
#include <chrono>

namespace flightplan::service {

// Of a call's time the last part is for sending the answer, the one before for writing it, and the one before that for
// the plans of what the search found; the search has the rest. A plan takes about as long to write as to make, and both
// stop at their ends with what is there. Nothing stops the sending, which a busy machine makes longest, so that a short
// time has more of it.
struct SearchTimes {
  using Clock = std::chrono::steady_clock;
  static constexpr int kPart = 8, kMostOfShort = 4;  // of the time, within these bounds
  static constexpr std::chrono::milliseconds kLeastForSending{200}, kMostForSending{2000}, kMostForPlans{5000};

  // When each ends.
  Clock::time_point search, plans, writing;

  SearchTimes(Clock::time_point now, Clock::duration left) {
    const Clock::duration least = std::min<Clock::duration>(kLeastForSending, left / kMostOfShort);
    const Clock::duration part = std::min<Clock::duration>(left / kPart, kMostForPlans);
    writing = now + left - std::max<Clock::duration>(least, std::min<Clock::duration>(part, kMostForSending));
    plans = writing - part;
    search = plans - part;
  }
};

}  // namespace flightplan::service
