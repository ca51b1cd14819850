// docs/accuracy.md: how far forecasts are off, for anyone to read. Written from the held-out errors, so that it cannot
// say anything that the gates do not see.
#pragma once

#include <string>
#include <vector>

#include "tests/evidence/decisions.h"
#include "tests/evidence/fit.h"
#include "tests/memory/device_pairs.h"

namespace flightplan {

struct AccuracyData {
  std::vector<HeldOutRow> by_family, by_gpu;  // each row forecast by a fit that has not seen its family, or its GPU
  std::vector<double> in_sample;              // relative errors of the fit to all
  std::vector<AbRow> pairs;
  DecisionShares decisions;
  std::vector<DeviceError> device;
};

std::string AccuracyPage(const AccuracyData& data);

// The same lines with the same words; figures may differ by the last digit, which another compiler rounds elsewhere.
bool SameButForRounding(const std::string& page, const std::string& other);

}  // namespace flightplan
