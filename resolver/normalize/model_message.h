// A model as a message, both ways.
#pragma once

#include "absl/strings/string_view.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/model.h"

namespace flightplan {

namespace v1 {
class ModelSpec;
}

// Everything that a decision, a count or a launch depends on; ModelFromMessage reads it back. The message must be
// empty.
void ModelToMessage(const ModelSpec& model, v1::ModelSpec* message);

// What is left out gets the contract's defaults. Violations name the field below `field`, what is wrong and what would
// be right: ranges, names that are not known, fields that need one another.
ModelSpec ModelFromMessage(const v1::ModelSpec& message, absl::string_view field, Violations* violations);

}  // namespace flightplan
