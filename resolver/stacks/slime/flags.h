// The flags that slime adds to Megatron-LM's parser (THUDM/slime@624b824a8 slime/utils/arguments.py, its add_argument
// calls; docker/patch/latest/megatron.patch). No rule of Megatron-LM reads them.
#pragma once

#include "absl/types/span.h"
#include "resolver/read/argparse.h"

namespace flightplan {

absl::Span<const FlagSpec> SlimeFlags();

}  // namespace flightplan
