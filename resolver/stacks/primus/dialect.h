// The dialect "primus": `primus/cli/main.py train pretrain --config FILE` with keys to change, or the YAML file itself.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/base/yaml.h"
#include "resolver/plan/reading.h"
#include "resolver/render/launch.h"

namespace flightplan {

// `args`: behind the script's name. The file of --config, and the presets that it names, are read from
// env.model_files.
ParseResult ParsePrimus(absl::Span<const Argument> args, const Environment& env);

// One of its experiments. Its presets are wanted by their paths in a checkout.
ParseResult ParsePrimusYaml(absl::string_view text, const Environment& env);

// A launch over its example, whose model is said key by key.
Launch RenderPrimus(const RenderInput& input);

// The keys of a knob in such a file.
std::string PrimusPlace(Knob knob, const YamlNode& root);

}  // namespace flightplan
