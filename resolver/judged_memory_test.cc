#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::Errors;
using testing::FileOf;
using testing::FindFinding;
using testing::SmallWithoutVocabulary;
using testing::TestResolver;
using testing::Validated;
using testing::ViolatedFields;
using testing::WordsOf;

int IndexOf(const v1::ValidateConfigRequest& request, const std::string& word) {
  const auto& values = request.arguments().values();
  return static_cast<int>(std::find(values.begin(), values.end(), word) - values.begin());
}

TEST(JudgedMemory, WeighsAFinishedConfiguration) {
  v1::ValidateConfigRequest request =
      WordsOf("megatron-lm",
              "--num-layers 80 --hidden-size 8192 --ffn-hidden-size 28672 --swiglu --num-attention-heads 64 "
              "--group-query-attention --num-query-groups 8 --seq-length 8192 --max-position-embeddings 8192 "
              "--vocab-size 128256 --disable-bias-linear --micro-batch-size 1 --global-batch-size 8 --bf16 "
              "--use-distributed-optimizer");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(8);
  const v1::ValidateConfigResponse response = Validated(request);
  ASSERT_TRUE(response.has_estimate());
  EXPECT_EQ(response.estimate().fit(), v1::FIT_VERDICT_DOES_NOT_FIT) << "70 billion parameters on 8 GPUs of 80 GiB";
  EXPECT_FALSE(response.will_run());
  EXPECT_EQ(response.memory().fit(), v1::FIT_VERDICT_DOES_NOT_FIT);
  EXPECT_EQ(response.memory().missing_input(), "");
  // Without the vocabulary there is no forecast, but what the rest takes is too much by itself.
  const int vocabulary = IndexOf(request, "--vocab-size");
  request.mutable_arguments()->mutable_values()->DeleteSubrange(vocabulary, 2);
  const v1::ValidateConfigResponse least = Validated(request);
  EXPECT_FALSE(least.has_estimate());
  EXPECT_EQ(least.memory().missing_input(), "vocab_size");
  EXPECT_EQ(least.memory().fit(), v1::FIT_VERDICT_DOES_NOT_FIT);
  EXPECT_GT(least.memory().at_least_bytes(), least.memory().usable_bytes());
  EXPECT_EQ(Errors(least.findings()).count("fit.static-memory"), 1);
  EXPECT_FALSE(least.will_run());
}

// Transformer Engine 2.10 and 2.11 keep Adam's moments whole beside FSDP (field.fsdp-optimizer-unsharded).
TEST(JudgedMemory, CountsTheMomentsAsTheFindingSays) {
  v1::ValidateConfigRequest request =
      WordsOf("megatron-lm",
              "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --swiglu --num-attention-heads 32 "
              "--group-query-attention --num-query-groups 8 --seq-length 4096 --max-position-embeddings 4096 "
              "--vocab-size 128256 --disable-bias-linear --micro-batch-size 1 --global-batch-size 8 --bf16 "
              "--use-distributed-optimizer --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params "
              "--ckpt-format fsdp_dtensor --no-gradient-accumulation-fusion");
  request.mutable_hardware()->set_gpu("h200-sxm");
  request.mutable_hardware()->set_gpu_count(8);
  const auto state = [&](const char* te) {
    request.mutable_software()->set_te_version(te);
    const v1::ValidateConfigResponse response = Validated(request);
    EXPECT_EQ(FindFinding(response.findings(), "field.fsdp-optimizer-unsharded") != nullptr,
              absl::StartsWith(te, "2.1") && !absl::StrContains(te, "2.12"));
    EXPECT_TRUE(response.has_estimate());
    return testing::MostBytes(response);
  };
  EXPECT_EQ(state("2.9.0"), state("2.12.0"));
  EXPECT_GT(state("2.11.0"), state("2.12.0") + 50e9);
}

TEST(JudgedMemory, IsUnknownWithoutAForecastInEveryView) {
  for (const v1::AnswerView view : {v1::ANSWER_VIEW_FULL, v1::ANSWER_VIEW_BASIC, v1::ANSWER_VIEW_VERDICT}) {
    v1::ValidateConfigRequest request = SmallWithoutVocabulary();
    request.set_view(view);
    const v1::ValidateConfigResponse response = Validated(request);
    EXPECT_EQ(response.memory().fit(), v1::FIT_VERDICT_UNKNOWN);
    EXPECT_EQ(response.memory().missing_input(), "vocab_size");
    EXPECT_GT(response.memory().at_least_bytes(), int64_t{1} << 30);
    EXPECT_LT(response.memory().at_least_bytes(), response.memory().usable_bytes());
    EXPECT_TRUE(response.will_run());
  }
}

