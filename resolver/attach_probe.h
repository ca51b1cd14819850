// Chooses the profile that a question is answered with: the one sent with it, else one that the service has of these
// GPUs, else one recorded of the type. A question without any gets the same answer as ever.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "resolver/catalog/recorded_profiles.h"
#include "resolver/evidence/profile_source.h"
#include "resolver/plan/intent.h"

namespace flightplan {

namespace v1 {  // generated from proto/flightplan/v1
class ResolveConfigRequest;
}  // namespace v1

// Sets intent->probe and adds what to know about it to intent->findings. `source` may be null.
//   INVALID_ARGUMENT with BadRequest where the profile sent is malformed,
//   FAILED_PRECONDITION (PROFILE_MISMATCH) where it is of another GPU.
absl::Status AttachProbe(const v1::ResolveConfigRequest& request, const ProfileSource* source,
                         NormalizedIntent* intent);

// The recorded profiles, read once. A file that cannot be read is a fault of the build: a test reads them all.
const std::vector<std::shared_ptr<const FittedProfile>>& RecordedProfiles();
absl::StatusOr<std::shared_ptr<const FittedProfile>> ReadRecordedProfile(const RecordedProfileFile& file);

}  // namespace flightplan
