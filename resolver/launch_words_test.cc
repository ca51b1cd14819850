#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Errors;
using testing::FileOf;
using testing::FindFinding;
using testing::Resolved;
using testing::ScriptOf;
using testing::SetSizes;
using testing::Training;
using testing::Validated;

// A launch that shows all of itself, with the words given at its end.
v1::ValidateConfigResponse JudgedLaunch(const std::string& words) {
  v1::ValidateConfigRequest request = FileOf(
      "megatron-lm", "pretrain.sh",
      absl::StrCat("export CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 "
                   "--hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 "
                   "--micro-batch-size 1 --global-batch-size 64 --vocab-size 32000 --bf16 ",
                   words, "\n"));
  request.mutable_hardware()->set_gpu("h100");
  return Validated(request);
}

// Notes about the script's words stand before its faults in the text, not in the answer.
TEST(LaunchWords, SaysTheWorstFirst) {
  const v1::ValidateConfigResponse answer =
      JudgedLaunch("--save $HERE --data-path $1 --num-experts 8 --tensor-model-parallel-size 3 --num-layers 5");
  EXPECT_GT(answer.findings_size(), 2);
  EXPECT_TRUE(std::is_sorted(answer.findings().begin(), answer.findings().end(),
                             [](const v1::Finding& a, const v1::Finding& b) { return a.severity() < b.severity(); }));
}

// A path that only a run would know is a path.
TEST(LaunchWords, APathInAVariableNeedsItsInterval) {
  const auto found = [](const std::string& words) {
    const v1::ValidateConfigResponse answer = JudgedLaunch(words);
    const auto finding = std::find_if(answer.findings().begin(), answer.findings().end(),
                                      [](const v1::Finding& each) { return each.rule_id() == "mlm.save-interval"; });
    return finding == answer.findings().end() ? "" : absl::StrCat(finding->location().line(), " ", finding->seen());
  };
  EXPECT_EQ(found("--save \"$C\""), "2 save=$C, save_interval unset");
  EXPECT_EQ(found("--save=$1"), "2 save=$1, save_interval unset");
  EXPECT_EQ(found("--save \"$C\" --save-interval 5"), "");
  EXPECT_EQ(found("--load \"$C\""), "");
}

// A list of one for its member is nothing that a person would see.
TEST(LaunchWords, AChangeOfATypeAloneIsNoChange) {
  const v1::ValidateConfigResponse answer =
      JudgedLaunch("--num-experts 8 --moe-router-load-balancing-type aux_loss --sequence-parallel");
  std::set<std::string> changed;
  for (const v1::EffectiveChange& change : answer.effective_changes()) changed.insert(change.name());
  EXPECT_EQ(changed.count("sequence_parallel"), 1U);
  EXPECT_EQ(changed.count("moe_router_load_balancing_type"), 0U);
}

TEST(LaunchWords, ForecastsALaunchThatShowsItsModel) {
  const v1::Estimate& estimate =
      JudgedLaunch("--mock-data --train-samples 1000 --lr 1e-4 --tokenizer-type NullTokenizer").estimate();
  EXPECT_GT(estimate.step_time_us().value(), 0);
  EXPECT_NEAR(estimate.tokens_per_second() * estimate.step_time_us().value() / 1e6, 64 * 1024, 1);
  EXPECT_NEAR(estimate.mfu_ratio() * estimate.peak_flops_per_second(), estimate.flops_per_second_per_gpu(), 1e6);
}

