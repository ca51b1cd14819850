// A stack is a folder: tests/stacks/toy is one, and no other file knows of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/dialects.h"
#include "resolver/stacks/input_format.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Errors;
using testing::TestResolver;

v1::ValidateConfigRequest Question(const std::vector<std::string>& words) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("toy");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(64);
  request.mutable_arguments();
  for (const std::string& word : words) request.mutable_arguments()->add_values(word);
  return request;
}

TEST(Stacks, HaveNumbersAndNamesOfTheirOwn) {
  std::set<Target> targets;
  std::set<absl::string_view> names;
  for (const Stack* stack : AllStacks()) {
    EXPECT_TRUE(targets.insert(stack->target).second) << stack->name;
    EXPECT_TRUE(names.insert(stack->name).second) << stack->name;
    EXPECT_EQ(&StackOf(stack->target), stack);
    EXPECT_FALSE(stack->releases.empty()) << stack->name;
    EXPECT_FALSE(stack->phases.empty()) << stack->name;
  }
  EXPECT_EQ(StackOf(Target::kLoongForge).core_release(kMain), kLoongForgeCore);
  EXPECT_EQ(StackNames(),
            "megatron-lm, megatron-bridge, loongforge, slime, ms-swift, verl, nemo-rl, miles, vime, primus, flagscale, "
            "roll or toy");
}

TEST(ToyStack, IsJudgedByThePhasesOfItsRecord) {
  v1::ValidateConfigResponse answer;
  ASSERT_TRUE(TestResolver()
                  .ValidateConfig(Question({"num_layers=4", "hidden_size=1024", "num_attention_heads=16",
                                            "num_moe_experts=6", "expert_model_parallel_size=4"}),
                                  &answer)
                  .ok());
  EXPECT_EQ(answer.target(), "toy main");
  EXPECT_EQ(answer.input_format(), "toy-words");
  EXPECT_FALSE(answer.will_run());
  EXPECT_EQ(Errors(answer.findings()).count("build.experts-divisible-by-ep"), 1U) << answer.DebugString();
  EXPECT_EQ(Errors(answer.findings()).count("mlm.train-length"), 0U) << "a check of another stack's command line";
}

TEST(ToyStack, ReadsWhatIsWrittenForIt) {
  v1::ResolveConfigRequest question = testing::QwenOnSixteen();
  question.mutable_target()->set_framework("toy");
  question.mutable_layout()->set_tensor_model_parallel_size(1);
  question.mutable_layout()->set_pipeline_model_parallel_size(1);
  question.mutable_layout()->set_expert_model_parallel_size(16);
  v1::ResolveConfigResponse plan;
  ASSERT_TRUE(TestResolver().ResolveConfig(question, &plan).ok());
  EXPECT_EQ(Errors(plan.findings()), std::set<std::string>());
  ASSERT_EQ(plan.launches_size(), 1);
  EXPECT_EQ(plan.launches(0).dialect(), "toy");
  v1::ValidateConfigRequest again = Question({plan.launches(0).argv().begin(), plan.launches(0).argv().end()});
  again.mutable_hardware()->set_gpu_count(16);
  for (const auto& [name, value] : plan.launches(0).env()) (*again.mutable_env())[name] = value;
  v1::ValidateConfigResponse answer;
  ASSERT_TRUE(TestResolver().ValidateConfig(again, &answer).ok());
  EXPECT_EQ(Errors(answer.findings()), std::set<std::string>());
  EXPECT_TRUE(answer.will_run());
}

TEST(ToyStack, IsConvertedTo) {
  v1::ConvertConfigRequest request;
  *request.mutable_source() = Question({"num_layers=4", "hidden_size=1024", "num_attention_heads=16"});
  request.mutable_source()->mutable_target()->set_framework("megatron-lm");
  request.mutable_source()->mutable_arguments()->clear_values();
  for (const char* word : {"--num-layers", "4", "--hidden-size", "1024", "--num-attention-heads", "16"}) {
    request.mutable_source()->mutable_arguments()->add_values(word);
  }
  request.mutable_target()->set_framework("toy");
  v1::ConvertConfigResponse answer;
  ASSERT_TRUE(TestResolver().ConvertConfig(request, &answer).ok());
  const auto& words = answer.launch().argv();
  EXPECT_NE(std::find(words.begin(), words.end(), "num_layers=4"), words.end()) << answer.launch().text();
}

}  // namespace
}  // namespace flightplan
