#include "resolver/attach_probe.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/profile.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "resolver/estimate/probe_outlook.h"
#include "resolver/normalize/profile_message.h"
#include "resolver/normalize/violations.h"

namespace flightplan {
namespace {

void NotUsed(std::string why, std::string needs, NormalizedIntent* intent) {
  Finding finding;
  finding.rule_id = "probe.profile-not-used";
  finding.area = "probe";
  finding.severity = Severity::kWarning;
  finding.verdict = Verdict::kAdvice;
  finding.stage = "decide";
  finding.seen = std::move(why);
  finding.needs = std::move(needs);
  finding.source = "flightplan: a profile stands for the GPU and driver that it was measured on";
  intent->findings.push_back(std::move(finding));
}

std::string StatedDriver(const NormalizedIntent& intent) {
  const auto driver = intent.env.packages.find("driver");
  return driver == intent.env.packages.end() ? std::string() : driver->second;
}

absl::Status UseSent(const v1::HardwareProfile& message, NormalizedIntent* intent) {
  Violations violations;
  HardwareProfile profile = ProfileFromMessage(message, "probe_profile", &violations);
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  if (!IsOfType(profile, intent->gpu)) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "probe_profile was measured on ", profile.device_name, ", hardware.gpu is ", intent->gpu.name,
                          " (", intent->gpu.device_name.empty() ? "no device name known" : intent->gpu.device_name,
                          "): send a profile of that GPU, or none")),
                      "PROFILE_MISMATCH");
  }
  if (profile.synthetic) {
    NotUsed("probe_profile is synthetic: a fake device replayed it", "a profile that a probe measured on a GPU",
            intent);
    return absl::OkStatus();
  }
  const std::string driver = StatedDriver(*intent);
  if (!driver.empty() && !profile.driver_version.empty() && driver != profile.driver_version) {
    NotUsed(
        absl::StrCat("probe_profile was measured with driver ", profile.driver_version, ", software states ", driver),
        "a profile measured with the driver that the run will use: flightplan probe", intent);
    return absl::OkStatus();
  }
  intent->probe = MakeProbeEvidence({FitProfile(std::move(profile)), ProfileOrigin::kRequest});
  return absl::OkStatus();
}

}  // namespace

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

absl::Status AttachProbe(const v1::ResolveConfigRequest& request, const ProfileSource* source,
                         NormalizedIntent* intent) {
  if (request.has_probe_profile()) return UseSent(request.probe_profile(), intent);
  if (source != nullptr) {
    intent->probe = MakeProbeEvidence(source->Find(intent->gpu, StatedDriver(*intent)));
    if (intent->probe != nullptr) return absl::OkStatus();
  }
  for (const std::shared_ptr<const FittedProfile>& recorded : RecordedProfiles()) {
    if (IsOfType(recorded->profile, intent->gpu)) {
      intent->probe = MakeProbeEvidence({recorded, ProfileOrigin::kRecorded});
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

}  // namespace flightplan