// A variable that the script does not set may be set by a file that it sources and that nobody sent.
TEST(LaunchWords, AVariableMayBeSetInAFileThatIsNotHere) {
  const auto severity = [](const std::string& before) {
    v1::ValidateConfigRequest request =
        FileOf("megatron-lm", "pretrain.sh",
               absl::StrCat(before,
                            "\ntorchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --hidden-size 1024 "
                            "--num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 "
                            "--micro-batch-size 1 --global-batch-size 64 --vocab-size 32000 --bf16 "
                            "--tensor-model-parallel-size 2 --mock-data --train-iters 9 --lr 1e-4 "
                            "--tokenizer-type NullTokenizer\n"));
    request.mutable_hardware()->set_gpu("h100");
    request.mutable_software()->set_te_version("2.9");
    const v1::ValidateConfigResponse answer = Validated(request);
    for (const v1::Finding& finding : answer.findings()) {
      if (finding.rule_id() == "mlm.cdmc-must-be-1") return finding.severity();
    }
    return v1::SEVERITY_UNSPECIFIED;
  };
  EXPECT_EQ(severity(""), v1::SEVERITY_ERROR);
  EXPECT_EQ(severity("source ./env.sh"), v1::SEVERITY_WARNING);
  EXPECT_EQ(severity("source ~/conda/bin/activate megatron"), v1::SEVERITY_ERROR);
  EXPECT_EQ(severity("source ./env.sh; export CUDA_DEVICE_MAX_CONNECTIONS=8"), v1::SEVERITY_ERROR);
}

std::set<std::string> MissingIn(const v1::ValidateConfigResponse& response) {
  std::set<std::string> ids;
  for (const v1::Finding& finding : response.findings()) {
    if (absl::StartsWith(finding.rule_id(), "start.")) ids.insert(finding.rule_id());
  }
  return ids;
}

TEST(LaunchWords, ALaunchWithoutWhatItStartsFromWillNotRun) {
  using Ids = std::set<std::string>;
  const v1::ValidateConfigResponse bare = JudgedLaunch("--mock-data");
  EXPECT_TRUE(bare.accepted_by_stack());
  EXPECT_FALSE(bare.will_run());
  EXPECT_EQ(MissingIn(bare), Ids({"start.train-length", "start.learning-rate", "start.tokenizer"}));
  constexpr char kWhole[] = "--mock-data --train-samples 1000 --lr 1e-4 --tokenizer-type NullTokenizer ";
  EXPECT_TRUE(JudgedLaunch(kWhole).will_run());
  const v1::ValidateConfigResponse default_tokenizer =
      JudgedLaunch("--train-iters 10 --lr 1e-4 --data-path /data/corpus");
  EXPECT_EQ(MissingIn(default_tokenizer), Ids({"start.tokenizer"}));
  EXPECT_TRUE(default_tokenizer.will_run());
  const v1::ValidateConfigResponse no_data = JudgedLaunch("--train-iters 10 --lr 1e-4 --tokenizer-type NullTokenizer");
  EXPECT_EQ(MissingIn(no_data), Ids({"start.data"}));
  constexpr char kHuggingFace[] = "--mock-data --train-iters 10 --lr 1e-4 --tokenizer-type HuggingFaceTokenizer ";
  const v1::ValidateConfigResponse no_model = JudgedLaunch(kHuggingFace);
  EXPECT_EQ(MissingIn(no_model), Ids({"start.tokenizer-model"}));
  EXPECT_FALSE(no_model.will_run());
  for (const char* const model : {"--tokenizer-model Qwen/Qwen3-8B", "--tokenizer-model $HF_MODEL"}) {
    EXPECT_EQ(MissingIn(JudgedLaunch(std::string(kHuggingFace) + model)), Ids()) << model;
  }
}

// A word that cannot be read is one fault; who shortens a choice is told the one that it is short for.
TEST(LaunchWords, WhatIsWrittenWrongIsNotMissing) {
  const v1::ValidateConfigResponse answer =
      JudgedLaunch("--mock-data --train-iters ten --lr abc --tokenizer-type HFTokenizer --cuda-graph-impl te");
  EXPECT_TRUE(MissingIn(answer).empty());
  std::set<std::string> offered;
  int refused = 0;
  for (const v1::Finding& finding : answer.findings()) {
    if (finding.rule_id() == "mlm.argparse") ++refused;
    for (const v1::Fix& fix : finding.fixes()) {
      for (const v1::KnobSetting& knob : fix.knobs()) offered.insert(knob.value().string_value());
    }
  }
  EXPECT_EQ(refused, 4);
  EXPECT_EQ(offered, (std::set<std::string>{"HuggingFaceTokenizer", "transformer_engine"}));
}

