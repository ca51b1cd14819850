// Chooses the profile that a question is answered with: the one sent with it, else one that the service has of these
// GPUs, else one recorded of the type. A question without any gets the same answer as ever.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "resolver/evidence/fitted_profile.h"
#include "resolver/evidence/probe_evidence.h"
#include "resolver/evidence/profile_source.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/hardware.h"
#include "resolver/plan/intent.h"

namespace flightplan {

// Where profiles are looked for beside the question.
struct KnownProfiles {
  const ProfileSource* source = nullptr;  // of the service; null: none
  // Those that ship with the binary, read when they are first asked for; null: none.
  const std::vector<std::shared_ptr<const FittedProfile>>& (*recorded)() = nullptr;
};

// The one sent (null: none) where it says something of these GPUs, and else what is known of them; null: nothing. Adds
// to `findings` why one that was sent is not used. FAILED_PRECONDITION (PROFILE_MISMATCH) where it is of another GPU.
absl::StatusOr<std::shared_ptr<const ProbeEvidence>> ProfileFor(const std::shared_ptr<const FittedProfile>& sent,
                                                                const KnownProfiles& known, const GpuSystem& gpu,
                                                                const Environment& env, std::vector<Finding>* findings);

// That one was sent with a question that names no GPU: it is used for nothing.
Finding SentWithoutGpu();

// What to know of intent.probe: that somebody else measured it, and which of the model's operators it has timed.
std::vector<Finding> FindingsAboutProfile(const NormalizedIntent& intent);

// Sets intent->probe and adds what to know about it to intent->findings. Errors as of ProfileFor.
absl::Status ChooseProfile(const KnownProfiles& profiles, NormalizedIntent* intent);

}  // namespace flightplan
