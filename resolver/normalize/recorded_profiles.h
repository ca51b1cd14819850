// The profiles of real GPUs that ship with the binary.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "resolver/catalog/recorded_profiles.h"
#include "resolver/evidence/fitted_profile.h"

namespace flightplan {

// Read once. A file that cannot be read is a fault of the build: a test reads them all.
const std::vector<std::shared_ptr<const FittedProfile>>& RecordedProfiles();
absl::StatusOr<std::shared_ptr<const FittedProfile>> ReadRecordedProfile(const RecordedProfileFile& file);

}  // namespace flightplan
