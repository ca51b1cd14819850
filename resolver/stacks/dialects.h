// All dialects by name.
#pragma once

#include <vector>

#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// A target's own dialect: "megatron-lm", "megatron-bridge", "loongforge".
absl::string_view OwnDialect(Target target);

// Renders by name; `launch.dialect` is that name. An unknown name gives an empty launch.
Launch RenderDialect(absl::string_view name, const RenderInput& input);

// Reads arguments by the grammar of env.target.
ParseResult ParseOwnDialect(absl::Span<const Argument> args, const Environment& env);

}  // namespace flightplan
