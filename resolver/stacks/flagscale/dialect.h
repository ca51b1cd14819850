// The dialect "flagscale": `run.py --config-path DIR --config-name NAME action=run` with Hydra's overrides, or the YAML
// file itself.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// `args`: behind the script's name. The file that they name, and that of its group "train", are read from
// env.model_files.
ParseResult ParseFlagScale(absl::Span<const Argument> args, const Environment& env);

// The file of an experiment. That of its group is wanted by its path beside it: "train/7b.yaml".
ParseResult ParseFlagScaleYaml(absl::string_view text, const Environment& env);
// Why such a file is of no training: its task serves a model, or is another. Empty: it is of one.
std::string FlagScaleTask(absl::string_view text);

// A launch of run.py over an experiment of the caller's, with all that the plan says as overrides.
Launch RenderFlagScale(const RenderInput& input);

}  // namespace flightplan
