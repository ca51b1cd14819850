// The model that a finished configuration builds, as far as memory goes: the inverse of model_knobs.h.
#pragma once

#include <optional>

#include "absl/status/statusor.h"
#include "resolver/plan/config.h"
#include "resolver/plan/model.h"

namespace flightplan {

// Of an effective configuration (engine/Run), in which defaults are filled and old names moved. Not found when the
// configuration leaves a size open that only its tokenizer or a file says; unimplemented for a kind of layer that these
// knobs do not describe. The message names the knob. `missing` (optional) is set with "not found": the knob that is
// open.
absl::StatusOr<ModelSpec> ModelFromKnobs(const Config& config, std::optional<Knob>* missing = nullptr);

}  // namespace flightplan