TEST(LaunchWords, WhatAVariableMayHoldIsNotMissing) {
  using Ids = std::set<std::string>;
  EXPECT_EQ(MissingIn(JudgedLaunch("--lr $LR --tokenizer-type ${TOKENIZER:?which} --train-iters $N --data-path $DATA")),
            Ids());
  EXPECT_EQ(MissingIn(JudgedLaunch("$TRAINING_ARGS")), Ids());
  EXPECT_EQ(MissingIn(JudgedLaunch("--use-checkpoint-args --load /checkpoints")), Ids());
  EXPECT_EQ(MissingIn(JudgedLaunch("--skip-train")), Ids());
}

TEST(LaunchWords, JudgesWhichCpusTheLauncherGivesTheRanks) {
  const auto said = [](const std::string& launcher, const std::string& gpu, const std::string& torch) {
    v1::ValidateConfigRequest request;
    request.mutable_target()->set_framework("megatron-lm");
    if (!torch.empty()) request.mutable_software()->set_torch_version(torch);
    request.mutable_hardware()->set_gpu(gpu);
    request.mutable_file()->set_name("pretrain.sh");
    request.mutable_file()->set_text(
        absl::StrCat(launcher, " pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 ",
                     "--seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --bf16\n"));
    const v1::ValidateConfigResponse response = Validated(request);
    std::set<std::string> ids;
    for (const v1::Finding& finding : response.findings()) {
      const bool assumed = finding.severity() == v1::SEVERITY_INFO;
      if (absl::StartsWith(finding.rule_id(), "launch."))
        ids.insert(absl::StrCat(assumed ? "assumed: " : "", finding.rule_id()));
    }
    return ids;
  };
  using Ids = std::set<std::string>;
  const std::string torchrun = "torchrun --nproc-per-node 8 ",
                    by_rank = "srun -n 8 numactl --cpunodebind=$((SLURM_LOCALID";
  EXPECT_EQ(said(torchrun + "--numa-binding node", "h100", ""), Ids({"assumed: launch.numa-binding"}));
  EXPECT_EQ(said(torchrun + "--numa-binding node", "h100", "2.9.0"), Ids());
  EXPECT_EQ(said(torchrun + "--numa-binding node", "h100", "2.8.0"), Ids({"launch.numa-binding"}));
  EXPECT_EQ(said(torchrun + "--numa-binding nodes", "h100", ""), Ids({"launch.numa-binding"}));
  EXPECT_EQ(said("numactl --cpunodebind=0 " + torchrun, "h100", ""), Ids({"launch.numactl-around-torchrun"}));
  EXPECT_EQ(said(by_rank + "/4)) python", "h100", ""), Ids());
  EXPECT_EQ(said(by_rank + "/2)) python", "gb200-nvl72", ""), Ids());
  EXPECT_EQ(said(by_rank + "/4)) python", "gb200-nvl72", ""), Ids({"launch.numactl-one-node"}));
}

TEST(LaunchWords, JudgesNothingByAValueThatOnlyARunWouldKnow) {
  v1::ValidateConfigRequest request = FileOf(
      "megatron-lm", "pretrain.sh",
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $L --hidden-size=$H --num-attention-heads $A \\\n"
      "  --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size $M --global-batch-size 64 --bf16\n");
  const v1::ValidateConfigResponse response = Validated(request);
  EXPECT_EQ(Errors(response.findings()), std::set<std::string>());
  EXPECT_TRUE(response.accepted_by_stack());
  ASSERT_NE(response.not_judged_size(), 0);
  const std::string& told = response.not_judged(response.not_judged_size() - 1);
  EXPECT_NE(told.find("hidden_size, micro_batch_size, num_attention_heads, num_layers"), std::string::npos) << told;

  for (const char* known : {"L", "H", "A"}) (*request.mutable_env())[known] = "16";
  (*request.mutable_env())["M"] = "3";
  const v1::ValidateConfigResponse judged = Validated(request);
  EXPECT_EQ(Errors(judged.findings()).count("mlm.gbs-divisible"), 1u);
}