// What the catalogue has of a model for images is its language model.
TEST(JudgedMemory, SaysThatEncodersAreNotCounted) {
  for (const bool images : {false, true}) {
    v1::ValidateConfigRequest request =
        WordsOf("ms-swift", absl::StrCat("sft --model Qwen/", images ? "Qwen3-VL-30B-A3B-Instruct" : "Qwen3-30B-A3B",
                                         " --dataset d --packing true --max_length 4096 --expert_model_parallel_size 8 "
                                         "--micro_batch_size 1 --global_batch_size 16"));
    request.mutable_hardware()->set_gpu("h200-sxm");
    request.mutable_hardware()->set_gpu_count(8);
    const v1::ValidateConfigResponse response = Validated(request);
    EXPECT_TRUE(response.has_estimate());
    const auto& left = response.not_judged();
    EXPECT_EQ(std::any_of(left.begin(), left.end(),
                          [](const std::string& what) { return absl::StrContains(what, "encoders of images"); }),
              images);
  }
}

TEST(JudgedMemory, TakesOffWhatOthersHold) {
  v1::ValidateConfigRequest request = SmallWithoutVocabulary();
  request.mutable_arguments()->add_values("--vocab-size");
  request.mutable_arguments()->add_values("32000");
  const v1::ValidateConfigResponse alone = Validated(request);
  EXPECT_EQ(alone.memory().fit(), v1::FIT_VERDICT_FITS);
  EXPECT_EQ(alone.memory().reserved_bytes(), 0);

  constexpr int64_t kHeld = int64_t{70} << 30;
  request.mutable_hardware()->set_reserved_bytes(kHeld);
  const v1::ValidateConfigResponse beside = Validated(request);
  EXPECT_EQ(beside.memory().fit(), v1::FIT_VERDICT_DOES_NOT_FIT);
  EXPECT_EQ(beside.memory().reserved_bytes(), kHeld);
  EXPECT_EQ(beside.estimate().reserved_bytes(), kHeld);
  EXPECT_EQ(beside.estimate().usable_bytes(), alone.estimate().usable_bytes() - kHeld);
  EXPECT_EQ(beside.estimate().stages(0).total_bytes().value(), alone.estimate().stages(0).total_bytes().value());
  EXPECT_TRUE(std::any_of(beside.findings().begin(), beside.findings().end(), [](const v1::Finding& finding) {
    return absl::StrContains(finding.seen(), "others hold 70.0 GiB");
  }));
}

// What LoongForge builds by its own files: gated delta nets by the model's family, output weights that the published
// model shares with its embedding.
TEST(JudgedMemory, OfALoongForgeLaunchIsThatOfThePlanItWasWrittenFor) {
  struct Row {
    const char* model;
    int pp, ep;
  };
  // One stage alone shows whether the output weights are its own: of two each holds a copy.
  for (const auto& [model, pp, ep] : {Row{"qwen3.5-27b", 2, 0}, Row{"qwen3-next-80b-a3b", 2, 8},
                                      Row{"qwen3.5-35b-a3b", 2, 8}, Row{"qwen3-0.6b", 1, 0}, Row{"qwen3-4b", 1, 0}}) {
    v1::ResolveConfigRequest question = testing::Training(model, "h100-sxm", 64, 4096, 512);
    question.mutable_target()->set_framework("loongforge");
    testing::SetSizes({.tp = 2, .pp = pp, .ep = ep}, &question);
    const v1::ResolveConfigResponse plan = testing::Resolved(question);
    const v1::ValidateConfigResponse judged = Validated(testing::LaunchOf(question, plan));
    ASSERT_EQ(judged.estimate().stages_size(), pp) << model;
    for (int stage = 0; stage < pp; ++stage) {
      EXPECT_NEAR(judged.estimate().stages(stage).total_bytes().value(),
                  plan.estimate().stages(stage).total_bytes().value(), 1e7)
          << model;
    }
  }
}

// Bridge's recipe of fp16 reduces gradients in 16 bits, and our own launch says no more than its name.
TEST(JudgedMemory, OfOurOwnFp16LaunchIsThatOfItsPlan) {
  v1::ResolveConfigRequest question = testing::Training("qwen3-8b", "h100-sxm", 8, 4096, 64);
  question.mutable_target()->set_framework("megatron-bridge");
  question.mutable_workload()->set_precision("fp16");
  const v1::ResolveConfigResponse plan = testing::Resolved(question);
  const v1::ValidateConfigResponse judged = Validated(testing::LaunchOf(question, plan));
  ASSERT_GT(judged.estimate().stages_size(), 0);
  EXPECT_NEAR(judged.estimate().stages(0).total_bytes().value(), plan.estimate().stages(0).total_bytes().value(), 1e7);
}

TEST(JudgedMemory, RefusesThatOthersHoldAllMemory) {
  for (const int64_t bytes : {int64_t{-1}, int64_t{1} << 37}) {
    v1::ValidateConfigRequest request = SmallWithoutVocabulary();
    request.mutable_hardware()->set_reserved_bytes(bytes);
    v1::ValidateConfigResponse response;
    EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)),
              std::set<std::string>({"hardware.reserved_bytes"}));
  }
}

