#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/work.h"
#include "resolver/normalize/canonical_bytes.h"
#include "resolver/resolver.h"
#include "resolver/shell/reader.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::DeepSeekOnH100;
using testing::Errors;
using testing::TestResolver;
using testing::ViolatedFields;

TEST(ValidateConfig, ReadsItsOwnCommandLine) {
  v1::ResolveConfigResponse plan;
  ASSERT_TRUE(TestResolver().ResolveConfig(DeepSeekOnH100(), &plan).ok());
  v1::ValidateConfigRequest request;
  *request.mutable_target() = DeepSeekOnH100().target();
  *request.mutable_hardware() = DeepSeekOnH100().hardware();
  for (const std::string& arg : plan.launches(0).argv()) request.mutable_arguments()->add_values(arg);
  for (const auto& [name, value] : plan.launches(0).env()) (*request.mutable_env())[name] = value;
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_EQ(Errors(response.findings()), std::set<std::string>());
  EXPECT_TRUE(response.accepted_by_stack());
  EXPECT_TRUE(response.will_run());
}

int IndexOf(const v1::ValidateConfigRequest& request, const std::string& word) {
  const auto& values = request.arguments().values();
  return static_cast<int>(std::find(values.begin(), values.end(), word) - values.begin());
}

// Warnings have their fixes, and what those change, in the full view alone.
void DropAdvice(google::protobuf::RepeatedPtrField<v1::Finding>* findings) {
  for (v1::Finding& finding : *findings) {
    if (finding.severity() == v1::SEVERITY_ERROR) continue;
    finding.clear_fixes();
    finding.mutable_needs()->resize(std::min(finding.needs().size(), finding.needs().find("; with the fix:")));
  }
}

TEST(ValidateConfig, AViewShowsAPartOfTheSameAnswer) {
  v1::ResolveConfigResponse plan;
  ASSERT_TRUE(TestResolver().ResolveConfig(DeepSeekOnH100(), &plan).ok());
  v1::ValidateConfigRequest request;
  *request.mutable_target() = DeepSeekOnH100().target();
  *request.mutable_hardware() = DeepSeekOnH100().hardware();
  for (const std::string& arg : plan.launches(0).argv()) request.mutable_arguments()->add_values(arg);
  request.set_repair(true);
  for (const bool broken : {false, true}) {
    if (broken) request.mutable_arguments()->add_values("--tensor-model-parallel-size=3");
    request.clear_view();
    v1::ValidateConfigResponse expected;
    ASSERT_TRUE(TestResolver().ValidateConfig(request, &expected).ok());
    EXPECT_TRUE(broken ? expected.has_repair() : expected.has_estimate());
    for (const v1::AnswerView view : {v1::ANSWER_VIEW_FULL, v1::ANSWER_VIEW_BASIC, v1::ANSWER_VIEW_VERDICT}) {
      if (view != v1::ANSWER_VIEW_FULL) {
        expected.clear_config();
        expected.clear_effective_changes();
        DropAdvice(expected.mutable_findings());
      }
      if (view == v1::ANSWER_VIEW_VERDICT) expected.clear_estimate();
      request.set_view(view);
      v1::ValidateConfigResponse response;
      ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
      EXPECT_EQ(CanonicalBytes(response), CanonicalBytes(expected));
    }
  }
  request.set_view(static_cast<v1::AnswerView>(99));
  v1::ValidateConfigResponse none;
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &none)).count("view"), 1U);
}

TEST(ValidateConfig, PointsAtTheArgument) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.set_world_size(8);
  for (const char* arg : {"--num-layers", "4", "--no-such-flag"}) request.mutable_arguments()->add_values(arg);
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_FALSE(response.accepted_by_stack());
  bool pointed = false;
  for (const v1::Finding& finding : response.findings()) {
    pointed = pointed || (finding.rule_id() == "mlm.argparse" && finding.location().argument_index() == 2);
  }
  EXPECT_TRUE(pointed);
}

TEST(ValidateConfig, ReadsAScriptWithoutRunningIt) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_file()->set_name("pretrain.sh");
  request.mutable_file()->set_text(
      "EP=64\nexport CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py \\\n"
      "  --num-layers 4 \\\n  --expert-model-parallel-size $EP --no-such-flag $(touch /tmp/never)\n");
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_FALSE(response.accepted_by_stack());
  bool pointed = false;
  for (const v1::Finding& finding : response.findings()) {
    pointed = pointed || (finding.rule_id() == "mlm.argparse" && finding.location().line() == 5 &&
                          finding.location().input() == "pretrain.sh");
  }
  EXPECT_TRUE(pointed);
}

