#include "resolver/pipeline/choose_profile.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "resolver/estimate/probe_outlook.h"
#include "resolver/estimate/probed_operators.h"

namespace flightplan {
namespace {

Finding NotUsed(std::string why, std::string needs) {
  Finding finding;
  finding.rule_id = "probe.profile-not-used";
  finding.area = "probe";
  finding.severity = Severity::kWarning;
  finding.verdict = Verdict::kAdvice;
  finding.stage = "decide";
  finding.seen = std::move(why);
  finding.needs = std::move(needs);
  finding.source = "flightplan: a profile stands for the GPU and driver that it was measured on";
  return finding;
}

// What a forecast rests on.
Finding EvidenceFinding(absl::string_view rule_id) {
  Finding finding;
  finding.rule_id = rule_id;
  finding.area = "evidence";
  finding.severity = Severity::kInfo;
  finding.verdict = Verdict::kAdvice;
  finding.stage = "estimate";
  return finding;
}

// Rates of a GPU of the type that somebody else measured: the caller has neither asked for them nor seen them.
Finding ToldAsRecorded(const NormalizedIntent& intent) {
  const ProbeEvidence& probe = *intent.probe;
  const HardwareProfile& profile = probe.fitted->profile;
  Finding finding = EvidenceFinding("evidence.recorded-profile");
  finding.seen = absl::StrCat("rates of ", intent.gpu.name, " are those of ", probe.Device(), ", driver ",
                              profile.driver_version, ": there is none of these GPUs to go by");
  finding.observed = {{"device", Value(profile.device_name)}, {"driver", Value(profile.driver_version)}};
  finding.needs = "a profile of one of these GPUs: flightplan probe";
  finding.source = "resolver/catalog/profiles";
  return finding;
}

// Terms that would be named as without evidence otherwise: what they rest on is said instead.
Finding ToldAsProbed(const NormalizedIntent& intent, const std::vector<ProbedOperator>& operators) {
  Finding finding = EvidenceFinding("evidence.probed-operators");
  finding.seen =
      absl::StrCat("timed on ", intent.probe->Device(), ": ",
                   absl::StrJoin(operators, ", ", [](std::string* out, const ProbedOperator& each) {
                     absl::StrAppend(out, each.name, each.row->backward_us > 0 ? "" : ", forward",
                                     each.row->library.empty() ? "" : absl::StrCat(" of ", each.row->library),
                                     each.row->kind == RowKind::kImported ? " (imported)" : "");
                   }));
  finding.needs = "nothing: the forecast takes these times";
  finding.source = intent.probe->Cite(absl::StrJoin(
      operators, ", ", [](std::string* out, const ProbedOperator& each) { absl::StrAppend(out, each.row->id); }));
  return finding;
}

// Empty: none.
absl::string_view StatedDriver(const Environment& env) {
  const auto driver = env.packages.find("driver");
  return driver == env.packages.end() ? absl::string_view() : driver->second;
}

// Why a profile that was sent says nothing of a run; empty: it does.
std::optional<Finding> WhyNotUsed(const HardwareProfile& profile, const Environment& env) {
  if (profile.synthetic) {
    return NotUsed("probe_profile is synthetic: a fake device replayed it", "a profile that a probe measured on a GPU");
  }
  const absl::string_view driver = StatedDriver(env);
  if (driver.empty() || profile.driver_version.empty() || driver == profile.driver_version) return std::nullopt;
  return NotUsed(
      absl::StrCat("probe_profile was measured with driver ", profile.driver_version, ", software states ", driver),
      "a profile measured with the driver that the run will use: flightplan probe");
}

// The profile of these GPUs where none is sent with the question. Null: there is none.
std::shared_ptr<const ProbeEvidence> KnownProfile(const KnownProfiles& profiles, const GpuSystem& gpu,
                                                  const Environment& env) {
  if (profiles.source != nullptr) {
    std::shared_ptr<const ProbeEvidence> stored = MakeProbeEvidence(profiles.source->Find(gpu, StatedDriver(env)));
    if (stored != nullptr) return stored;
  }
  if (profiles.recorded == nullptr) return nullptr;
  for (const std::shared_ptr<const FittedProfile>& profile : profiles.recorded()) {
    if (IsOfType(profile->profile, gpu)) return MakeProbeEvidence({profile, ProfileOrigin::kRecorded});
  }
  return nullptr;
}

}  // namespace

Finding SentWithoutGpu() {
  return NotUsed("probe_profile is sent, and which GPUs the launch runs on is not known",
                 "hardware.gpu: the GPUs that the launch runs on");
}

absl::StatusOr<std::shared_ptr<const ProbeEvidence>> ProfileFor(const std::shared_ptr<const FittedProfile>& sent,
                                                                const KnownProfiles& known, const GpuSystem& gpu,
                                                                const Environment& env,
                                                                std::vector<Finding>* findings) {
  if (sent == nullptr) return KnownProfile(known, gpu, env);
  const HardwareProfile& profile = sent->profile;
  if (!IsOfType(profile, gpu)) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "probe_profile was measured on ", profile.device_name, ", hardware.gpu is ", gpu.name, " (",
                          gpu.device_name.empty() ? "no device name known" : gpu.device_name,
                          "): send a profile of that GPU, or none")),
                      "PROFILE_MISMATCH");
  }
  std::optional<Finding> why_not = WhyNotUsed(profile, env);
  if (!why_not.has_value()) return MakeProbeEvidence({sent, ProfileOrigin::kRequest});
  findings->push_back(*std::move(why_not));
  return KnownProfile(known, gpu, env);
}

std::vector<Finding> FindingsAboutProfile(const NormalizedIntent& intent) {
  std::vector<Finding> findings;
  if (intent.probe == nullptr) return findings;
  if (intent.probe->origin == ProfileOrigin::kRecorded) findings.push_back(ToldAsRecorded(intent));
  const std::vector<ProbedOperator> operators = ProbedOperators(intent);
  if (!operators.empty()) findings.push_back(ToldAsProbed(intent, operators));
  return findings;
}

absl::Status ChooseProfile(const KnownProfiles& profiles, NormalizedIntent* intent) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(intent->probe,
                              ProfileFor(intent->sent_profile, profiles, intent->gpu, intent->env, &intent->findings));
  for (Finding& finding : FindingsAboutProfile(*intent)) intent->findings.push_back(std::move(finding));
  return absl::OkStatus();
}

}  // namespace flightplan
