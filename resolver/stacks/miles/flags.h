// The flags that miles adds to Megatron-LM's parser beside those that slime adds, too (radixark/miles@31f1ca961
// miles/utils/arguments.py, its add_argument calls), and those that its copy of Megatron-LM has beside release 0.16.
#pragma once

#include "absl/types/span.h"
#include "resolver/read/argparse.h"

namespace flightplan {

absl::Span<const FlagSpec> MilesFlags();
absl::Span<const absl::string_view> MilesFlagsOfLaterReleases();

}  // namespace flightplan