// A launch that shows all of itself, with the words given at its end.
v1::ValidateConfigResponse JudgedLaunch(const std::string& words) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_hardware()->set_gpu("h100");
  request.mutable_file()->set_name("pretrain.sh");
  request.mutable_file()->set_text(
      absl::StrCat("export CUDA_DEVICE_MAX_CONNECTIONS=1\ntorchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 "
                   "--hidden-size 1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 "
                   "--micro-batch-size 1 --global-batch-size 64 --vocab-size 32000 --bf16 ",
                   words, "\n"));
  v1::ValidateConfigResponse response;
  EXPECT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  return response;
}

TEST(ValidateConfig, AMemoryFixSaysWhatItCostsTheStep) {
  const auto change = [](const std::string& gpu) {
    v1::ValidateConfigRequest request;
    request.mutable_target()->set_framework("megatron-lm");
    request.mutable_hardware()->set_gpu(gpu);
    request.mutable_hardware()->mutable_fabric()->set_hbm_bytes(int64_t{80} << 30);
    request.mutable_file()->set_name("pretrain.sh");
    request.mutable_file()->set_text(
        "CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 48 --hidden-size 4096 "
        "--num-attention-heads 64 --seq-length 16384 --max-position-embeddings 16384 --micro-batch-size 2 "
        "--global-batch-size 64 --vocab-size 32000 --bf16 --tensor-model-parallel-size 8 --use-distributed-optimizer "
        "--attention-backend flash\n");
    v1::ValidateConfigResponse answer;
    EXPECT_TRUE(TestResolver().ValidateConfig(request, &answer).ok());
    for (const v1::Finding& finding : answer.findings()) {
      if (finding.rule_id() == "fit.memory") return finding.needs().substr(finding.needs().find("; with the fix:"));
    }
    return std::string();
  };
  EXPECT_TRUE(absl::StartsWith(change("h100"), "; with the fix: step +")) << change("h100");
  EXPECT_TRUE(absl::EndsWith(change("vr200-nvl"), "GiB, the step's change is not known")) << change("vr200-nvl");
}

// Notes about the script's words stand before its faults in the text, not in the answer.
TEST(ValidateConfig, SaysTheWorstFirst) {
  const v1::ValidateConfigResponse answer =
      JudgedLaunch("--save $HERE --data-path $1 --num-experts 8 --tensor-model-parallel-size 3 --num-layers 5");
  EXPECT_GT(answer.findings_size(), 2);
  EXPECT_TRUE(std::is_sorted(answer.findings().begin(), answer.findings().end(),
                             [](const v1::Finding& a, const v1::Finding& b) { return a.severity() < b.severity(); }));
}

// A list of one for its member is nothing that a person would see.
TEST(ValidateConfig, AChangeOfATypeAloneIsNoChange) {
  const v1::ValidateConfigResponse answer =
      JudgedLaunch("--num-experts 8 --moe-router-load-balancing-type aux_loss --sequence-parallel");
  std::set<std::string> changed;
  for (const v1::EffectiveChange& change : answer.effective_changes()) changed.insert(change.name());
  EXPECT_EQ(changed.count("sequence_parallel"), 1U);
  EXPECT_EQ(changed.count("moe_router_load_balancing_type"), 0U);
}

