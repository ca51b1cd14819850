// Chooses the profile that a question is answered with: the one sent with it, else one that the service has of these
// GPUs, else one recorded of the type. A question without any gets the same answer as ever.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "resolver/evidence/fitted_profile.h"
#include "resolver/evidence/profile_source.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// Sets intent->probe and adds what to know about it to intent->findings. `source` may be null; `recorded`: those that
// ship with the binary. FAILED_PRECONDITION (PROFILE_MISMATCH) where the profile sent is of another GPU.
absl::Status ChooseProfile(const ProfileSource* source, absl::Span<const std::shared_ptr<const FittedProfile>> recorded,
                           NormalizedIntent* intent);

}  // namespace flightplan
