// Knob values between messages and our own types.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/knob.h"

namespace flightplan {

namespace v1 {
class KnobSetting;
class KnobValue;
class Knobs;
}  // namespace v1

// An unset kind is None. Depth beyond 4 lists is a violation.
Value ValueFromMessage(const v1::KnobValue& message, absl::string_view field, Violations* violations);
void ValueToMessage(const Value& value, v1::KnobValue* message);

// Typed and named knobs together, sorted by knob. Violations: unknown name (with the nearest), wrong type, a knob given
// twice with different values, more than 4,096.
std::vector<std::pair<Knob, Value>> PinsFromMessages(const v1::Knobs& typed,
                                                     const google::protobuf::RepeatedPtrField<v1::KnobSetting>& named,
                                                     absl::string_view typed_field, absl::string_view named_field,
                                                     Violations* violations);

// A pinned knob that says what the model is has the model's own upper end: formulas count with it.
void CheckModelPins(const std::vector<std::pair<Knob, Value>>& pins, absl::string_view path, Violations* violations);

}  // namespace flightplan
