// LoongForge: Megatron-LM's flags of its fork (Megatron-Core 0.15), and flags of its own.
#pragma once

#include "absl/types/span.h"
#include "resolver/render/dialect.h"

namespace flightplan {

// Reads the arguments after the script name.
ParseResult ParseLoongForge(absl::Span<const Argument> args, const Environment& env);

// Writes every knob that was given or decided, in the order of the knob table, LoongForge's own flags last.
Launch RenderLoongForge(const RenderInput& input);

}  // namespace flightplan
