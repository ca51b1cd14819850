#include "resolver/evidence/probe_evidence.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace flightplan {

std::string ProbeEvidence::Device() const {
  absl::string_view device = fitted->profile.device_name;
  absl::ConsumePrefix(&device, "NVIDIA ");
  switch (origin) {
    case ProfileOrigin::kRequest:
    case ProfileOrigin::kThisGpu:
      return absl::StrCat("this ", device);
    case ProfileOrigin::kThisSite:
      return absl::StrCat("another ", device, " of this site");
    case ProfileOrigin::kRecorded:
      return absl::StrCat("a recorded ", device);
  }
  return std::string(device);
}

std::string ProbeEvidence::Cite(absl::string_view row) const {
  const HardwareProfile& profile = fitted->profile;
  return absl::StrCat("probe profile ", profile.name.empty() ? profile.device_name : profile.name,
                      profile.driver_version.empty() ? "" : absl::StrCat(", driver ", profile.driver_version), ": ",
                      row);
}

double StrangeError(ProfileOrigin origin) {
  switch (origin) {
    case ProfileOrigin::kRequest:
    case ProfileOrigin::kThisGpu:
      return 0;
    case ProfileOrigin::kThisSite:
      return 0.02;  // boards of one type in one rack: clocks under load differ by so much
    case ProfileOrigin::kRecorded:
      return 0.05;  // other cooling, power limit and driver
  }
  return 0;
}

}  // namespace flightplan
