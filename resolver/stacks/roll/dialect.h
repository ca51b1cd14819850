// The dialect "roll": a pipeline's script with `--config_path DIR --config_name NAME`, or the YAML file itself. The
// scripts take no keys on the command line: as arguments, a configuration is written as the keys of that file,
// "a.b.c=value".
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/base/yaml.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// `args`: behind the script's name, or keys of its file. The file is read from env.model_files.
ParseResult ParseRoll(absl::Span<const Argument> args, const Environment& env);

// One of its YAML files. What its `defaults` name is wanted by its path from there.
ParseResult ParseRollYaml(absl::string_view text, const Environment& env);

// The keys of a supervised training; as text, the file of it and the launch of its pipeline.
Launch RenderRoll(const RenderInput& input);

// The key of a knob below the role that trains: "strategy_args.strategy_config.tensor_model_parallel_size"; empty:
// none.
std::string RollKeyOf(Knob knob);

// The keys of a knob in such a file, below the role that trains with Megatron.
std::string RollPlace(Knob knob, const YamlNode& root);

}  // namespace flightplan
