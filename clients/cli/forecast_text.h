// A step's forecast in few words, for the pages of resolve and validate.
#pragma once

#include <string>
#include <vector>

#include "flightplan/v1/estimate.pb.h"

namespace flightplan::cli {

// Seconds or milliseconds, whichever reads well.
struct TimeUnit {
  double us;
  const char* name;  // "ms"
};
TimeUnit UnitFor(double us);

// "6.9 s (6.2..7.7)", three figures at most.
std::string StepText(const v1::Range& step_us);

// "2,310 tokens/s and 412 TFLOP/s per GPU, MFU 42 %"; empty: no forecast.
std::string SpeedText(const v1::Estimate& estimate);

// "EP 1.2 s, 3.4 s hidden": one for each parallel path that communicates.
std::vector<std::string> CommunicationTexts(const v1::Estimate& estimate);

}  // namespace flightplan::cli
