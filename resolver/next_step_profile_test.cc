// What a profile of a run makes of the next step.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::DeepSeekOnH100;
using testing::FindFinding;
using testing::NextStepOf;
using testing::Resolved;
using testing::SetSizes;
using testing::StepUs;
using testing::Training;

TEST(NextStepOfAProfile, FollowsTheProfile) {
  v1::ResolveConfigRequest request = DeepSeekOnH100();
  request.mutable_software()->set_te_version("2.15.0");
  request.mutable_software()->set_torch_version("2.11.0");
  request.mutable_profile()->set_wall(v1::WALL_MEMORY);
  const v1::ResolveConfigResponse memory = Resolved(request);
  EXPECT_NE(NextStepOf(memory).find("memory"), std::string::npos) << NextStepOf(memory);
  request.mutable_profile()->set_wall(v1::WALL_COMMUNICATION);
  const v1::ResolveConfigResponse communication = Resolved(request);
  EXPECT_EQ(NextStepOf(communication).find("memory"), std::string::npos);
}

// To name what bounds a run says nothing against the execution that the forecast finds best.
TEST(NextStepOfAProfile, AWallAloneMakesNoPlanSlower) {
  v1::ResolveConfigRequest question = Training("deepseek-v3", "h100-sxm", 1024, 4096, 8192);
  SetSizes({.tp = 2, .pp = 8, .vpp = 4, .ep = 64}, &question);
  const double plain_us = StepUs(Resolved(question));
  for (const v1::Wall wall : {v1::WALL_COMMUNICATION, v1::WALL_HOST, v1::WALL_COMPUTE}) {
    question.mutable_profile()->set_wall(wall);
    EXPECT_LT(StepUs(Resolved(question)), 1.01 * plain_us) << v1::Wall_Name(wall);
  }
}

// What the caller did not measure is a forecast, beside what they did.
TEST(NextStepOfAProfile, CallsMeasuredWhatIsMeasured) {
  v1::ResolveConfigRequest question = Training("qwen3-30b-a3b", "h100-sxm", 64, 4096, 512);
  SetSizes({.tp = 1, .pp = 2, .ep = 8}, &question);
  const double forecast_us = StepUs(Resolved(question));
  // A step alone says nothing of a wall, so that what the evidence left to an A/B stays one.
  question.mutable_profile()->set_step_time_us(2 * forecast_us);
  EXPECT_EQ(NextStepOf(Resolved(question)), "");
  question.mutable_profile()->set_wall(v1::WALL_MEMORY);
  EXPECT_EQ(NextStepOf(Resolved(question)), "memory is the first wall (as the profile says)");
  SetSizes({.tp = 1, .pp = 8, .vpp = 1, .ep = 8}, &question);
  question.mutable_profile()->Clear();
  question.mutable_profile()->set_pipeline_bubble_ratio(0.3);
  const std::string seen = NextStepOf(Resolved(question));
  EXPECT_TRUE(seen.empty() || absl::EndsWith(seen, " step (forecast)")) << seen;
}

// Silence would be no answer to a caller who names the wall.
TEST(NextStepOfAProfile, SaysThatNothingGoesAtTheNamedWall) {
  v1::ResolveConfigRequest question = Training("qwen3-30b-a3b", "h100-sxm", 64, 4096, 512);
  SetSizes({.tp = 1, .pp = 2, .ep = 8}, &question);
  EXPECT_EQ(FindFinding(Resolved(question).findings(), "decide.next-step-none"), nullptr);
  question.mutable_profile()->set_wall(v1::WALL_COMMUNICATION);
  const v1::ResolveConfigResponse answer = Resolved(question);
  const v1::Finding* const none = FindFinding(answer.findings(), "decide.next-step-none");
  ASSERT_NE(none, nullptr);
  EXPECT_TRUE(absl::StartsWith(none->seen(), "communication is the wall that the profile names: ")) << none->seen();
}

// The run that was measured has sizes of its own.
TEST(NextStepOfAProfile, AMeasuredStepChoosesNoLayout) {
  v1::ResolveConfigRequest question = Training("olmoe-1b-7b", "h100-sxm", 8, 4096, 64);
  const v1::ResolveConfigResponse plain = Resolved(question);
  question.mutable_profile()->set_step_time_us(2 * StepUs(plain));
  const v1::ResolveConfigResponse answer = Resolved(question);
  EXPECT_EQ(StepUs(answer), StepUs(plain));
  EXPECT_EQ(answer.layout().DebugString(), plain.layout().DebugString());
  EXPECT_NE(FindFinding(answer.findings(), "evidence.profile-of-other-sizes"), nullptr);
}

}  // namespace
}  // namespace flightplan
