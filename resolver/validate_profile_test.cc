// A probe's profile that is sent with a finished configuration.
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/reason.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"
#include "tests/support/sample_profile.h"

namespace flightplan {
namespace {

using testing::CountOf;
using testing::Resolved;
using testing::ScriptOf;
using testing::Validated;

// A GPU half as fast at everything as the sample.
v1::HardwareProfile SlowProfile() {
  v1::HardwareProfile profile = sample::SampleProfile();
  for (v1::ProbeRow& row : *profile.mutable_rows()) {
    const double factor = row.unit() == "us" ? 2 : row.unit() == "ratio" ? 1 : 0.5;
    row.set_value(row.value() * factor);
    row.set_low(row.low() * factor);
    row.set_high(row.high() * factor);
  }
  return profile;
}

// Qwen3-30B-A3B on 16 H200, EP16.
v1::ResolveConfigRequest Question() {
  v1::ResolveConfigRequest request = testing::Training("qwen3-30b-a3b", "h200-sxm", 16, 4096, 1024);
  testing::SetSizes({.tp = 1, .pp = 1, .ep = 16}, &request);
  return request;
}

// Who resolves with a profile, and then has the launch judged with it, is told one story.
TEST(ValidateProfile, ALaunchIsForecastAsItsPlanIs) {
  v1::ResolveConfigRequest question = Question();
  *question.mutable_probe_profile() = SlowProfile();
  const v1::ResolveConfigResponse plan = Resolved(question);
  v1::ValidateConfigRequest launch = ScriptOf(question, plan);
  const v1::ValidateConfigResponse without = Validated(launch);
  *launch.mutable_probe_profile() = question.probe_profile();
  const v1::ValidateConfigResponse with = Validated(launch);
  const double step_us = with.estimate().step_time_us().value();
  EXPECT_NEAR(step_us / testing::StepUs(plan), 1, 0.002);
  EXPECT_NEAR(with.estimate().step_time_us().high() / plan.estimate().step_time_us().high(), 1, 0.002);
  EXPECT_GT(step_us, 1.2 * without.estimate().step_time_us().value());
  EXPECT_NE(with.digest(), without.digest());
  EXPECT_EQ(with.evidence_revision(), plan.evidence_revision());
  EXPECT_EQ(CountOf(with.findings(), "probe.profile-not-used"), 0);
}

TEST(ValidateProfile, OneOfAnotherGpuIsRefusedInEveryView) {
  const v1::ResolveConfigRequest question = Question();
  v1::ValidateConfigRequest launch = ScriptOf(question, Resolved(question));
  launch.mutable_hardware()->set_gpu("h100-sxm");
  *launch.mutable_probe_profile() = SlowProfile();
  for (const v1::AnswerView view : {v1::ANSWER_VIEW_VERDICT, v1::ANSWER_VIEW_FULL}) {
    launch.set_view(view);
    v1::ValidateConfigResponse response;
    const absl::Status status = testing::TestResolver().ValidateConfig(launch, &response);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_EQ(ReasonOf(status), "PROFILE_MISMATCH");
  }
}

TEST(ValidateProfile, OneThatSaysNothingOfTheRunIsNamed) {
  const v1::ResolveConfigRequest question = Question();
  v1::ValidateConfigRequest launch = ScriptOf(question, Resolved(question));
  const double step_us = Validated(launch).estimate().step_time_us().value();
  *launch.mutable_probe_profile() = SlowProfile();
  launch.mutable_probe_profile()->set_kind("synthetic");
  const v1::ValidateConfigResponse synthetic = Validated(launch);
  EXPECT_EQ(CountOf(synthetic.findings(), "probe.profile-not-used"), 1);
  EXPECT_EQ(synthetic.estimate().step_time_us().value(), step_us);
  launch.mutable_probe_profile()->set_kind("measured");
  launch.clear_hardware();  // nobody says which GPUs
  const v1::ValidateConfigResponse nameless = Validated(launch);
  EXPECT_EQ(CountOf(nameless.findings(), "probe.profile-not-used"), 1);
  EXPECT_FALSE(nameless.estimate().has_step_time_us());
}

TEST(ValidateProfile, AMalformedOneIsRefusedByItsField) {
  const v1::ResolveConfigRequest question = Question();
  v1::ValidateConfigRequest launch = ScriptOf(question, Resolved(question));
  *launch.mutable_probe_profile() = SlowProfile();
  launch.mutable_probe_profile()->mutable_rows(0)->set_unit("GB/s");
  v1::ValidateConfigResponse response;
  const absl::Status status = testing::TestResolver().ValidateConfig(launch, &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  const size_t first = message.find("probe_profile.rows[0].unit");
  EXPECT_NE(first, std::string::npos) << status;
  EXPECT_EQ(message.find("probe_profile.rows[0].unit", first + 1), std::string::npos) << "told twice: " << status;
}

}  // namespace
}  // namespace flightplan
