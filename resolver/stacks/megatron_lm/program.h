// Megatron-LM's programs, of which each builds one class of models.
#pragma once

#include "absl/strings/string_view.h"

namespace flightplan {

struct MegatronProgram {
  absl::string_view script;
  // Where it has to be told (--spec) what layers the letters of a pattern are. Empty: it knows.
  absl::string_view layers_module = {}, layers_name = {};
};

// `hybrid`: the model's layers are those of a pattern.
const MegatronProgram& MegatronProgramFor(bool hybrid, int core_release);

}  // namespace flightplan