TEST(JudgedMemory, IsNotForecastByASizeThatCannotBeRead) {
  v1::ValidateConfigRequest request = SmallWithoutVocabulary();
  std::string script = "torchrun --nproc-per-node 8 pretrain_gpt.py --vocab-size 32000";
  for (const std::string& word : request.arguments().values()) absl::StrAppend(&script, " ", word);
  request.mutable_file()->set_name("pretrain.sh");
  request.mutable_file()->set_text(script + " --seq-length $SEQ --max-position-embeddings 1000000\n");
  const v1::ValidateConfigResponse response = Validated(request);
  EXPECT_FALSE(response.has_estimate());
  EXPECT_EQ(response.memory().fit(), v1::FIT_VERDICT_UNKNOWN);
  EXPECT_EQ(response.memory().missing_input(), "seq_length");
  EXPECT_GT(response.memory().at_least_bytes(), 0) << "parameters do not hang on the sequence";
}

// The second path of a list stands behind no flag of its own, and hides none.
TEST(JudgedMemory, IsForecastBesidePathsThatCannotBeRead) {
  v1::ValidateConfigRequest request = SmallWithoutVocabulary();
  std::string script = "torchrun --nproc-per-node 8 pretrain_gpt.py --vocab-size 32000";
  for (const std::string& word : request.arguments().values()) absl::StrAppend(&script, " ", word);
  request.mutable_file()->set_name("pretrain.sh");
  request.mutable_file()->set_text(script + " --data-path 1 ${DATA}/a_document 1 ${DATA}/b_document\n");
  EXPECT_TRUE(Validated(request).has_estimate());
  request.mutable_file()->set_text(script + " --data-path 1 ${DATA} ${MORE}\n");
  EXPECT_FALSE(Validated(request).has_estimate()) << "which may hold any words";
}

// The stack takes any number of layers; weighing that many once took all memory.
TEST(JudgedMemory, AModelLargerThanAnyIsNotWeighed) {
  v1::ValidateConfigRequest request =
      WordsOf("megatron-lm",
              "--num-layers 400000000 --hidden-size 1024 --num-attention-heads 16 --seq-length 4096 "
              "--max-position-embeddings 4096 --micro-batch-size 1 --vocab-size 1000000");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->set_gpu_count(16);
  v1::ValidateConfigResponse response;
  const absl::Status status = TestResolver().ValidateConfig(request, &response);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_FALSE(response.has_estimate());
  EXPECT_TRUE(std::any_of(response.not_judged().begin(), response.not_judged().end(), [](const std::string& what) {
    return what == "memory: num_layers is 400000000: models up to 10000 are weighed";
  }));
}

// Activations that eight GPUs of 80 GiB do not hold.
v1::ValidateConfigRequest LongSequences(const std::string& gpu) {
  v1::ValidateConfigRequest request = FileOf(
      "megatron-lm", "pretrain.sh",
      "CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 48 --hidden-size 4096 "
      "--num-attention-heads 64 --seq-length 16384 --max-position-embeddings 16384 --micro-batch-size 2 "
      "--global-batch-size 64 --vocab-size 32000 --bf16 --tensor-model-parallel-size 8 --use-distributed-optimizer "
      "--attention-backend flash\n");
  request.mutable_hardware()->set_gpu(gpu);
  request.mutable_hardware()->mutable_fabric()->set_hbm_bytes(int64_t{80} << 30);
  return request;
}

// Each of them is what the answer to its own question says.
TEST(JudgedMemory, EachOfSeveralFixesSaysItsOwnChange) {
  const v1::ValidateConfigRequest request = LongSequences("h100");
  const v1::ValidateConfigResponse answer = Validated(request);
  const v1::Finding* const lacks = FindFinding(answer.findings(), "fit.memory");
  ASSERT_NE(lacks, nullptr);
  ASSERT_EQ(lacks->fixes_size(), 2);
  std::set<std::string> said;
  const char* const heads[] = {"; with the first fix: step ", "; with the second: step "};
  for (int i = 0; i < 2; ++i) {
    v1::ValidateConfigRequest fixed = request;
    fixed.mutable_stated_knobs()->MergeFrom(lacks->fixes(i).knobs());
    for (const auto& [name, value] : lacks->fixes(i).env()) (*fixed.mutable_env())[name] = value;
    const double us = Validated(fixed).estimate().step_time_us().value();
    const std::string step = absl::StrFormat("%+.0f %%", 100 * (us / answer.estimate().step_time_us().value() - 1));
    EXPECT_TRUE(absl::StrContains(lacks->needs(), absl::StrCat(heads[i], step, ", "))) << lacks->needs() << step;
    said.insert(step);
  }
  EXPECT_EQ(said.size(), 2U);
}

TEST(JudgedMemory, AMemoryFixSaysWhatItCostsTheStep) {
  const auto change = [](const std::string& gpu) {
    const v1::ValidateConfigResponse answer = Validated(LongSequences(gpu));
    const v1::Finding* const lacks = FindFinding(answer.findings(), "fit.memory");
    return lacks == nullptr ? std::string() : lacks->needs().substr(lacks->needs().find("; with the "));
  };
  EXPECT_TRUE(absl::StartsWith(change("h100"), "; with the first fix: step -")) << change("h100");
  EXPECT_TRUE(absl::EndsWith(change("vr200-nvl"), "GiB, the step's change is not known")) << change("vr200-nvl");
}

}  // namespace
}  // namespace flightplan
