// The flags that FlagScale's fork adds to Megatron-LM's.
#pragma once

#include "absl/types/span.h"
#include "resolver/read/argparse.h"

namespace flightplan {

absl::Span<const FlagSpec> FlagScaleFlags();

}  // namespace flightplan
