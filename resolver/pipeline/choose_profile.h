// Chooses the profile that a question is answered with: the one sent with it, else one that the service has of these
// GPUs, else one recorded of the type. A question without any gets the same answer as ever.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
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
  const ProfileSource* source = nullptr;                            // of the service; null: none
  absl::Span<const std::shared_ptr<const FittedProfile>> recorded;  // those that ship with the binary
};

// The profile of these GPUs where none is sent with the question. Null: there is none.
std::shared_ptr<const ProbeEvidence> KnownProfile(const KnownProfiles& profiles, const GpuSystem& gpu,
                                                  const Environment& env);

// What to know of intent.probe: that somebody else measured it, and which of the model's operators it has timed.
std::vector<Finding> FindingsAboutProfile(const NormalizedIntent& intent);

// Sets intent->probe and adds what to know about it to intent->findings. FAILED_PRECONDITION (PROFILE_MISMATCH) where
// the profile sent is of another GPU.
absl::Status ChooseProfile(const KnownProfiles& profiles, NormalizedIntent* intent);

}  // namespace flightplan
