#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/work.h"
#include "resolver/judge/shown_launch.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Errors;
using testing::FileOf;
using testing::FindFinding;
using testing::TestResolver;
using testing::Validated;
using testing::ViolatedFields;

TEST(InputForms, ReadsAScriptWithoutRunningIt) {
  const v1::ValidateConfigResponse response = Validated(
      FileOf("megatron-lm", "pretrain.sh",
             "EP=64\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py \\\n"
             "  --num-layers 4 \\\n  --expert-model-parallel-size $EP --no-such-flag $(touch /tmp/never)\n"));
  EXPECT_FALSE(response.accepted_by_stack());
  bool pointed = false;
  for (const v1::Finding& finding : response.findings()) {
    pointed = pointed || (finding.rule_id() == "mlm.argparse" && finding.location().line() == 5 &&
                          finding.location().input() == "pretrain.sh");
  }
  EXPECT_TRUE(pointed);
}

// miles has some twenty of them; for Megatron-Bridge such a file would be a recipe that says nothing.
TEST(InputForms, AProgramThatPutsALaunchTogetherIsNotJudged) {
  const char* const program =
      "import miles.utils.external_utils.command_utils as U\n"
      "def execute(args):\n"
      "    rollout_args = f\"--num-rollout {args.rollouts} --rollout-batch-size 32 \"\n"
      "    perf_args = f\"--tensor-model-parallel-size {2 if args.wide else 1} --sequence-parallel \"\n"
      "    U.execute_train(train_args=rollout_args + perf_args, config=args)\n";
  for (const char* target : {"miles", "megatron-bridge"}) {
    const v1::ValidateConfigResponse response = Validated(FileOf(target, "run.py", program));
    EXPECT_EQ(response.completeness(), v1::COMPLETENESS_NONE) << target;
    EXPECT_TRUE(absl::StrContains(absl::StrJoin(response.not_judged(), "\n"), "validate the command that it prints"));
  }
  EXPECT_TRUE(ReadShownLaunch("run.py", program, {}).nothing.has_value());
  EXPECT_FALSE(ReadShownLaunch("recipe.py", "cfg.model.num_layers = 4\n", {}).nothing.has_value());
}

TEST(InputForms, ReadsEveryFormThatPeopleHave) {
  struct Row {
    const char* target;
    const char* name;
    const char* text;
    const char* format;
    int line;  // where the number of layers is written
  };
  const Row rows[] = {
      {"megatron-lm", "a.yaml", "language_model:\n  num_layers: 7\n", "megatron-lm-yaml", 2},
      {"megatron-lm", "launch.args", "--num-layers\n7\n", "argv", 1},
      {"megatron-bridge", "a.yaml", "model:\n  _target_: x.Y\n  num_layers: 7\n", "bridge-yaml", 3},
      {"megatron-bridge", "o.txt", "# mine\nmodel.num_layers=7\n", "bridge-overrides", 2},
      {"megatron-bridge", "run.sh", "torchrun scripts/training/run_recipe.py --recipe a -tp 1 model.num_layers=7\n",
       "shell", 1},
      {"megatron-bridge", "perf.sh", "python scripts/performance/run_script.py -m a -mr b \\\n --num_layers 7\n",
       "shell", 2},
      {"loongforge", "run.sh", "torchrun train.py --num-layers 7\n", "shell", 1},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const v1::ValidateConfigResponse response = Validated(FileOf(row.target, row.name, row.text));
    EXPECT_EQ(response.input_format(), row.format);
    bool found = false;
    for (const v1::ConfigEntry& entry : response.config()) {
      found = found || (entry.name() == "num_layers" && entry.value().int_value() == 7);
    }
    EXPECT_TRUE(found);
    for (const v1::Finding& finding : response.findings()) {
      if (finding.observed_size() == 0 || finding.observed(0).name() != "num_layers") continue;
      EXPECT_EQ(finding.location().line(), row.line) << finding.rule_id();
    }
  }
}

TEST(InputForms, TakesTheCallersWordForTheFormat) {
  v1::ValidateConfigRequest request = FileOf("megatron-bridge", "notes.txt", "  # a\nmodel: {num_layers: 4}\n");
  request.set_input_format("bridge-yaml");
  v1::ValidateConfigResponse response = Validated(request);
  EXPECT_EQ(response.input_format(), "bridge-yaml");
  request.set_input_format("megatron-lm-yaml");
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)).count("input_format"), 1U);
  request.mutable_arguments()->add_values("model.num_layers=4");
  request.set_input_format("bridge-yaml");
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)).count("input_format"), 1U);
}

// The GPU is known, the number of them is what the launcher or WORLD_SIZE says.
TEST(InputForms, TakesTheSizeFromTheLaunch) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_file()->set_name("run.sh");
  const auto grid_fails = [&request](const char* text) {
    request.mutable_file()->set_text(text);
    const v1::ValidateConfigResponse response = Validated(request);
    return Errors(response.findings()).count("mesh.expert-world-divisible") > 0;
  };
  EXPECT_TRUE(grid_fails("torchrun --nproc-per-node 8 a.py --num-experts 16 --expert-model-parallel-size 16\n"));
  EXPECT_FALSE(grid_fails("torchrun --nproc-per-node 16 a.py --num-experts 16 --expert-model-parallel-size 16\n"));
  EXPECT_TRUE(grid_fails("export WORLD_SIZE=8\npython a.py --num-experts 16 --expert-model-parallel-size 16\n"));
  // A batch script, without and with a size in front of the program.
  EXPECT_TRUE(
      grid_fails("#SBATCH -N 1 --gpus-per-node=8\n"
                 "python a.py --num-experts 16 --expert-model-parallel-size 16\n"));
  EXPECT_FALSE(
      grid_fails("#SBATCH -N 2 --gpus-per-node=8\n"
                 "python a.py --num-experts 16 --expert-model-parallel-size 16\n"));
  EXPECT_TRUE(
      grid_fails("#SBATCH --nodes=3\ntorchrun --nproc-per-node 8 --nnodes $SLURM_NNODES a.py "
                 "--num-experts 16 --expert-model-parallel-size 16\n"));
}

