// A file whose caller names no stack is judged for the one that its text shows.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "flightplan/v1/timeline.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::DeepSeekOnH100;
using testing::FileOf;
using testing::TestResolver;
using testing::Validated;
using testing::ViolatedFields;
using testing::WordsOf;

constexpr char kBridge[] =
    "torchrun --nproc_per_node=8 scripts/training/run_recipe.py --recipe qwen3_30b_a3b_pretrain_config "
    "model.expert_model_parallel_size=8\n";
constexpr char kMegatronLm[] = "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --micro-batch-size 1\n";
constexpr char kSlime[] =
    "ray job submit --address=http://127.0.0.1:8265 -- python3 train.py --actor-num-nodes 1 "
    "--actor-num-gpus-per-node 8 --rollout-batch-size 8 --num-layers 4\n";
constexpr char kOther[] = "python my_trainer.py --lr 0.1\n";

// Its command starts one rank a GPU of as many nodes as the script exports.
TEST(ShownStack, PrimusCommandStartsTheRanks) {
  const v1::ValidateConfigResponse judged = Validated(FileOf(
      "", "run.sh", "export NNODES=2\n./primus-cli direct -- train pretrain --config exp.yaml --num_layers 4\n"));
  const v1::ConfigEntry* const gpus = testing::FindEntry(judged.config(), "launch.num_gpus");
  ASSERT_NE(gpus, nullptr);
  EXPECT_EQ(gpus->value().int_value(), 16);
  // Its keys are no flags of Megatron-LM's, and make it no other program.
  const v1::ValidateConfigResponse many = Validated(FileOf(
      "", "run.sh",
      "./primus-cli direct -- train pretrain --config exp.yaml --num_layers 4 --hidden_size 64 --lr_decay_iters 9\n"));
  EXPECT_TRUE(absl::c_any_of(many.not_judged(),
                             [](const std::string& what) { return absl::StrContains(what, "in exp.yaml"); }));
}

TEST(ShownStack, IsThatOfTheText) {
  struct Row {
    const char *name, *text, *framework;
  };
  const Row rows[] = {
      {"run.sh", kBridge, "megatron-bridge"},
      {"run.sh", kMegatronLm, "megatron-lm"},
      {"run.sh", kSlime, "slime"},
      {"gym.sh",
       "uv run examples/nemo_gym/run_grpo_nemo_gym.py --config a.yaml policy.megatron_cfg.enabled=true\n"
       "uv run tests/check_metrics.py --log x\n",
       "nemo-rl"},
      {"primus.sh", "export NNODES=2\n./primus-cli direct --numa -- train pretrain --config exp.yaml --num_layers 4\n",
       "primus"},
      {"verl.sh",
       "python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.strategy=megatron trainer.nnodes=1 "
       "trainer.n_gpus_per_node=8\n",
       "verl"},
      {"dump.yaml", "model:\n  _target_: megatron.bridge.models.GPTModelProvider\n  num_layers: 4\n",
       "megatron-bridge"},
      // Flags and YAML of nobody's.
      {"launch.args", "--num-layers\n7\n", "megatron-lm"},
      {"a.yaml", "language_model:\n  num_layers: 7\n", "megatron-lm"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    const v1::ValidateConfigResponse shown = Validated(FileOf("", row.name, row.text));
    EXPECT_EQ(shown.target(), absl::StrCat(row.framework, " main"));
    // The same question as with the name.
    EXPECT_EQ(shown.SerializeAsString(), Validated(FileOf(row.framework, row.name, row.text)).SerializeAsString());
  }
}

TEST(ShownStack, IsTheOneThatALaunchWasWrittenFor) {
  for (const char* framework : {"slime", "vime", "miles"}) {
    v1::ResolveConfigRequest request = DeepSeekOnH100();
    request.mutable_target()->set_framework(framework);
    v1::ResolveConfigResponse answer;
    ASSERT_TRUE(TestResolver().ResolveConfig(request, &answer).ok()) << framework;
    ASSERT_GT(answer.launches_size(), 0) << framework;
    // With the words that a launch needs to start, which resolve asks for.
    std::string text = answer.launches(0).text();
    while (!text.empty() && text.back() == '\n') text.pop_back();
    absl::StrAppend(&text, " --hf-checkpoint /m --prompt-data /d --num-rollout 3 --rollout-batch-size 8\n");
    EXPECT_EQ(Validated(FileOf("", "run.sh", text)).target(), absl::StrCat(framework, " main")) << text;
  }
}

TEST(ShownStack, IsNoneOfAScriptThatLaunchesNoTraining) {
  for (const char* text : {kOther, "rm -rf checkpoints\n"}) {
    SCOPED_TRACE(text);
    const v1::ValidateConfigResponse response = Validated(FileOf("", "run.sh", text));
    EXPECT_EQ(response.completeness(), v1::COMPLETENESS_NONE);
    EXPECT_EQ(response.target(), "");
    EXPECT_EQ(response.memory().fit(), v1::FIT_VERDICT_UNKNOWN);
    EXPECT_TRUE(absl::StartsWith(response.digest(), "fp1-"));
    ASSERT_EQ(response.not_judged_size(), 1);
    EXPECT_EQ(response.not_judged(0),
              text == kOther ? "no launch of a training stack that is known" : "no command in it runs a Python file");
  }
  // With a stack named it is another question, with another answer.
  EXPECT_NE(Validated(FileOf("", "run.sh", kOther)).digest(),
            Validated(FileOf("megatron-lm", "run.sh", kOther)).digest());
  v1::ValidateConfigRequest wrong = FileOf("", "run.sh", kOther);
  wrong.set_world_size(-1);
  v1::ValidateConfigResponse response;
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(wrong, &response)), std::set<std::string>{"world_size"});
}

