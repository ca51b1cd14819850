// LoongForge's model files (configs/models/**/*.yaml of baidu-baige/LoongForge@c6275661): one map of arguments for a
// language model, or `model:` with a map a component (foundation, image_encoder, image_projector) for a vision-language
// one. Their keys win over the command line's flags.
#pragma once

#include "resolver/plan/reading.h"

namespace flightplan {

// Of several components the foundation is read, or the first where there is none; a note names the others, each of
// which LoongForge judges on its own. What Hydra would compose from other files (defaults) is not read, and said so.
ParseResult ParseLoongForgeYaml(absl::string_view text, const Environment& env);

}  // namespace flightplan
