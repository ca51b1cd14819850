// LoongForge: Megatron-LM's flags of its fork (Megatron-Core 0.15), and flags of its own.
#pragma once

#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// Reads the arguments after the script name: flags, and Hydra's overrides of the model's YAML, which win over them.
ParseResult ParseLoongForge(absl::Span<const Argument> args, const Environment& env);

// The model's file is named by model_name or config_file. What it says otherwise is an override of it, which would win
// over a flag; the rest are flags, in the order of the knob table. Without a file what it would have to say is left
// out.
Launch RenderLoongForge(const RenderInput& input);

}  // namespace flightplan