TEST(ValidateConfig, JudgesWhichCpusTheLauncherGivesTheRanks) {
  const auto said = [](const std::string& launcher, const std::string& gpu, const std::string& torch) {
    v1::ValidateConfigRequest request;
    request.mutable_target()->set_framework("megatron-lm");
    if (!torch.empty()) request.mutable_software()->set_torch_version(torch);
    request.mutable_hardware()->set_gpu(gpu);
    request.mutable_file()->set_name("pretrain.sh");
    request.mutable_file()->set_text(
        absl::StrCat(launcher, " pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 ",
                     "--seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --bf16\n"));
    v1::ValidateConfigResponse response;
    EXPECT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
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

std::set<std::string> MissingIn(const v1::ValidateConfigResponse& response) {
  std::set<std::string> ids;
  for (const v1::Finding& finding : response.findings()) {
    if (absl::StartsWith(finding.rule_id(), "start.")) ids.insert(finding.rule_id());
  }
  return ids;
}

TEST(ValidateConfig, ALaunchWithoutWhatItStartsFromWillNotRun) {
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
}

TEST(ValidateConfig, WhatAVariableMayHoldIsNotMissing) {
  using Ids = std::set<std::string>;
  EXPECT_EQ(MissingIn(JudgedLaunch("--lr $LR --tokenizer-type ${TOKENIZER:?which} --train-iters $N --data-path $DATA")),
            Ids());
  EXPECT_EQ(MissingIn(JudgedLaunch("$TRAINING_ARGS")), Ids());
  EXPECT_EQ(MissingIn(JudgedLaunch("--use-checkpoint-args --load /checkpoints")), Ids());
  EXPECT_EQ(MissingIn(JudgedLaunch("--skip-train")), Ids());
}

TEST(ValidateConfig, ForecastsALaunchThatShowsItsModel) {
  const v1::Estimate& estimate =
      JudgedLaunch("--mock-data --train-samples 1000 --lr 1e-4 --tokenizer-type NullTokenizer").estimate();
  EXPECT_GT(estimate.step_time_us().value(), 0);
  EXPECT_NEAR(estimate.tokens_per_second() * estimate.step_time_us().value() / 1e6, 64 * 1024, 1);
  EXPECT_NEAR(estimate.mfu_ratio() * estimate.peak_flops_per_second(), estimate.flops_per_second_per_gpu(), 1e6);
}

TEST(ValidateConfig, ReadsEveryFormThatPeopleHave) {
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
    v1::ValidateConfigRequest request;
    request.mutable_target()->set_framework(row.target);
    request.mutable_file()->set_name(row.name);
    request.mutable_file()->set_text(row.text);
    v1::ValidateConfigResponse response;
    ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
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

TEST(ValidateConfig, TakesTheCallersWordForTheFormat) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-bridge");
  request.mutable_file()->set_name("notes.txt");
  request.mutable_file()->set_text("  # a\nmodel: {num_layers: 4}\n");
  request.set_input_format("bridge-yaml");
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_EQ(response.input_format(), "bridge-yaml");
  request.set_input_format("megatron-lm-yaml");
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)).count("input_format"), 1U);
  request.mutable_arguments()->add_values("model.num_layers=4");
  request.set_input_format("bridge-yaml");
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)).count("input_format"), 1U);
}

// The GPU is known, the number of them is what the launcher or WORLD_SIZE says.
TEST(ValidateConfig, TakesTheSizeFromTheLaunch) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_file()->set_name("run.sh");
  const auto grid_fails = [&request](const char* text) {
    request.mutable_file()->set_text(text);
    v1::ValidateConfigResponse response;
    EXPECT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
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

// Half a configuration would be judged as another one.
TEST(ValidateConfig, WhatTakesTooMuchWorkToReadIsNotJudged) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-bridge");
  for (int i = 0; i < 1000; ++i) request.mutable_arguments()->add_values(absl::StrCat("model.num_layerz", i, "=4"));
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  const Work work(1 << 16);
  const absl::Status status = TestResolver().ValidateConfig(request, &response);
  EXPECT_EQ(ViolatedFields(status), std::set<std::string>({"config"})) << status;
}

TEST(ValidateConfig, NeedsAConfig) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  v1::ValidateConfigResponse response;
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)).count("config"), 1U);
}

// ---- what validate knows beyond the launch's own words

v1::ValidateConfigRequest LoongForgeLaunch(std::initializer_list<const char*> words) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("loongforge");
  for (const char* word : words) request.mutable_arguments()->add_values(word);
  return request;
}

v1::ValidateConfigResponse OfModelFile(const char* text) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("loongforge");
  request.mutable_file()->set_name("model.yaml");
  request.mutable_file()->set_text(text);
  v1::ValidateConfigResponse answer;
  EXPECT_TRUE(TestResolver().ValidateConfig(request, &answer).ok());
  return answer;
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
  EXPECT_FALSE(Errors(OfModelFile(absl::StrCat(head, "num_layers: many\n").c_str()).findings()).empty());
  const auto odd = OfModelFile(absl::StrCat(head, "num_experts: 6\nexpert_model_parallel_size: 4\n").c_str());
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
                                 more)
                        .c_str())
            .findings());
  };
  EXPECT_TRUE(errors("bias_activation_fusion: False\n").empty());
  EXPECT_EQ(errors("bias_activation_fusion: True\n"), std::set<std::string>{"fusion.bias-act-func"});
  EXPECT_TRUE(errors("bias_activation_fusion: False\nnormalization: Torch_RMSNorm\nbeta_fast: 32.0\n").empty());
}

