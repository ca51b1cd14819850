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

// Lines of a recipe in Python: `cfg.comm_overlap.delay_wgrad_compute = True`. What else stands there is passed over,
// but for the performance recipe that it starts from.
ParseResult ParseBridgePython(absl::string_view text, const Environment& env);

// scripts/training/run_recipe.py: its own flags, and overrides, which win.
ParseResult ParseBridgeRecipe(absl::Span<const Argument> args, const Environment& env);

// scripts/performance/run_script.py: flags, which win, and overrides. launch.recipe is FAMILY/RECIPE or
// FAMILY/RECIPE@VARIANT.
ParseResult ParseBridgePerf(absl::Span<const Argument> args, const Environment& env);
ParseResult ParseBridgePerf(absl::Span<const std::string> argv, const Environment& env);
Launch RenderBridgePerf(const RenderInput& input);

}  // namespace flightplan
