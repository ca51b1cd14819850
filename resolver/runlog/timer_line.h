// Megatron's own timers, which it prints beside the reports of its loop.
#pragma once

#include "absl/strings/string_view.h"

namespace flightplan {

// Milliseconds of a step in the optimizer, of the slowest rank: "optimizer ......: (55.00, 60.00)" of the block across
// ranks, or "| optimizer: 63.01" of the older line. 0: the text does not say.
double ReadOptimizerTimer(absl::string_view text, bool complete);

}  // namespace flightplan