TEST(LoongForgeModelFile, GivesWayToWhatIsStatedBesideIt) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("loongforge");
  request.mutable_file()->set_name("model.yaml");
  request.mutable_file()->set_text(
      "_target_: loongforge.models.foundation.LLaMAConfig\nhidden_size: 1024\nnum_experts: 6\n"
      "expert_model_parallel_size: 4\n");
  v1::ValidateConfigResponse answer;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &answer).ok());
  EXPECT_FALSE(Errors(answer.findings()).empty());
  v1::KnobSetting* const experts = request.add_stated_knobs();
  experts->set_name("num_moe_experts");
  experts->mutable_value()->set_int_value(8);
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &answer).ok());
  EXPECT_TRUE(Errors(answer.findings()).empty()) << answer.DebugString();
}

const v1::ConfigEntry* EntryOf(const v1::ValidateConfigResponse& response, const std::string& name) {
  for (const v1::ConfigEntry& entry : response.config()) {
    if (entry.name() == name) return &entry;
  }
  return nullptr;
}

TEST(ValidateConfig, TakesTheArchitectureOfANamedModel) {
  const auto request = LoongForgeLaunch({"--model-name", "qwen3-30b-a3b", "--num-layers", "12", "--hidden-size", "2048",
                                         "--micro-batch-size", "1", "--seq-length", "4096"});
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  ASSERT_NE(EntryOf(response, "num_moe_experts"), nullptr);
  EXPECT_EQ(EntryOf(response, "num_moe_experts")->value().int_value(), 128);
  EXPECT_EQ(EntryOf(response, "num_layers")->value().int_value(), 48);
  int overridden = 0;
  for (const v1::Finding& finding : response.findings()) overridden += finding.rule_id() == "lf.yaml-overrides-args";
  EXPECT_EQ(overridden, 1) << "num_layers alone differs";
}

TEST(ValidateConfig, WeighsAFinishedConfiguration) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(8);
  for (const char* word : {"--num-layers",
                           "80",
                           "--hidden-size",
                           "8192",
                           "--ffn-hidden-size",
                           "28672",
                           "--swiglu",
                           "--num-attention-heads",
                           "64",
                           "--group-query-attention",
                           "--num-query-groups",
                           "8",
                           "--seq-length",
                           "8192",
                           "--max-position-embeddings",
                           "8192",
                           "--vocab-size",
                           "128256",
                           "--disable-bias-linear",
                           "--micro-batch-size",
                           "1",
                           "--global-batch-size",
                           "8",
                           "--bf16",
                           "--use-distributed-optimizer"}) {
    request.mutable_arguments()->add_values(word);
  }
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  ASSERT_TRUE(response.has_estimate());
  EXPECT_EQ(response.estimate().fit(), v1::FIT_VERDICT_DOES_NOT_FIT) << "70 billion parameters on 8 GPUs of 80 GiB";
  EXPECT_FALSE(response.will_run());
  EXPECT_EQ(response.memory().fit(), v1::FIT_VERDICT_DOES_NOT_FIT);
  EXPECT_EQ(response.memory().missing_input(), "");
  // Without the vocabulary there is no forecast, but what the rest takes is too much by itself.
  const int vocabulary = IndexOf(request, "--vocab-size");
  request.mutable_arguments()->mutable_values()->DeleteSubrange(vocabulary, 2);
  v1::ValidateConfigResponse least;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &least).ok());
  EXPECT_FALSE(least.has_estimate());
  EXPECT_EQ(least.memory().missing_input(), "vocab_size");
  EXPECT_EQ(least.memory().fit(), v1::FIT_VERDICT_DOES_NOT_FIT);
  EXPECT_GT(least.memory().at_least_bytes(), least.memory().usable_bytes());
  EXPECT_EQ(Errors(least.findings()).count("fit.static-memory"), 1);
  EXPECT_FALSE(least.will_run());
}

// A model of half a billion parameters without its vocabulary.
v1::ValidateConfigRequest SmallWithoutVocabulary() {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(8);
  for (const char* word :
       {"--num-layers", "8", "--hidden-size", "2048", "--num-attention-heads", "16", "--seq-length", "4096",
        "--max-position-embeddings", "4096", "--micro-batch-size", "1", "--global-batch-size", "8", "--bf16"}) {
    request.mutable_arguments()->add_values(word);
  }
  return request;
}