// $EXTRA may say any of the sizes once more: what rests on them is neither passed nor refused.
TEST(LaunchWords, WordsThatARunMayAddAreSaid) {
  const v1::ValidateConfigResponse response = Validated(FileOf(
      "megatron-lm", "pretrain.sh",
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 16 --hidden-size 1024 --num-attention-heads 16 --bf16 "
      "\\\n"
      "  --seq-length 4096 --max-position-embeddings 4096 --global-batch-size 64 --micro-batch-size 3 $EXTRA\n"));
  EXPECT_TRUE(Errors(response.findings()).empty());
  EXPECT_EQ(response.completeness(), v1::COMPLETENESS_PARTIAL);
  const auto& aside = response.set_aside_rules();
  EXPECT_EQ(std::count(aside.begin(), aside.end(), "mlm.gbs-divisible"), 1);
}

// An override that names no section stops the program whatever recipe the variable says.
TEST(LaunchWords, AnOverrideStandsBesideWhatCannotBeRead) {
  const v1::ValidateConfigResponse judged =
      Validated(FileOf("megatron-bridge", "run.sh",
                       "torchrun --nproc-per-node 8 scripts/training/run_recipe.py --recipe \"${RECIPE}\" "
                       "model.pipeline_model_parallel_size=4 virtual_pipeline_model_parallel_size=2\n"));
  const v1::Finding* const bare = FindFinding(judged.findings(), "bridge-override.unreadable");
  ASSERT_NE(bare, nullptr);
  EXPECT_EQ(bare->severity(), v1::SEVERITY_ERROR);
}

// Of a launch that shows the whole model, though a file of the stack's own is not there.
TEST(LaunchWords, WhatAStacksOwnProgramShowsIsJudged) {
  for (const char* target : {"primus", "flagscale", "roll"}) {
    v1::ResolveConfigRequest question = Training("qwen3-30b-a3b", "h100-sxm", 16, 4096, 128);
    question.mutable_target()->set_framework(target);
    SetSizes({.tp = 1, .pp = 1, .ep = 16}, &question);
    v1::ValidateConfigRequest script = ScriptOf(question, Resolved(question));
    (*script.mutable_env())["MODEL_NAME"] = "Qwen/Qwen3-30B-A3B";  // what a launch of ROLL takes the sizes from
    const v1::ValidateConfigResponse response = Validated(script);
    EXPECT_EQ(response.target(), absl::StrCat(target, " main"));
    EXPECT_TRUE(response.accepted_by_stack());
    for (const std::string& aside : response.set_aside_rules()) {
      EXPECT_TRUE(absl::StartsWith(aside, "fit.")) << target << ": " << aside;
    }
  }
}

// slime's program is another one.
TEST(LaunchWords, AStrayFlagOfAForkIsAnErrorOfTheStackThatIsJudged) {
  const v1::ValidateConfigResponse judged = Validated(
      FileOf("megatron-lm", "run.sh",
             "torchrun --nproc-per-node 8 pretrain_gpt.py --colocate --num-layers 4 --hidden-size 1024 "
             "--num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 "
             "--global-batch-size 64 --tensor-model-parallel-size 3 --lr 1e-4 --train-iters 10 --mock-data\n"));
  EXPECT_TRUE(Errors(judged.findings()).contains("mlm.argparse"));
  EXPECT_TRUE(Errors(judged.findings()).contains("mlm.world-divisible"));
}

// slime's engine is on the trainer's GPUs only where it is told to be.
TEST(LaunchWords, AnEngineApartTakesTheAllocatorsSegments) {
  const auto warned = [](absl::string_view words) {
    const v1::ValidateConfigResponse response = Validated(FileOf(
        "slime", "run.sh",
        absl::StrCat("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\npython3 train.py --actor-num-nodes 1 "
                     "--actor-num-gpus-per-node 8 --num-rollout 10 --rollout-batch-size 32 --n-samples-per-prompt 8 "
                     "--global-batch-size 256 --num-layers 4 --hidden-size 1024 --num-attention-heads 16 ",
                     words, "\n")));
    return testing::FindFinding(response.findings(), "field.expandable-segments-beside-rollouts") != nullptr;
  };
  EXPECT_TRUE(warned("--colocate"));
  EXPECT_FALSE(warned("--rollout-num-gpus 8"));
}

}  // namespace
}  // namespace flightplan
