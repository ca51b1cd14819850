// A Hugging Face config.json, as downloaded, to a model.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resolver/plan/model.h"

namespace flightplan {

// A hundred times a usual one: lists of modules that are not quantized make them long.
inline constexpr size_t kMaxHfConfigBytes = size_t{256} << 10;

// `json` may hold bare NaN and Infinity, as some published files do; a field with a wrong type or an absurd size is
// refused with its JSON path ("$.text_config.num_hidden_layers: ..."), a truncated file with its offset, an unknown
// architecture class by name. The model is named after the model_type unless the caller renames it. `notes`, when
// given, receives what a user should know: no Megatron-Bridge converter, a field that upstream does not convert.
absl::StatusOr<ModelSpec> ImportHfConfig(absl::string_view json, std::vector<std::string>* notes = nullptr);

}  // namespace flightplan
