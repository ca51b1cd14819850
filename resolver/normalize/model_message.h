// The model message as a caller spells it out.
#pragma once

#include "absl/strings/string_view.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/model.h"

namespace flightplan {

namespace v1 {
class ModelSpec;
}

// Violations name the field and the range. Unknown extra_dimensions are violations with the known names.
ModelSpec ModelFromMessage(const v1::ModelSpec& message, absl::string_view field, Violations* violations);

}  // namespace flightplan