// srun starts a driver of Ray once, and its own words say how many GPUs it trains on; without them the job does.
TEST(InputForms, ALauncherOfADriverStartsNoRanks) {
  constexpr absl::string_view kJob = "#SBATCH --nodes=4\n#SBATCH --gres=gpu:8\n";
  constexpr absl::string_view kVerl =
      " python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.strategy=megatron "
      "actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B trainer.n_gpus_per_node=8 ";
  constexpr absl::string_view kTensorParallel = "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=";
  const auto seen = [](const std::string& script) {
    const v1::ValidateConfigResponse response = Validated(FileOf("", "run.sh", script));
    const v1::Finding* const finding = FindFinding(response.findings(), "mesh.world-divisible");
    return finding == nullptr ? std::string() : finding->seen();
  };
  for (const absl::string_view launcher : {"", "srun", "srun --nodes=1 --ntasks=1 --overlap"}) {
    const std::string start = absl::StrCat(kJob, launcher, kVerl);
    EXPECT_EQ(seen(absl::StrCat(start, "trainer.nnodes=2 ", kTensorParallel, "8\n")), "") << launcher;
    EXPECT_TRUE(
        absl::StrContains(seen(absl::StrCat(start, "trainer.nnodes=2 ", kTensorParallel, "3\n")), "world_size=16"))
        << launcher;
    EXPECT_TRUE(
        absl::StrContains(seen(absl::StrCat(start, "trainer.nnodes=$N ", kTensorParallel, "3\n")), "world_size=32"))
        << launcher;
  }
}

// The router's and the dispatcher's defaults go with checks of the stack that has them.
TEST(InputForms, ADenseModelTakesTheTargetsOwnDefaultsForExperts) {
  v1::ConvertConfigRequest request;
  request.mutable_target()->set_framework("ms-swift");
  v1::ValidateConfigRequest& source = *request.mutable_source();
  source = FileOf("megatron-lm", "run.sh",
                  "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 --seq-length 4096 "
                  "--num-attention-heads 16 --max-position-embeddings 4096 --micro-batch-size 1\n");
  v1::ConvertConfigResponse answer;
  ASSERT_TRUE(TestResolver().ConvertConfig(request, &answer).ok());
  EXPECT_FALSE(answer.pinned_defaults().empty());
  EXPECT_FALSE(absl::StrContains(answer.launch().text(), "--moe_")) << answer.launch().text();
}

// Flags that only a run would know may be any.
TEST(InputForms, WordsThatCannotBeReadLeaveALaunchJudgedInPart) {
  const auto completeness = [](absl::string_view words) {
    return Validated(
               FileOf("megatron-lm", "run.sh",
                      absl::StrCat("torchrun --nproc-per-node 8 pretrain_gpt.py ", words,
                                   " --num-layers 4 --hidden-size 1024 --seq-length 4096 --num-attention-heads 16 "
                                   "--max-position-embeddings 4096 --micro-batch-size 1 --train-iters 10 --lr 1e-4 "
                                   "--mock-data --tokenizer-type NullTokenizer --vocab-size 32000\n")))
        .completeness();
  };
  EXPECT_EQ(completeness("$(cat args.txt)"), v1::COMPLETENESS_PARTIAL);
  EXPECT_EQ(completeness("--bf16"), v1::COMPLETENESS_FULL);
  // Of the script's own arguments there are none, unless somebody gives some.
  for (const char* arguments : {"$@", "\"$@\"", "${@:2}", "--bf16 $*"}) {
    EXPECT_EQ(completeness(arguments), v1::COMPLETENESS_FULL) << arguments;
  }
}

// Half a configuration would be judged as another one.
TEST(InputForms, WhatTakesTooMuchWorkToReadIsNotJudged) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-bridge");
  for (int i = 0; i < 1000; ++i) request.mutable_arguments()->add_values(absl::StrCat("model.num_layerz", i, "=4"));
  v1::ValidateConfigResponse response = Validated(request);
  const Work work(1 << 16);
  const absl::Status status = TestResolver().ValidateConfig(request, &response);
  EXPECT_EQ(ViolatedFields(status), std::set<std::string>({"config"})) << status;
}

TEST(InputForms, ATextThatHoldsANulIsNotJudged) {
  for (const char* framework : {"", "megatron-lm"}) {
    const v1::ValidateConfigRequest request =
        FileOf(framework, "run.sh", std::string("torchrun pretrain_gpt.py --num-layers 4 \0--hidden-size 64\n", 58));
    v1::ValidateConfigResponse response;
    const absl::Status status = TestResolver().ValidateConfig(request, &response);
    EXPECT_EQ(ViolatedFields(status), std::set<std::string>({"file.text"})) << status;
  }
}

TEST(InputForms, SaysOfAScriptWithoutALaunchOnlyThat) {
  const v1::ValidateConfigResponse response =
      Validated(FileOf("megatron-lm", "run.sh", "PP=8 VPP=4 bash sbatch_benchmarking.sh --mtp-num-layers 1\n"));
  EXPECT_TRUE(response.findings().empty());
  EXPECT_EQ(response.completeness(), v1::COMPLETENESS_NONE);
  EXPECT_FALSE(response.not_judged().empty());
}

}  // namespace
}  // namespace flightplan
