#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Errors;
using testing::FileOf;
using testing::State;
using testing::Validated;

v1::ValidateConfigResponse OfModelFile(const std::string& text) {
  return Validated(FileOf("loongforge", "model.yaml", text));
}

// A model's file says what the model is; length, batch and rate stand in the launch that names it.
TEST(LoongForgeModelFile, IsNoLaunchThatLacksItsLength) {
  const auto answer = OfModelFile(
      "_target_: loongforge.models.foundation.LLaMAConfig\nnum_layers: 4\nhidden_size: 1024\nnum_attention_heads: 8\n");
  EXPECT_EQ(answer.input_format(), "loongforge-yaml");
  EXPECT_TRUE(Errors(answer.findings()).empty()) << answer.DebugString();
  EXPECT_TRUE(absl::StrContains(absl::StrJoin(answer.not_judged(), "\n"), "lf.model-required"));
}

TEST(LoongForgeModelFile, IsHeldToWhatItSays) {
  const char* const head = "_target_: loongforge.models.foundation.LLaMAConfig\nhidden_size: 1024\n";
  EXPECT_FALSE(Errors(OfModelFile(absl::StrCat(head, "num_layers: many\n")).findings()).empty());
  const auto odd = OfModelFile(absl::StrCat(head, "num_experts: 6\nexpert_model_parallel_size: 4\n"));
  EXPECT_FALSE(Errors(odd.findings()).empty()) << odd.DebugString();
}

// LoongForge puts a file's keys into the arguments as they are, and over them again when the config class is built
// (validators.py:100, models/utils.py:157): a field of the class, a choice that no flag has, a float for an integer.
TEST(LoongForgeModelFile, IsTakenAsItIsByItsClass) {
  const auto errors = [](const char* more) {
    return Errors(
        OfModelFile(absl::StrCat("_target_: loongforge.models.encoder.Qwen3VisionModelConfig\nnum_layers: 27\n"
                                 "hidden_size: 1152\nnum_attention_heads: 16\nswiglu: False\n"
                                 "gated_linear_unit: False\nactivation_func: ${act:gelu_tanh}\n",
                                 more))
            .findings());
  };
  EXPECT_TRUE(errors("bias_activation_fusion: False\n").empty());
  EXPECT_EQ(errors("bias_activation_fusion: True\n"), std::set<std::string>{"fusion.bias-act-func"});
  EXPECT_TRUE(errors("bias_activation_fusion: False\nnormalization: Torch_RMSNorm\nbeta_fast: 32.0\n").empty());
}

TEST(LoongForgeModelFile, GivesWayToWhatIsStatedBesideIt) {
  v1::ValidateConfigRequest request =
      FileOf("loongforge", "model.yaml",
             "_target_: loongforge.models.foundation.LLaMAConfig\nhidden_size: 1024\nnum_experts: 6\n"
             "expert_model_parallel_size: 4\n");
  v1::ValidateConfigResponse answer = Validated(request);
  EXPECT_FALSE(Errors(answer.findings()).empty());
  State("num_moe_experts", 8, &request);
  answer = Validated(request);
  EXPECT_TRUE(Errors(answer.findings()).empty()) << answer.DebugString();
}

}  // namespace
}  // namespace flightplan
