// What an answer says of a model that the caller named: what of it nobody knows, and what the launch goes beyond.
#include <gtest/gtest.h>

#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::FindFinding;
using testing::Pin;
using testing::Resolved;
using testing::SetSizes;
using testing::Training;

v1::ResolveConfigRequest Ling(const char* stack) {
  v1::ResolveConfigRequest request = Training("ling-1t", "h100-sxm", 1024, 4096, 4096);
  request.mutable_target()->set_framework(stack);
  SetSizes({.tp = 4, .pp = 4, .ep = 64}, &request);
  return request;
}

TEST(ModelWords, NameWhatNoSourceStates) {
  v1::ResolveConfigRequest request = Ling("megatron-lm");
  const v1::ResolveConfigResponse open = Resolved(request);
  const v1::Finding* said = FindFinding(open.findings(), "decide.model-unverified");
  ASSERT_NE(said, nullptr);
  EXPECT_EQ(said->severity(), v1::SEVERITY_WARNING);
  EXPECT_EQ(said->seen(), "not known of ling-1t: mtp_num_layers");
  Pin("mtp_num_layers", 1, &request);
  EXPECT_EQ(FindFinding(Resolved(request).findings(), "decide.model-unverified"), nullptr);
  // Its converter reads the model's own file there.
  EXPECT_EQ(FindFinding(Resolved(Ling("megatron-bridge")).findings(), "decide.model-unverified"), nullptr);
}

TEST(ModelWords, SayThatASequenceGoesBeyondThePositions) {
  v1::ResolveConfigRequest request = Training("qwen3-30b-a3b", "h100-sxm", 64, 65536, 256);
  SetSizes({.tp = 4, .pp = 1, .ep = 8}, &request);
  const v1::ResolveConfigResponse longer = Resolved(request);
  const v1::Finding* said = FindFinding(longer.findings(), "decide.positions-raised");
  ASSERT_NE(said, nullptr);
  EXPECT_EQ(said->severity(), v1::SEVERITY_INFO);
  request.mutable_workload()->set_seq_length(32768);
  EXPECT_EQ(FindFinding(Resolved(request).findings(), "decide.positions-raised"), nullptr);
}

}  // namespace
}  // namespace flightplan
