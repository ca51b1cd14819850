// A probe's profile from its message, checked: what a worker printed, a file holds or a caller sent is not trusted.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/hardware_profile.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class HardwareProfile;
class ProbeRow;
}  // namespace v1

inline constexpr int kMaxProfileRows = 4096;
inline constexpr int kMaxRowParameters = 32;  // numbers and words each
inline constexpr size_t kMaxProfileText = 256;
inline constexpr size_t kMaxProfileName = 128;  // of [A-Za-z0-9._-], not beginning with a dot

// `field` is the message's own path, "probe_profile"; empty: none.
HardwareProfile ProfileFromMessage(const v1::HardwareProfile& message, absl::string_view field, Violations* violations);
ProfileRow RowFromMessage(const v1::ProbeRow& message, absl::string_view field, Violations* violations);

// Protobuf JSON of a HardwareProfile, fields by either of their names; unknown fields are refused. INVALID_ARGUMENT
// says what is wrong.
inline constexpr size_t kMaxProfileBytes = size_t{4} << 20;
absl::Status ProfileFromJson(absl::string_view text, v1::HardwareProfile* message);
// The same text for the same profile.
std::string ProfileToJson(const v1::HardwareProfile& message);

// Names are file names.
bool IsProfileName(absl::string_view name);

}  // namespace flightplan
