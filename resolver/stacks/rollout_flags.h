// The flags that slime and its fork miles both add to Megatron-LM's parser, with the same types and choices
// (THUDM/slime@624b824a8 slime/utils/arguments.py, radixark/miles@31f1ca961 miles/utils/arguments.py, their
// add_argument calls). No rule of Megatron-LM reads them. What one of them has alone stands in its folder.
#pragma once

#include "absl/types/span.h"
#include "resolver/read/argparse.h"

namespace flightplan {

absl::Span<const FlagSpec> RolloutFlags();

}  // namespace flightplan
