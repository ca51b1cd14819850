// The flags that miles refuses without another, or beside another.
#pragma once

#include "absl/types/span.h"
#include "resolver/stacks/rollout_launch.h"

namespace flightplan {

absl::Span<const RolloutPair> MilesPairs();

}  // namespace flightplan