TEST(ValidateConfig, MemoryWithoutAForecastIsUnknownInEveryView) {
  for (const v1::AnswerView view : {v1::ANSWER_VIEW_FULL, v1::ANSWER_VIEW_BASIC, v1::ANSWER_VIEW_VERDICT}) {
    v1::ValidateConfigRequest request = SmallWithoutVocabulary();
    request.set_view(view);
    v1::ValidateConfigResponse response;
    ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
    EXPECT_EQ(response.memory().fit(), v1::FIT_VERDICT_UNKNOWN);
    EXPECT_EQ(response.memory().missing_input(), "vocab_size");
    EXPECT_GT(response.memory().at_least_bytes(), int64_t{1} << 30);
    EXPECT_LT(response.memory().at_least_bytes(), response.memory().usable_bytes());
    EXPECT_TRUE(response.will_run());
  }
}

TEST(ValidateConfig, TakesOffWhatOthersHold) {
  v1::ValidateConfigRequest request = SmallWithoutVocabulary();
  request.mutable_arguments()->add_values("--vocab-size");
  request.mutable_arguments()->add_values("32000");
  v1::ValidateConfigResponse alone;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &alone).ok());
  EXPECT_EQ(alone.memory().fit(), v1::FIT_VERDICT_FITS);
  EXPECT_EQ(alone.memory().reserved_bytes(), 0);

  constexpr int64_t kHeld = int64_t{70} << 30;
  request.mutable_hardware()->set_reserved_bytes(kHeld);
  v1::ValidateConfigResponse beside;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &beside).ok());
  EXPECT_EQ(beside.memory().fit(), v1::FIT_VERDICT_DOES_NOT_FIT);
  EXPECT_EQ(beside.memory().reserved_bytes(), kHeld);
  EXPECT_EQ(beside.estimate().reserved_bytes(), kHeld);
  EXPECT_EQ(beside.estimate().usable_bytes(), alone.estimate().usable_bytes() - kHeld);
  EXPECT_EQ(beside.estimate().stages(0).total_bytes().value(), alone.estimate().stages(0).total_bytes().value());
  EXPECT_TRUE(std::any_of(beside.findings().begin(), beside.findings().end(), [](const v1::Finding& finding) {
    return absl::StrContains(finding.seen(), "others hold 70.0 GiB");
  }));
}

TEST(ValidateConfig, RefusesThatOthersHoldAllMemory) {
  for (const int64_t bytes : {int64_t{-1}, int64_t{1} << 37}) {
    v1::ValidateConfigRequest request = SmallWithoutVocabulary();
    request.mutable_hardware()->set_reserved_bytes(bytes);
    v1::ValidateConfigResponse response;
    EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)),
              std::set<std::string>({"hardware.reserved_bytes"}));
  }
}

TEST(ValidateConfig, WhatIsStatedBesideTheTextIsJudged) {
  v1::ValidateConfigRequest request = SmallWithoutVocabulary();
  v1::KnobSetting* const stated = request.add_stated_knobs();
  stated->set_name("vocab_size");
  stated->mutable_value()->set_int_value(32000);
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_EQ(response.memory().fit(), v1::FIT_VERDICT_FITS);
  EXPECT_TRUE(response.has_estimate());
  const auto entry = std::find_if(response.config().begin(), response.config().end(),
                                  [](const v1::ConfigEntry& e) { return e.name() == "vocab_size"; });
  ASSERT_NE(entry, response.config().end());
  EXPECT_EQ(entry->reason(), "you state it beside the text");
  // It holds over what is written.
  request.mutable_arguments()->add_values("--vocab-size=77");
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_EQ(std::find_if(response.config().begin(), response.config().end(),
                         [](const v1::ConfigEntry& e) { return e.name() == "vocab_size"; })
                ->value()
                .int_value(),
            32000);
}

