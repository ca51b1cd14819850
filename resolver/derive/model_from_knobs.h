// The model that a finished configuration builds, as far as memory goes: the inverse of model_knobs.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "resolver/plan/config.h"
#include "resolver/plan/model.h"
#include "resolver/plan/value.h"

namespace flightplan {

// Of an effective configuration (engine/Run), in which defaults are filled and old names moved. Not found when the
// configuration leaves a size open that only its tokenizer or a file says; unimplemented for a kind of layer that these
// knobs do not describe. The message names the knob. `missing` (optional) is set with "not found": the knob that is
// open.
absl::StatusOr<ModelSpec> ModelFromKnobs(const Config& config, std::optional<Knob>* missing = nullptr);

// moe_layer_freq, one layer in so many or a list with one entry a layer, as a list: 1 is a layer of experts.
std::vector<int64_t> MoeLayers(const Value& frequency, int64_t layers);
// How many tokens each one sees by this window_size, itself among them; empty: all.
std::optional<int64_t> SeenTokens(const Value& window);

}  // namespace flightplan
