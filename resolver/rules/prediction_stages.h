// Which stages prediction layers (MTP) may stand in.
#pragma once

#include <cstdint>
#include <vector>

#include "resolver/plan/stack.h"

namespace flightplan {

// Decoder layers by stage, with one in the last where the stack asks for it: the nearest stage before with two gives
// it.
inline std::vector<int64_t> WithDecoderBesidePrediction(std::vector<int64_t> stages, int64_t mtp, const Stack& stack) {
  if (mtp < 1 || stages.empty() || stages.back() > 0 || !stack.predicts_beside_decoder) return stages;
  for (size_t i = stages.size() - 1; i-- > 0;) {
    if (stages[i] < 2) continue;
    --stages[i];
    ++stages.back();
    break;
  }
  return stages;
}

}  // namespace flightplan