// Its loss is its own, so what we say of memory is a warning there.
TEST(ValidateConfig, ARepairTakesTheMemoryFixThatAWarningOffers) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("ms-swift");
  request.mutable_hardware()->set_gpu("h100");
  request.mutable_hardware()->set_gpu_count(8);
  request.mutable_file()->set_name("sft.sh");
  request.mutable_file()->set_text(
      "export CUDA_DEVICE_MAX_CONNECTIONS=1\nNPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-30B-A3B --tuner_type "
      "lora "
      "--lora_rank 8 --target_modules all-linear --tensor_model_parallel_size 2 --expert_model_parallel_size 2 "
      "--sequence_parallel true --micro_batch_size 4 --global_batch_size 64 --max_length 16384 --packing true "
      "--dataset corpus --recompute_granularity selective --bf16 true\n");
  request.set_repair(true);
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_TRUE(response.will_run());
  const auto memory = std::find_if(response.findings().begin(), response.findings().end(),
                                   [](const v1::Finding& finding) { return finding.rule_id() == "fit.memory"; });
  ASSERT_NE(memory, response.findings().end());
  ASSERT_GT(memory->fixes_size(), 0);
  // Of core_attn another finding of this answer says that it is of no use.
  EXPECT_EQ(memory->fixes(0).ShortDebugString().find("core_attn"), std::string::npos);
  ASSERT_TRUE(response.has_repair());
  ASSERT_EQ(response.repair().steps_size(), 1);
  EXPECT_EQ(response.repair().steps(0).rule_id(), "fit.memory");
  EXPECT_NE(response.repair().text(), request.file().text());
  for (const v1::Finding& finding : response.repair().findings()) EXPECT_NE(finding.rule_id(), "fit.memory");
  for (const v1::AnswerView view : {v1::ANSWER_VIEW_BASIC, v1::ANSWER_VIEW_VERDICT}) {
    request.set_view(view);
    v1::ValidateConfigResponse less;
    ASSERT_TRUE(TestResolver().ValidateConfig(request, &less).ok());
    EXPECT_EQ(less.repair().ShortDebugString(), response.repair().ShortDebugString());
  }
}

TEST(ValidateConfig, ARepairLeavesWhatIsStatedToTheCaller) {
  v1::ValidateConfigRequest request = SmallWithoutVocabulary();
  request.set_repair(true);
  v1::KnobSetting* const stated = request.add_stated_knobs();
  stated->set_name("tensor_model_parallel_size");
  stated->mutable_value()->set_int_value(3);
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  ASSERT_TRUE(response.has_repair());
  EXPECT_TRUE(response.repair().will_run()) << response.repair().ShortDebugString();
  ASSERT_EQ(response.repair().unwritten().knobs_size(), 1);
  EXPECT_EQ(response.repair().unwritten().knobs(0).name(), "tensor_model_parallel_size");
  EXPECT_EQ(std::count(response.repair().arguments().begin(), response.repair().arguments().end(),
                       "--tensor-model-parallel-size"),
            0);
}

TEST(ValidateConfig, StatedKnobsAreCheckedAsPinsAre) {
  v1::ValidateConfigRequest request = SmallWithoutVocabulary();
  request.add_stated_knobs()->set_name("vocab_sise");
  v1::KnobSetting* const wrong = request.add_stated_knobs();
  wrong->set_name("num_layers");
  wrong->mutable_value()->set_string_value("many");
  v1::ValidateConfigResponse response;
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)),
            (std::set<std::string>{"stated_knobs[0].name", "stated_knobs[1].value"}));
  request.clear_stated_knobs();
  request.add_stated_knobs()->set_name("vocab_size");
  request.mutable_knobs();
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)), (std::set<std::string>{"stated_knobs"}));
}

TEST(ValidateConfig, MemoryIsNotForecastByASizeThatCannotBeRead) {
  v1::ValidateConfigRequest request = SmallWithoutVocabulary();
  std::string script = "torchrun --nproc-per-node 8 pretrain_gpt.py --vocab-size 32000";
  for (const std::string& word : request.arguments().values()) absl::StrAppend(&script, " ", word);
  request.mutable_file()->set_name("pretrain.sh");
  request.mutable_file()->set_text(script + " --seq-length $SEQ --max-position-embeddings 1000000\n");
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_FALSE(response.has_estimate());
  EXPECT_EQ(response.memory().fit(), v1::FIT_VERDICT_UNKNOWN);
  EXPECT_EQ(response.memory().missing_input(), "seq_length");
  EXPECT_GT(response.memory().at_least_bytes(), 0) << "parameters do not hang on the sequence";
}

std::set<std::string> KnobsOf(const v1::Fix& fix) {
  std::set<std::string> names;
  for (const v1::KnobSetting& setting : fix.knobs()) names.insert(setting.name());
  return names;
}

