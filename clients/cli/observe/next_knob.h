// The change to try after a run: proposed by our own advice, which is asked again with what was measured, and tried on
// the launch itself before it is named.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clients/cli/backend.h"
#include "clients/cli/observe/observation.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

struct NextKnob {
  std::vector<v1::KnobSetting> knobs;  // the first is what it is about
  double step_change = 0;              // of the forecast, -0.05: 5 % shorter
  double memory_change_bytes = 0;      // of the forecast, fullest stage
  bool for_memory = false;             // the run's GPUs are full: what frees memory comes first
};

// `launch`: the question that was judged. Nothing: no change of an execution knob gains by our own forecast, or the
// launch says too little to ask; `*why` says which. At most kMostTrials questions are asked.
inline constexpr size_t kMostTrials = 16;
std::optional<NextKnob> FindNextKnob(Backend& backend, const v1::ValidateConfigRequest& launch, const Observation& o,
                                     std::string* why);

}  // namespace flightplan::cli
