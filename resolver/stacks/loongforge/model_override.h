// A word that changes the YAML of a model, in Hydra's grammar: [~|+|++]key[=value].
#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resolver/plan/value.h"

namespace flightplan {

struct ModelOverride {
  enum class Sign { kChange, kAdd, kForce, kDelete };
  Sign sign = Sign::kChange;
  std::string key;
  std::optional<Value> value;
};

// Refused with what the word would need.
absl::StatusOr<ModelOverride> ReadModelOverride(absl::string_view text);

// Of a word for Hydra itself (hydra.run.dir=x), which the model has no part in: what Hydra refuses, or nothing.
// Empty: it is a word for the model.
std::optional<std::string> HydraNeeds(const ModelOverride& change);

}  // namespace flightplan
