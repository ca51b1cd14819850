#include "resolver/normalize/recorded_profiles.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/profile.pb.h"
#include "resolver/normalize/profile_message.h"
#include "resolver/normalize/violations.h"

namespace flightplan {

absl::StatusOr<std::shared_ptr<const FittedProfile>> ReadRecordedProfile(const RecordedProfileFile& file) {
  v1::HardwareProfile message;
  if (const absl::Status status = ProfileFromJson(file.text, &message); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file.name, ": ", status.message()));
  }
  Violations violations;
  HardwareProfile profile = ProfileFromMessage(message, "", &violations);
  if (profile.synthetic) violations.Add("kind", "a synthetic profile is no evidence");
  if (profile.measure_seconds <= 0) violations.Add("measure_time", "is required of a recorded profile");
  if (profile.driver_version.empty()) violations.Add("driver_version", "is required of a recorded profile");
  if (message.notes().empty()) violations.Add("notes", "must say where it was measured");
  if (const absl::Status status = violations.ToStatus(); !status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file.name, ": ", status.message()));
  }
  return FitProfile(std::move(profile));
}

const std::vector<std::shared_ptr<const FittedProfile>>& RecordedProfiles() {
  static const auto& profiles = *[] {
    auto* read = new std::vector<std::shared_ptr<const FittedProfile>>();
    for (const RecordedProfileFile& file : kRecordedProfileFiles) {
      if (auto profile = ReadRecordedProfile(file); profile.ok()) read->push_back(*std::move(profile));
    }
    return read;
  }();
  return profiles;
}

}  // namespace flightplan
