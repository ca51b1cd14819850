// The flags that slime adds to Megatron-LM's parser beside those that miles adds, too (THUDM/slime@624b824a8
// slime/utils/arguments.py, its add_argument calls; docker/patch/latest/megatron.patch).
#pragma once

#include "absl/types/span.h"
#include "resolver/read/argparse.h"

namespace flightplan {

absl::Span<const FlagSpec> SlimeFlags();

}  // namespace flightplan
