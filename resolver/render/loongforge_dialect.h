// LoongForge: Megatron-LM's flags of its fork (Megatron-Core 0.15), and flags of its own.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/render/dialect.h"

namespace flightplan {

// Reads the arguments after the script name: flags, and Hydra's overrides of the model's YAML, which win over them.
ParseResult ParseLoongForge(absl::Span<const Argument> args, const Environment& env);

// The knob that a key of the model's YAML or an override sets: an argument's name (num_experts), or another knob's.
std::optional<Knob> LoongForgeKey(absl::string_view key);

// Choices of a flag of the fork's own, '|' separated; empty: those of the knob table.
absl::string_view LoongForgeChoices(Knob knob);

// Writes every knob that was given or decided, in the order of the knob table, LoongForge's own flags last.
Launch RenderLoongForge(const RenderInput& input);

}  // namespace flightplan
