// Where profiles come from: the service's store, or nothing.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "resolver/evidence/fitted_profile.h"
#include "resolver/plan/hardware.h"

namespace flightplan {

enum class ProfileOrigin {
  kRequest,   // sent with the question
  kThisGpu,   // measured on a GPU of this machine
  kThisSite,  // on another GPU of the type, stored here
  kRecorded,  // on another GPU of the type, elsewhere, shipped with the binary
};

struct FoundProfile {
  std::shared_ptr<const FittedProfile> fitted;  // null: none
  ProfileOrigin origin = ProfileOrigin::kRequest;
};

// Called from many threads at once.
class ProfileSource {
 public:
  virtual ~ProfileSource() = default;
  // The best profile that may be evidence for this GPU system: never a synthetic one, none that has aged out or that
  // another driver measured than the one stated (empty: not stated).
  virtual FoundProfile Find(const GpuSystem& gpu, absl::string_view driver_version) const = 0;
  // Changes whenever an answer of Find may change.
  virtual std::string revision() const = 0;
};

// The profile was measured on this type of GPU.
bool IsOfType(const HardwareProfile& profile, const GpuSystem& gpu);

}  // namespace flightplan
