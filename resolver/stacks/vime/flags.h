// The flags that vime adds to Megatron-LM's parser beside those that slime and miles both add
// (vllm-project/vime@035f98340 vime/utils/arguments.py and vime/backends/vllm_utils/arguments.py, their add_argument
// calls).
#pragma once

#include "absl/types/span.h"
#include "resolver/read/argparse.h"

namespace flightplan {

absl::Span<const FlagSpec> VimeFlags();

}  // namespace flightplan
