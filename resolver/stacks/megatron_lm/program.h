// Megatron-LM's programs, of which each builds one class of models.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "resolver/plan/config.h"

namespace flightplan {

struct MegatronProgram {
  absl::string_view script;
  // Where it has to be told (--spec) what layers the letters of a pattern are. Empty: it knows.
  absl::string_view layers_module = {}, layers_name = {};
};

// The model's layers are those of a pattern.
bool HasLayerPattern(const Config& config);
const MegatronProgram& MegatronProgramFor(bool pattern, int core_release);
// The configuration of a whole launch with what the program has to be told; nothing: it has no need.
std::optional<Config> ToldLayers(const Config& config, const MegatronProgram& program);

}  // namespace flightplan