// A file of settings with no key that Megatron-LM reads, and one that says that it trains nothing.
TEST(ShownStack, IsNoneOfYamlThatIsNoTraining) {
  constexpr char kNobodys[] = "a YAML file that shows no training stack that is known";
  constexpr char kServes[] = "experiment:\n  exp_name: x\n  task:\n    type: serve\nserve:\n  - {serve_id: a}\n";
  struct Row {
    const char *framework, *text, *why;
  };
  for (const Row& row :
       {Row{"", "work_group: a\nmodules:\n  post_trainer:\n    num_layers: 4\n", kNobodys}, Row{"", kServes, kNobodys},
        Row{"flagscale", kServes, "not a training of Megatron's: experiment.task.type is serve"}}) {
    SCOPED_TRACE(row.text);
    const v1::ValidateConfigResponse response = Validated(FileOf(row.framework, "a.yaml", row.text));
    EXPECT_EQ(response.completeness(), v1::COMPLETENESS_NONE);
    EXPECT_EQ(response.findings_size(), 0) << response.ShortDebugString();
    EXPECT_TRUE(response.accepted_by_stack());
    ASSERT_GE(response.not_judged_size(), 1);
    EXPECT_EQ(response.not_judged(response.not_judged_size() - 1), row.why);
  }
  EXPECT_EQ(Validated(FileOf("", "a.yaml", "seed: 1\ntensor_model_parallel_size: 2\nname: x\n")).target(),
            "megatron-lm main");
  EXPECT_EQ(Validated(FileOf("", "a.yaml", "MODEL_ARGS:\n  --num-layers: 4\n")).target(), "megatron-lm main");
}

TEST(ShownStack, KeepsTheReleaseThatTheCallerNames) {
  v1::ValidateConfigRequest request = FileOf("", "run.sh", kMegatronLm);
  request.mutable_target()->set_version("0.17");
  EXPECT_EQ(Validated(request).target(), "megatron-lm 0.17");
}

// Of words alone nothing is told.
TEST(ShownStack, IsRequiredBesideArguments) {
  v1::ValidateConfigResponse response;
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(WordsOf("", "--num-layers 4"), &response)),
            std::set<std::string>{"target.framework"});
}

TEST(ShownStack, IsConvertedFromAndDrawn) {
  v1::ConvertConfigRequest convert;
  *convert.mutable_source() = FileOf("", "run.sh", kMegatronLm);
  convert.mutable_target()->set_framework("megatron-bridge");
  v1::ConvertConfigResponse converted, named;
  ASSERT_TRUE(TestResolver().ConvertConfig(convert, &converted).ok());
  convert.mutable_source()->mutable_target()->set_framework("megatron-lm");
  ASSERT_TRUE(TestResolver().ConvertConfig(convert, &named).ok());
  EXPECT_EQ(converted.SerializeAsString(), named.SerializeAsString());
  *convert.mutable_source() = FileOf("", "run.sh", kOther);
  EXPECT_EQ(ViolatedFields(TestResolver().ConvertConfig(convert, &converted)),
            std::set<std::string>{"source.target.framework"});

  v1::DescribeTimelineRequest draw;
  v1::DescribeTimelineResponse drawn;
  *draw.mutable_validate() = FileOf("", "run.sh", kSlime);
  const absl::Status open = TestResolver().DescribeTimeline(draw, &drawn);
  draw.mutable_validate()->mutable_target()->set_framework("slime");
  EXPECT_EQ(open, TestResolver().DescribeTimeline(draw, &drawn));
}

}  // namespace
}  // namespace flightplan
