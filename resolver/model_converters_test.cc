// Stacks that load a model from its Hugging Face folder have a converter for some classes and no others: a plan or a
// launch for one of the others would stop before its first step.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/catalog/bridge_converters.h"
#include "resolver/catalog/catalog.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::FindFinding;
using testing::Resolved;
using testing::TestResolver;
using testing::Training;
using testing::Validated;

// One source of truth in two forms: the file that converts a model, and the classes of all such files.
TEST(ModelConverters, OfMegatronBridgeAreThoseThatTheCatalogueNames) {
  const Catalog catalog = *Catalog::Builtin();
  for (const ModelSpec& model : catalog.models()) {
    if (!model.architecture.has_value()) continue;
    Environment env;
    NameModel(model, &env);
    EXPECT_EQ(HasBridgeConverter(env), model.bridge.has_value()) << model.name << " " << *model.architecture;
  }
}

struct Row {
  const char* stack;
  const char* model;
  const char* rule;  // null: it has a converter
};
constexpr Row kRows[] = {
    {"verl", "dbrx", "verl.model-class"},
    {"verl", "qwen3-30b-a3b", nullptr},
    {"nemo-rl", "grok-1", "nemo-rl.model-class"},
    {"nemo-rl", "nemotron-nano-9b-v2", nullptr},
    {"roll", "nemotron-nano-9b-v2", "roll.model-type"},
    {"roll", "mixtral-8x7b", nullptr},
    {"ms-swift", "mixtral-8x7b", "ms-swift.model-type"},
    {"ms-swift", "qwen3-next-80b-a3b", nullptr},
    {"slime", "gemma-3-27b", "slime.model-type"},
    {"slime", "qwen3-30b-a3b", nullptr},
    {"miles", "nemotron-h-56b", "miles.model-type"},
    {"miles", "qwen3.5-35b-a3b", nullptr},
    {"megatron-lm", "dbrx", nullptr},
};

TEST(ModelConverters, WhatAStackCannotLoadIsRefused) {
  for (const Row& row : kRows) {
    v1::ResolveConfigRequest request = Training(row.model, "h100-sxm", 64, 4096, 256);
    request.mutable_target()->set_framework(row.stack);
    const v1::ResolveConfigResponse response = Resolved(request);
    if (row.rule != nullptr) {
      EXPECT_NE(FindFinding(response.findings(), row.rule), nullptr) << row.stack << " " << row.model;
      EXPECT_FALSE(response.accepted_by_stack());
    }
    EXPECT_EQ(response.outcome() == v1::OUTCOME_RESOLVED, row.rule == nullptr) << row.stack << " " << row.model;
  }
}

TEST(ModelConverters, NothingIsSearchedForAModelThatIsRefused) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = Training("kimi-k3", "h100-sxm", 4096, 4096, 8192);
  request.mutable_base()->mutable_target()->set_framework("ms-swift");
  v1::PlanResult result;
  ASSERT_TRUE(TestResolver().PlanLayouts(request, {}, &result).ok());
  EXPECT_NE(FindFinding(result.findings(), "plan.nothing-fits"), nullptr);
  EXPECT_NE(FindFinding(result.findings(), "ms-swift.model-type"), nullptr);
  EXPECT_EQ(result.judged_count(), 0);
}

v1::ValidateConfigResponse VerlLaunch(const std::string& more) {
  v1::ValidateConfigRequest launch;
  launch.mutable_target()->set_framework("verl");
  launch.mutable_file()->set_name("launch.sh");
  launch.mutable_file()->set_text(
      absl::StrCat("python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=mistralai/Mixtral-8x7B-v0.1 "
                   "actor_rollout_ref.rollout.name=vllm actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 "
                   "data.train_batch_size=64 actor_rollout_ref.actor.ppo_mini_batch_size=64 trainer.n_gpus_per_node=8 ",
                   more, "\n"));
  return Validated(launch);
}

TEST(ModelConverters, ALaunchMayNameAnotherThanTheUsualOne) {
  const v1::ValidateConfigResponse usual = VerlLaunch("");
  EXPECT_NE(FindFinding(usual.findings(), "verl.model-class"), nullptr);
  EXPECT_FALSE(usual.accepted_by_stack());
  const v1::ValidateConfigResponse other = VerlLaunch("actor_rollout_ref.actor.megatron.vanilla_mbridge=True");
  EXPECT_EQ(FindFinding(other.findings(), "verl.model-class"), nullptr);
  const v1::ValidateConfigResponse unknown = VerlLaunch("actor_rollout_ref.actor.megatron.vanilla_mbridge=$OLD");
  EXPECT_EQ(FindFinding(unknown.findings(), "verl.model-class"), nullptr);
}

}  // namespace
}  // namespace flightplan
