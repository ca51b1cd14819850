// What tests ask of the resolver's answers. Beside requests.h, which programs without GoogleTest read, too.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/requests.h"

namespace flightplan::testing {

// The answer to a request that is not refused.
inline v1::ResolveConfigResponse Resolved(const v1::ResolveConfigRequest& request) {
  v1::ResolveConfigResponse response;
  const absl::Status status = TestResolver().ResolveConfig(request, &response);
  EXPECT_TRUE(status.ok()) << status;
  return response;
}
inline v1::ValidateConfigResponse Validated(const v1::ValidateConfigRequest& request) {
  v1::ValidateConfigResponse response;
  const absl::Status status = TestResolver().ValidateConfig(request, &response);
  EXPECT_TRUE(status.ok()) << status;
  return response;
}

// The first launch of a plan as a launch to be judged, with the variables that it exports or without.
inline v1::ValidateConfigRequest LaunchOf(const v1::ResolveConfigRequest& question,
                                          const v1::ResolveConfigResponse& plan, bool exports = true) {
  v1::ValidateConfigRequest request;
  *request.mutable_target() = question.target();
  *request.mutable_hardware() = question.hardware();
  EXPECT_GT(plan.launches_size(), 0);
  if (plan.launches().empty()) return request;
  const v1::Launch& launch = plan.launches(0);
  if (exports) request.mutable_env()->insert(launch.env().begin(), launch.env().end());
  for (const std::string& word : launch.argv()) request.mutable_arguments()->add_values(word);
  return request;
}

// Of the fullest GPU.
template <class Answer>
double MostBytes(const Answer& answer) {
  double most = 0;
  for (const v1::StageMemory& stage : answer.estimate().stages()) most = std::max(most, stage.total_bytes().value());
  return most;
}
inline double StepUs(const v1::ResolveConfigResponse& answer) { return answer.estimate().step_time_us().value(); }

using Findings = google::protobuf::RepeatedPtrField<v1::Finding>;

// The first finding of a rule; null: there is none.
inline const v1::Finding* FindFinding(const Findings& findings, absl::string_view rule_id) {
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const v1::Finding& finding) { return finding.rule_id() == rule_id; });
  return found == findings.end() ? nullptr : &*found;
}

// What the next step of an answer goes at; empty: it has none.
inline std::string NextStepOf(const v1::ResolveConfigResponse& response) {
  const v1::Finding* const next = FindFinding(response.findings(), "decide.next-step");
  return next == nullptr ? "" : next->seen();
}

// The value that the configuration has for a knob; null: none.
inline const v1::ConfigEntry* FindEntry(const google::protobuf::RepeatedPtrField<v1::ConfigEntry>& config,
                                        absl::string_view knob) {
  const auto found =
      std::find_if(config.begin(), config.end(), [&](const v1::ConfigEntry& entry) { return entry.name() == knob; });
  return found == config.end() ? nullptr : &*found;
}

inline int CountOf(const Findings& findings, absl::string_view rule_id) {
  return static_cast<int>(std::count_if(findings.begin(), findings.end(),
                                        [&](const v1::Finding& finding) { return finding.rule_id() == rule_id; }));
}

// Leaves what the smaller views say: there, only errors have their fixes, and what those change: "; with the fix: ...",
// "; with the first fix: ...".
inline void DropAdvice(Findings* findings) {
  for (v1::Finding& finding : *findings) {
    if (finding.severity() == v1::SEVERITY_ERROR) continue;
    finding.clear_fixes();
    finding.mutable_needs()->resize(std::min(finding.needs().size(), finding.needs().find("; with the f")));
  }
}

}  // namespace flightplan::testing
