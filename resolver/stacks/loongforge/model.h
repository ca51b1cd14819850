// What LoongForge takes from the model's file (--model-name, --config-file): Hydra composes it with the words of the
// command line that belong to no flag (num_layers=4, +mtp_num_layers=1, ~qk_layernorm), and its keys win over flags.
#pragma once

#include "absl/types/span.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// Adds to `out`, which holds what the flags say, what the file and these words say on top, and what Hydra would refuse.
// A file that is none of LoongForge's own is not known: its keys then come from the words alone.
void ReadLoongForgeModel(absl::Span<const Argument> overrides, const Environment& env, ParseResult* out);

}  // namespace flightplan
