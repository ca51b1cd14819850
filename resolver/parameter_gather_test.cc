// MXFP8 parameters without a second copy in 16 bits: where a plan keeps them so by itself, and where it does not.
#include <gtest/gtest.h>

#include <string>

#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::FindEntry;
using testing::FindFinding;
using testing::Pin;
using testing::Resolved;
using testing::SetSizes;
using testing::StepUs;
using testing::TestResolver;
using testing::Training;

v1::ResolveConfigRequest InMxfp8(const char* model, int gpus) {
  v1::ResolveConfigRequest request = Training(model, "gb200-nvl72", gpus, 4096, 8 * gpus);
  request.mutable_workload()->set_precision("mxfp8");
  return request;
}

v1::ResolveConfigRequest QwenInMxfp8() {
  v1::ResolveConfigRequest request = InMxfp8("qwen3-30b-a3b", 32);
  SetSizes({.tp = 1, .pp = 1, .ep = 8}, &request);
  return request;
}

bool Gathers(const v1::ResolveConfigResponse& answer) {
  const v1::ConfigEntry* const gather = FindEntry(answer.config(), "fp8_param_gather");
  const v1::ConfigEntry* const reuse = FindEntry(answer.config(), "reuse_grad_buf_for_mxfp8_param_ag");
  const bool on = gather != nullptr && gather->value().bool_value();
  EXPECT_EQ(reuse != nullptr && reuse->value().bool_value(), on);
  return on;
}

TEST(ParameterGather, IsThePlansOwn) {
  const v1::ResolveConfigResponse answer = Resolved(QwenInMxfp8());
  EXPECT_TRUE(answer.will_run());
  EXPECT_TRUE(Gathers(answer));
  EXPECT_EQ(FindFinding(answer.findings(), "opt.mxfp8-memory"), nullptr);
}

TEST(ParameterGather, WaitsForOverlapsAndForASaveThatIsRight) {
  v1::ResolveConfigRequest bring_up = QwenInMxfp8();
  bring_up.set_stage(v1::STAGE_BRING_UP);
  EXPECT_FALSE(Gathers(Resolved(bring_up)));
  v1::ResolveConfigRequest stale = QwenInMxfp8();
  stale.mutable_target()->set_version("0.18");
  EXPECT_FALSE(Gathers(Resolved(stale)));
  v1::ResolveConfigRequest rollout = QwenInMxfp8();
  rollout.mutable_target()->set_framework("slime");
  EXPECT_FALSE(Gathers(Resolved(rollout)));
  v1::ResolveConfigRequest serial = QwenInMxfp8();
  Pin("overlap_grad_reduce", false, &serial);
  EXPECT_FALSE(Gathers(Resolved(serial)));
}

// Upstream steps no optimizer on the host from them.
TEST(ParameterGather, GoesWithNoOptimizerOnTheHost) {
  v1::ResolveConfigRequest request = QwenInMxfp8();
  Pin("optimizer_cpu_offload", true, &request);
  const v1::ResolveConfigResponse answer = Resolved(request);
  EXPECT_TRUE(answer.will_run());
  EXPECT_FALSE(Gathers(answer));
}

// What is given by hand finds nothing that the plan did not.
TEST(ParameterGather, IsWeighedInTheSearchForALayout) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = InMxfp8("ling-1t", 144);
  request.set_plan_count(1);
  v1::PlanResult open, given;
  ASSERT_TRUE(TestResolver().PlanLayouts(request, {}, &open).ok());
  Pin("fp8_param_gather", true, request.mutable_base());
  Pin("reuse_grad_buf_for_mxfp8_param_ag", true, request.mutable_base());
  ASSERT_TRUE(TestResolver().PlanLayouts(request, {}, &given).ok());
  ASSERT_TRUE(open.plans_size() == 1 && given.plans_size() == 1);
  EXPECT_LT(open.plans(0).estimate().step_time_us().value(), 1.01 * given.plans(0).estimate().step_time_us().value());
}

}  // namespace
}  // namespace flightplan