TEST(ValidateConfig, LayersThatDoNotDivideKeepTheirPipeline) {
  const std::pair<const char*, std::set<std::string>> rows[] = {
      {"--num-layers=26", {"pipeline_model_parallel_layout"}},
      {"--num-layers=31", {"account_for_loss_in_pipeline_split"}},
      {"--num-layers=30", {"account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"}}};
  for (const auto& [layers, knobs] : rows) {
    v1::ValidateConfigRequest request = SmallWithoutVocabulary();
    request.set_repair(true);
    request.mutable_arguments()->add_values(layers);
    request.mutable_arguments()->add_values("--pipeline-model-parallel-size=8");
    v1::ValidateConfigResponse response;
    ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
    EXPECT_EQ(Errors(response.findings()).size(), 1u) << "one fault, one finding";
    ASSERT_TRUE(response.has_repair());
    EXPECT_TRUE(response.repair().will_run()) << response.repair().ShortDebugString();
    ASSERT_EQ(response.repair().steps_size(), 1) << layers;
    EXPECT_EQ(KnobsOf(response.repair().steps(0).fix()), knobs) << layers;
  }
}

TEST(ValidateConfig, BridgesTrainingBatchIsAFaultOfItsOwn) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-bridge");
  request.set_world_size(8);
  request.set_repair(true);
  for (const char* word :
       {"model.num_layers=8", "model.hidden_size=2048", "model.num_attention_heads=16", "train.micro_batch_size=1",
        "train.global_batch_size=100", "validation.eval_global_batch_size=96"}) {
    request.mutable_arguments()->add_values(word);
  }
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_TRUE(response.accepted_by_stack());
  EXPECT_FALSE(response.will_run());
  EXPECT_EQ(Errors(response.findings()), (std::set<std::string>{"batch.gbs-divisible"}));
  // Where validation follows the training batch it is one finding, too, and its fix is of the training batch.
  request.mutable_arguments()->mutable_values()->RemoveLast();
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_EQ(Errors(response.findings()), (std::set<std::string>{"batch.eval-gbs-divisible"}));
  for (const v1::Finding& finding : response.findings()) {
    if (finding.rule_id() != "batch.eval-gbs-divisible") continue;
    ASSERT_EQ(finding.fixes_size(), 1);
    EXPECT_EQ(KnobsOf(finding.fixes(0)), (std::set<std::string>{"global_batch_size"}));
    EXPECT_TRUE(absl::StrContains(finding.seen(), "training: 100 is no multiple of 8")) << finding.seen();
  }
}

// Where the layers do not divide, dropping the layout would be no fix.
TEST(ValidateConfig, ALayoutWithTheWrongNumberOfLayersKeepsItsStages) {
  const auto fix_of = [](const char* layout, const char* layers) {
    v1::ValidateConfigRequest request = SmallWithoutVocabulary();
    for (const std::string& word :
         {absl::StrCat("--num-layers=", layers), std::string("--pipeline-model-parallel-size=4"),
          absl::StrCat("--pipeline-model-parallel-layout=", layout)}) {
      request.mutable_arguments()->add_values(word);
    }
    v1::ValidateConfigResponse response;
    EXPECT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
    for (const v1::Finding& finding : response.findings()) {
      if (finding.rule_id() != "pp-layout.decoder-count" || finding.fixes().empty()) continue;
      return finding.fixes(0).knobs(0).value().string_value();
    }
    return std::string();
  };
  EXPECT_EQ(fix_of("Ett|tt|tt|tL", "13"), "Ettt|tttt|tttt|ttL");
  EXPECT_EQ(fix_of("Ettt|ttt|ttt|tttL", "9"), "Et|ttt|ttt|ttL");
  EXPECT_EQ(fix_of("Et|t|t|L", "4"), "Et|tt|t|L");
}

TEST(ValidateConfig, AGpuThatIsNotKnownLeavesTheRulesJudged) {
  v1::ValidateConfigRequest request = SmallWithoutVocabulary();
  request.mutable_hardware()->set_gpu("h1000");
  request.mutable_arguments()->add_values("--tensor-model-parallel-size=3");
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_EQ(Errors(response.findings()).count("mlm.world-divisible"), 1);
  EXPECT_EQ(response.memory().fit(), v1::FIT_VERDICT_UNKNOWN);
  EXPECT_EQ(response.memory().missing_input(), "hardware.gpu");
  const auto told =
      std::find_if(response.not_judged().begin(), response.not_judged().end(), [](const std::string& what) {
        return absl::StrContains(what, "no GPU named 'h1000'") && absl::StrContains(what, "h100");
      });
  EXPECT_NE(told, response.not_judged().end());
}

