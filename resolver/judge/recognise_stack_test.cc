#include "resolver/judge/recognise_stack.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

std::optional<Target> Recognised(absl::string_view script, absl::string_view words) {
  std::vector<Argument> args;
  for (absl::string_view word : absl::StrSplit(words, ' ')) args.push_back({std::string(word), {}});
  return RecogniseStack(script, args);
}

TEST(RecogniseStack, OneOverrideMakesNoContainerOfACommandLine) {
  constexpr absl::string_view kFlags =
      "--num-layers 32 --tensor-model-parallel-size 2 --micro-batch-size 1 model.foo=3";
  EXPECT_EQ(Recognised("pretrain_gpt.py", kFlags), Target::kMegatronLm);
  EXPECT_EQ(Recognised("examples/pretrain_gpt.py", kFlags), Target::kMegatronLm);
  EXPECT_EQ(Recognised("scripts/training/run_recipe.py", "--recipe qwen3_8b_pretrain_config model.num_layers=4"),
            Target::kMegatronBridge);
  EXPECT_EQ(Recognised("train.py", "model.num_layers=4"), Target::kMegatronBridge);
  EXPECT_EQ(Recognised("pretrain_gpt.py", "model.num_layers=4"), Target::kMegatronBridge);
  EXPECT_EQ(Recognised("/x/loongforge/embodied/train.py", "model.vae_path=/v"), std::nullopt) << "another program";
}

// Recipes over verl's trainer are modules of any package.
TEST(RecogniseStack, AModuleWithKeysOfVerlsActorIsVerls) {
  const auto name = [](absl::string_view script, absl::string_view words) {
    const std::optional<Target> stack = Recognised(script, words);
    return stack.has_value() ? StackOf(*stack).name : "";
  };
  constexpr absl::string_view kKey = "recipe.dapo.main_dapo actor_rollout_ref.actor.megatron.param_offload=True";
  EXPECT_EQ(name("-m recipe.dapo.main_dapo", kKey), "verl");
  EXPECT_EQ(name("-m recipe.dapo.main_dapo", "recipe.dapo.main_dapo trainer.nnodes=2"), "");
}

// A fork's launch may have slime's words alone: what resolve writes says whose it is.
TEST(RecogniseStack, AForkIsNamedByAComment) {
  const auto named = [](absl::string_view script, absl::string_view text) {
    const std::vector<Argument> args = {{"--num-rollout", {}}, {"3", {}}, {"--colocate", {}}};
    const std::optional<Target> stack = RecogniseStack(script, args, text);
    return stack.has_value() ? StackOf(*stack).name : "";
  };
  EXPECT_EQ(named("train.py", ""), "slime");
  EXPECT_EQ(named("train.py", "# flightplan: --target vime\npython3 train.py"), "vime");
  EXPECT_EQ(named("train.py", "export A=1\n  # flightplan: --gpu h100-sxm --target=miles@main\npython3 train.py"),
            "miles");
  // Words within a line, a stack whose launches look otherwise, one that is not known, none.
  for (const char* text : {"echo # flightplan: --target vime\n", "# flightplan: --target nemo-rl\n",
                           "# flightplan: --target x\n", "# flightplan: --target", "# flightplan:"}) {
    EXPECT_EQ(named("train.py", text), "slime") << text;
  }
  EXPECT_EQ(named("miles/train.py", "# flightplan: --target vime\n"), "miles");
}

TEST(RecogniseYaml, KnowsAFileThatIsMergedOverARecipeByItsKeys) {
  const auto bridge = std::make_optional(Target::kMegatronBridge);
  EXPECT_EQ(RecogniseYaml("model:\n  _target_: megatron.bridge.models.GPTModelProvider\n"), bridge);
  EXPECT_EQ(RecogniseYaml("# over a recipe\nmodel:\n  tensor_model_parallel_size: 2\n\ntrain:\n"
                          "  global_batch_size: 8\nlogger:\n  log_interval: 1\n"),
            bridge);
}

// What a child of NeMo-RL's does not say stands in the file that it names.
TEST(RecogniseYaml, KnowsAChildByTheFileAndSections) {
  const auto name = [](absl::string_view text) {
    const std::optional<Target> stack = RecogniseYaml(text);
    return stack.has_value() ? StackOf(*stack).name : "";
  };
  EXPECT_EQ(name("defaults: grpo-8b.v3.yaml\ndata_plane:\n  enabled: true\n"), "nemo-rl");
  EXPECT_EQ(name("# x\ndefaults:\n  - ../../grpo_math_1B.yaml  # base\npolicy:\n  model_name: a/b\n"), "nemo-rl");
  for (const char* text : {"defaults: eval.yaml\ngeneration:\n  top_p: 1\n", "defaults: a.yaml\n",
                           "defaults:\n  - _self_\n  - train: 8b\npolicy:\n  a: 1\n", "policy:\n  a: 1\n"}) {
    EXPECT_EQ(name(text), "") << text;
  }
}

// Sections of the same names with fields of others, flat keys, one key beside them, one field alone.
TEST(RecogniseYaml, LeavesOtherProgramsAlone) {
  for (const char* text : {"model:\n  name: llama3\n  path: x\noptimizer:\n  name: adamw\n  lr: 1e-4\n",
                           "num_layers: 2\nhidden_size: 64\n", "optimizer:\n  lr: 1e-4\n", "- model\n", "",
                           "model:\n  num_layers: 2\n  hidden_size: 8\ntrainer:\n  max_steps: 2\n"}) {
    EXPECT_EQ(RecogniseYaml(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace flightplan
