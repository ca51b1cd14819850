// Megatron-Bridge: Hydra overrides (`model.expert_model_parallel_size=8`) and the command of its performance harness.
#pragma once

#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// Reads overrides as somebody wrote them; a name that Bridge does not have becomes a finding.
ParseResult ParseBridge(absl::Span<const Argument> args, const Environment& env);
ParseResult ParseBridge(absl::Span<const std::string> argv, const Environment& env);

// Writes what was given or decided, where Bridge does not overwrite it. Needs a recipe to be applied to.
Launch RenderBridge(const RenderInput& input);

// A recipe or script in Python, with the recipe that it starts from. Nothing is executed: what only a run would know is
// unknown, and of several configurations the one that is trained counts, else the last.
ParseResult ParseBridgePython(absl::string_view text, const Environment& env);

// scripts/training/run_recipe.py: its own flags, and overrides, which win.
ParseResult ParseBridgeRecipe(absl::Span<const Argument> args, const Environment& env);

// scripts/performance/run_script.py: flags, which win, and overrides. launch.recipe is FAMILY/RECIPE or
// FAMILY/RECIPE@VARIANT.
ParseResult ParseBridgePerf(absl::Span<const Argument> args, const Environment& env);
ParseResult ParseBridgePerf(absl::Span<const std::string> argv, const Environment& env);
Launch RenderBridgePerf(const RenderInput& input);

}  // namespace flightplan
