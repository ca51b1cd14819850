// Models that Megatron-Bridge builds in a way of their own: what its providers refuse is neither chosen nor accepted.
#include <gtest/gtest.h>

#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::CountOf;
using testing::Pin;
using testing::Resolved;
using testing::TestResolver;
using testing::Training;

v1::PlanLayoutsRequest Question(const char* model, const char* gpu, int gpus, int seq_length, const char* stack) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = Training(model, gpu, gpus, seq_length, gpus * 8);
  request.mutable_base()->mutable_target()->set_framework(stack);
  return request;
}

v1::PlanResult Planned(const v1::PlanLayoutsRequest& request) {
  v1::PlanResult result;
  EXPECT_TRUE(TestResolver().PlanLayouts(request, {}, &result).ok());
  EXPECT_GT(result.plans_size(), 0);
  return result;
}

TEST(BridgeProviders, Gemma2IsPlannedWithoutContextParallelism) {
  v1::PlanLayoutsRequest request = Question("gemma-2-27b", "h100-sxm", 64, 32768, "megatron-bridge");
  request.mutable_base()->mutable_layout()->set_tensor_model_parallel_size(4);
  const v1::PlanResult planned = Planned(request);
  for (const v1::ResolveConfigResponse& plan : planned.plans()) {
    EXPECT_LE(plan.layout().sizes().context_parallel_size(), 1);
  }
}

TEST(BridgeProviders, Gemma2OnSeveralContextRanksIsRefused) {
  v1::ResolveConfigRequest request = Training("gemma-2-9b", "h100-sxm", 16, 8192, 128);
  request.mutable_target()->set_framework("megatron-bridge");
  request.mutable_layout()->set_tensor_model_parallel_size(4);
  request.mutable_layout()->set_pipeline_model_parallel_size(1);
  request.mutable_layout()->set_context_parallel_size(2);
  EXPECT_EQ(CountOf(Resolved(request).findings(), "build.bridge-gemma2-no-cp"), 1);
  request.mutable_layout()->set_context_parallel_size(1);
  EXPECT_EQ(CountOf(Resolved(request).findings(), "build.bridge-gemma2-no-cp"), 0);
  // Others of its kind have an attention that does.
  request.mutable_model()->set_name("gemma-3-27b");
  request.mutable_layout()->set_context_parallel_size(2);
  EXPECT_EQ(CountOf(Resolved(request).findings(), "build.bridge-gemma2-no-cp"), 0);
}

TEST(BridgeProviders, KimiK3IsPlannedWithoutVirtualStages) {
  v1::PlanLayoutsRequest request = Question("kimi-k3", "gb200-nvl72", 1152, 4096, "megatron-bridge");
  v1::Layout& sizes = *request.mutable_base()->mutable_layout();
  sizes.set_tensor_model_parallel_size(4);
  sizes.set_expert_model_parallel_size(64);
  sizes.set_expert_tensor_parallel_size(1);
  sizes.set_micro_batch_size(1);
  const v1::PlanResult planned = Planned(request);
  for (const v1::ResolveConfigResponse& plan : planned.plans()) {
    EXPECT_LE(plan.layout().sizes().virtual_pipeline_model_parallel_size(), 1);
    EXPECT_LE(plan.layout().sizes().context_parallel_size(), 1);
  }
}

// Until 0.5 its provider looks at nothing.
TEST(BridgeProviders, Gemma4RunsItsExpertsInOnePart) {
  v1::ResolveConfigRequest request = Training("gemma-4-26b-a4b", "gb200-nvl72", 64, 4096, 512);
  request.mutable_target()->set_framework("megatron-bridge");
  v1::Layout& sizes = *request.mutable_layout();
  sizes.set_tensor_model_parallel_size(1);
  sizes.set_pipeline_model_parallel_size(1);
  sizes.set_context_parallel_size(1);
  sizes.set_expert_model_parallel_size(8);
  const v1::ResolveConfigResponse planned = Resolved(request);
  EXPECT_EQ(planned.outcome(), v1::OUTCOME_RESOLVED);
  for (const v1::ConfigEntry& entry : planned.config()) {
    if (entry.name() != "cuda_graph_impl") continue;
    EXPECT_EQ(entry.value().string_value(), "none");
  }
  for (const v1::Decision& decision : planned.decisions()) {
    if (decision.name() != "cuda_graph_impl") continue;
    EXPECT_EQ(decision.rule_id(), "decide.cuda-graphs");
  }
  Pin("cuda_graph_impl", "transformer_engine", &request);
  EXPECT_EQ(CountOf(Resolved(request).findings(), "bridge-gemma4.moe-in-one-part"), 1);
  request.mutable_target()->set_version("0.5");
  EXPECT_EQ(CountOf(Resolved(request).findings(), "bridge-gemma4.moe-in-one-part"), 0);
}

}  // namespace
}  // namespace flightplan