TEST(ValidateConfig, JudgesNothingByAValueThatOnlyARunWouldKnow) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_file()->set_name("pretrain.sh");
  request.mutable_file()->set_text(
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers $L --hidden-size=$H --num-attention-heads $A \\\n"
      "  --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size $M --global-batch-size 64 --bf16\n");
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_EQ(Errors(response.findings()), std::set<std::string>());
  EXPECT_TRUE(response.accepted_by_stack());
  ASSERT_NE(response.not_judged_size(), 0);
  const std::string& told = response.not_judged(response.not_judged_size() - 1);
  EXPECT_NE(told.find("hidden_size, micro_batch_size, num_attention_heads, num_layers"), std::string::npos) << told;

  for (const char* known : {"L", "H", "A"}) (*request.mutable_env())[known] = "16";
  (*request.mutable_env())["M"] = "3";
  v1::ValidateConfigResponse judged;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &judged).ok());
  EXPECT_EQ(Errors(judged.findings()).count("mlm.gbs-divisible"), 1u);
}

// $EXTRA may say any of the sizes once more: what rests on them is neither passed nor refused.
TEST(ValidateConfig, WordsThatARunMayAddAreSaid) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_file()->set_name("pretrain.sh");
  request.mutable_file()->set_text(
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 16 --hidden-size 1024 --num-attention-heads 16 --bf16 "
      "\\\n"
      "  --seq-length 4096 --max-position-embeddings 4096 --global-batch-size 64 --micro-batch-size 3 $EXTRA\n");
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_TRUE(Errors(response.findings()).empty());
  EXPECT_EQ(response.completeness(), v1::COMPLETENESS_PARTIAL);
  const auto& aside = response.set_aside_rules();
  EXPECT_EQ(std::count(aside.begin(), aside.end(), "mlm.gbs-divisible"), 1);
}

TEST(ValidateConfig, SaysOfAScriptWithoutALaunchOnlyThat) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_file()->set_name("run.sh");
  request.mutable_file()->set_text("PP=8 VPP=4 bash sbatch_benchmarking.sh --mtp-num-layers 1\n");
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_TRUE(response.findings().empty());
  EXPECT_EQ(response.completeness(), v1::COMPLETENESS_NONE);
  EXPECT_FALSE(response.not_judged().empty());
}

// The stack takes any number of layers; weighing that many once took all memory.
TEST(ValidateConfig, AModelLargerThanAnyIsNotWeighed) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(16);
  for (const char* word :
       {"--num-layers", "400000000", "--hidden-size", "1024", "--num-attention-heads", "16", "--seq-length", "4096",
        "--max-position-embeddings", "4096", "--micro-batch-size", "1", "--vocab-size", "1000000"}) {
    request.mutable_arguments()->add_values(word);
  }
  v1::ValidateConfigResponse response;
  const absl::Status status = TestResolver().ValidateConfig(request, &response);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_FALSE(response.has_estimate());
  EXPECT_TRUE(std::any_of(response.not_judged().begin(), response.not_judged().end(), [](const std::string& what) {
    return what == "memory: num_layers is 400000000: models up to 10000 are weighed";
  }));
}

// Its repair once read the script twice more, each time up to the same bound.
TEST(ValidateConfig, DoesNotRepairAScriptThatTookTooMuchWorkToRead) {
  std::string script = "x=aaaaaaaa\n";
  for (int i = 0; i < 14; ++i) absl::StrAppend(&script, "x=$x$x\n");
  absl::StrAppend(&script, "for ((i=0;i<200;i++)); do for ((j=0;j<200;j++)); do y=${x:0:1}; done; done\n");
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_file()->set_text(absl::StrCat(script, "torchrun pretrain_gpt.py --num-layers 4\n"));
  request.set_repair(true);
  const Work work(4 * kMaxScriptWork);
  v1::ValidateConfigResponse response;
  ASSERT_TRUE(TestResolver().ValidateConfig(request, &response).ok());
  EXPECT_EQ(Errors(response.findings()), std::set<std::string>({"input.limit"}));
  EXPECT_EQ(response.repair().text(), request.file().text());
  EXPECT_LT(work.used(), kMaxScriptWork + kMaxScriptWork / 4);
}

}  // namespace
}  // namespace flightplan
