#include <gtest/gtest.h>

#include <set>
#include <string>

#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Apply;
using testing::FindFinding;
using testing::Pin;
using testing::Resolved;
using testing::SetSizes;
using testing::StepUs;
using testing::Training;

constexpr double kParametersOfLlama8b = 8.03e9;

v1::ResolveConfigRequest OffloadedLlama(double share = 1) {
  v1::ResolveConfigRequest request = Training("llama-3.1-8b", "h100-sxm", 16, 4096, 128);
  SetSizes({.tp = 2, .pp = 1}, &request);
  Pin("optimizer_cpu_offload", true, &request);
  Pin("optimizer_offload_fraction", share, &request);
  return request;
}

// The state of all parameters is once on the host of every data-parallel group, of which two nodes have a half each.
TEST(HostMemory, IsParametersGradientsAndMomentsOfWhatIsOffloaded) {
  const v1::ResolveConfigResponse whole = Resolved(OffloadedLlama());
  ASSERT_TRUE(whole.estimate().has_host());
  const v1::Range& node = whole.estimate().host().node_bytes();
  EXPECT_NEAR(node.low(), kParametersOfLlama8b / 2 * 16, 1e9);
  EXPECT_NEAR(node.high(), kParametersOfLlama8b / 2 * 24, 1e9);
  EXPECT_LT(node.low(), node.value());
  EXPECT_LT(node.value(), node.high());
  EXPECT_EQ(whole.estimate().host().fit(), v1::FIT_VERDICT_UNKNOWN);
  EXPECT_NEAR(Resolved(OffloadedLlama(0.5)).estimate().host().node_bytes().value(), node.value() / 2, 1e6);
}

TEST(HostMemory, IsNotSaidWhereNothingIsThere) {
  v1::ResolveConfigRequest request = OffloadedLlama();
  request.mutable_pinned_knobs()->Clear();
  EXPECT_FALSE(Resolved(request).estimate().has_host());
}

TEST(HostMemory, TooLittleIsAnErrorWhoseFixesHold) {
  v1::ResolveConfigRequest request = OffloadedLlama();
  const double needed = Resolved(request).estimate().host().node_bytes().value();
  request.mutable_hardware()->set_host_memory_bytes(static_cast<int64_t>(needed * 0.6));
  const v1::ResolveConfigResponse response = Resolved(request);
  EXPECT_FALSE(response.will_run());
  EXPECT_EQ(response.estimate().host().fit(), v1::FIT_VERDICT_DOES_NOT_FIT);
  const v1::Finding* const lacks = FindFinding(response.findings(), "fit.host-memory");
  ASSERT_NE(lacks, nullptr);
  ASSERT_GT(lacks->fixes_size(), 0);
  for (const v1::Fix& fix : lacks->fixes()) {
    v1::ResolveConfigRequest fixed = request;
    fixed.mutable_pinned_knobs()->Clear();  // the words are changed
    Apply(fix, &fixed);
    const v1::ResolveConfigResponse after = Resolved(fixed);
    EXPECT_TRUE(after.will_run()) << fix.ShortDebugString();
    EXPECT_EQ(FindFinding(after.findings(), "fit.host-memory"), nullptr) << fix.ShortDebugString();
    EXPECT_EQ(after.estimate().has_host(), fix.knobs_size() > 1) << "a share on the host is a share on the host";
  }
}

// A plan of ours keeps within what the node has.
TEST(HostMemory, BoundsWhatAPlanPutsThere) {
  v1::ResolveConfigRequest request = Training("qwen3-coder-480b-a35b", "b200-sxm", 256, 4096, 512);
  request.mutable_target()->set_framework("megatron-bridge");
  SetSizes({.tp = 1, .pp = 2, .ep = 32}, &request);
  const v1::ResolveConfigResponse unbounded = Resolved(request);
  ASSERT_TRUE(unbounded.estimate().has_host());
  const auto needed = static_cast<int64_t>(unbounded.estimate().host().node_bytes().value());
  for (const int64_t has : {needed * 2 / 3, needed / 8}) {
    request.mutable_hardware()->set_host_memory_bytes(has);
    const v1::ResolveConfigResponse bounded = Resolved(request);
    EXPECT_TRUE(bounded.will_run());
    EXPECT_LE(bounded.estimate().host().node_bytes().value(), static_cast<double>(has));
    EXPECT_GE(StepUs(bounded), StepUs(unbounded) * 0.99);
  }
}

TEST(HostMemory, OfALaunchIsJudgedToo) {
  v1::ValidateConfigRequest request = testing::LaunchOf(OffloadedLlama(), Resolved(OffloadedLlama()));
  request.mutable_hardware()->set_host_memory_bytes(int64_t{1} << 34);
  const v1::ValidateConfigResponse judged = testing::Validated(request);
  EXPECT_NE(FindFinding(judged.findings(), "fit.host-memory"), nullptr);
}

TEST(HostMemory, OfNothingIsRefused) {
  v1::ResolveConfigRequest request = OffloadedLlama();
  request.mutable_hardware()->set_host_memory_bytes(0);
  v1::ResolveConfigResponse response;
  EXPECT_EQ(testing::ViolatedFields(testing::TestResolver().ResolveConfig(request, &response)),
            std::set<std::string>({"hardware.host_memory_bytes"}));
}

// Who asks for the offload alone leaves open how much of it: what the search chose is found again.
TEST(HostMemory, AShareThatIsOpenIsWeighed) {
  v1::ResolveConfigRequest request = Training("kimi-k2", "gb200-nvl72", 128, 4096, 1024);
  SetSizes({.tp = 2, .pp = 2, .vpp = 6, .ep = 64}, &request);
  request.mutable_software()->mutable_dispatchers()->add_backends("deepep");
  const v1::ResolveConfigResponse open = Resolved(request);
  ASSERT_TRUE(open.estimate().has_host());
  Pin("optimizer_cpu_offload", true, &request);
  EXPECT_LE(StepUs(Resolved(request)), StepUs(open) * 1.01);
}

}  // namespace
}  // namespace flightplan
