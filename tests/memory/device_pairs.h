// Public pairs of max_memory_allocated and max_memory_reserved, and how far the forecast of one from the other is off
// for a model family that the coefficient has not seen (tests/data/README.md).
#pragma once

#include <string>
#include <vector>

#include "resolver/derive/candidate.h"

namespace flightplan {

struct DevicePair {
  std::string id, family;
  Candidate candidate;  // what it says of the allocator
  bool experts = false;
  double allocated = 0, reserved = 0;  // bytes

  double share() const { return reserved / allocated - 1; }
};

// device-memory.jsonl; empty: the text is not that.
std::vector<DevicePair> ReadDevicePairs(const std::string& text);

struct DeviceError {
  const DevicePair* pair = nullptr;
  double error = 0;     // (forecast - reserved) / reserved, by the catalogue's coefficient
  bool inside = false;  // of the printed band
  double held_out = 0;  // the same error by the pairs of other families alone
};

// The share of a held-out family is the median over the other families of the median of each, of pairs that the
// catalogue has the same coefficient for; if no other family has one, of those with the same kind of model and
// segments.
std::vector<DeviceError> DeviceErrors(const std::vector<DevicePair>& pairs);

}  // namespace flightplan
