#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "flightplan/v1/timeline.pb.h"
#include "resolver/normalize/canonical_bytes.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::CountOf;
using testing::DeepSeekOnH100;
using testing::DropAdvice;
using testing::Errors;
using testing::FileOf;
using testing::FindEntry;
using testing::FindFinding;
using testing::Resolved;
using testing::SmallWithoutVocabulary;
using testing::TestResolver;
using testing::Validated;
using testing::ViolatedFields;
using testing::WordsOf;

// The launch of the README's plan, without its environment.
v1::ValidateConfigRequest LaunchOf(const v1::ResolveConfigResponse& plan) {
  return testing::LaunchOf(DeepSeekOnH100(), plan, /*exports=*/false);
}

TEST(ValidateConfig, ReadsItsOwnCommandLine) {
  const v1::ResolveConfigResponse plan = Resolved(DeepSeekOnH100());
  ASSERT_EQ(plan.launches_size(), 1);
  const v1::ValidateConfigResponse response = Validated(testing::LaunchOf(DeepSeekOnH100(), plan));
  EXPECT_EQ(Errors(response.findings()), std::set<std::string>());
  EXPECT_TRUE(response.accepted_by_stack());
  EXPECT_TRUE(response.will_run());
}

TEST(ValidateConfig, ForecastsTheLaunchAsTheAnswerThatItIsOf) {
  v1::ResolveConfigRequest question = DeepSeekOnH100();
  for (const char* gpu : {"h100-sxm", "h800-sxm"}) {  // with a recorded profile, and without
    question.mutable_hardware()->set_gpu(gpu);
    const v1::ResolveConfigResponse plan = Resolved(question);
    ASSERT_EQ(plan.launches_size(), 1);
    v1::ValidateConfigRequest request = LaunchOf(plan);
    *request.mutable_hardware() = question.hardware();
    for (const auto& [name, value] : plan.launches(0).env()) (*request.mutable_env())[name] = value;
    const v1::ValidateConfigResponse judged = Validated(request);
    EXPECT_EQ(judged.estimate().step_time_us().value(), plan.estimate().step_time_us().value()) << gpu;
    EXPECT_EQ(judged.estimate().communication(0).exposed_us(), plan.estimate().communication(0).exposed_us()) << gpu;
    EXPECT_EQ(judged.estimate().unmeasured_terms_size(), plan.estimate().unmeasured_terms_size()) << gpu;
    const int recorded = CountOf(plan.findings(), "evidence.recorded-profile");
    EXPECT_EQ(recorded, gpu == absl::string_view("h100-sxm") ? 1 : 0);
    EXPECT_EQ(CountOf(judged.findings(), "evidence.recorded-profile"), recorded);
    v1::DescribeTimelineRequest drawn;
    *drawn.mutable_validate() = request;
    v1::DescribeTimelineResponse timeline;
    ASSERT_TRUE(TestResolver().DescribeTimeline(drawn, &timeline).ok());
    EXPECT_NEAR(timeline.step_time_us() / plan.estimate().step_time_us().value(), 1, 1e-9) << gpu;
  }
}

TEST(ValidateConfig, SaysWhatPartOfACoefficientCounts) {
  v1::ValidateConfigRequest request =
      WordsOf("megatron-lm",
              "--num-layers 8 --hidden-size 2048 --num-attention-heads 16 --seq-length 4096 "
              "--max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 --bf16 --num-experts 8 "
              "--expert-model-parallel-size 4 --tensor-model-parallel-size 2 --sequence-parallel "
              "--calculate-per-token-loss --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-2");
  request.mutable_target()->set_version("0.18");
  const v1::ValidateConfigResponse judged = Validated(request);
  const v1::Finding* const loss = FindFinding(judged.findings(), "field.per-token-aux-loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_TRUE(absl::EndsWith(loss->seen(), ": 1/2 of the coefficient counts")) << loss->seen();
}

TEST(ValidateConfig, TimesTheSlowHostAndTheNetworkThatTheQuestionStates) {
  v1::ResolveConfigRequest question = DeepSeekOnH100();
  const v1::ResolveConfigResponse plan = Resolved(question);
  v1::ValidateConfigRequest request = LaunchOf(plan);
  const double usual = Validated(request).estimate().step_time_us().value();
  request.mutable_hardware()->set_host_cpu_class(v1::HOST_CPU_CLASS_X86_SLOW);
  const double slow = Validated(request).estimate().step_time_us().value();
  EXPECT_GT(slow, usual);
  request.mutable_hardware()->mutable_fabric()->set_transport("efa");
  EXPECT_GT(Validated(request).estimate().step_time_us().value(), slow);
}

TEST(ValidateConfig, AViewShowsAPartOfTheSameAnswer) {
  const v1::ResolveConfigResponse plan = Resolved(DeepSeekOnH100());
  ASSERT_EQ(plan.launches_size(), 1);
  v1::ValidateConfigRequest request = LaunchOf(plan);
  request.set_repair(true);
  for (const bool broken : {false, true}) {
    if (broken) request.mutable_arguments()->add_values("--tensor-model-parallel-size=3");
    request.clear_view();
    v1::ValidateConfigResponse expected = Validated(request);
    EXPECT_TRUE(broken ? expected.has_repair() : expected.has_estimate());
    for (const v1::AnswerView view : {v1::ANSWER_VIEW_FULL, v1::ANSWER_VIEW_BASIC, v1::ANSWER_VIEW_VERDICT}) {
      if (view != v1::ANSWER_VIEW_FULL) {
        expected.clear_config();
        expected.clear_effective_changes();
        expected.clear_env();
        DropAdvice(expected.mutable_findings());
      }
      if (view == v1::ANSWER_VIEW_VERDICT) {
        // The step is not forecast, so nothing is said of what its forecast rests on.
        expected.clear_estimate();
        if (broken) expected.mutable_repair()->clear_estimate();
        auto& findings = *expected.mutable_findings();
        findings.erase(std::remove_if(findings.begin(), findings.end(),
                                      [](const v1::Finding& finding) { return finding.area() == "evidence"; }),
                       findings.end());
      }
      request.set_view(view);
      const v1::ValidateConfigResponse response = Validated(request);
      EXPECT_EQ(CanonicalBytes(response), CanonicalBytes(expected));
    }
  }
  request.set_view(static_cast<v1::AnswerView>(99));
  v1::ValidateConfigResponse none;
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &none)).count("view"), 1U);
}

TEST(ValidateConfig, PointsAtTheArgument) {
  v1::ValidateConfigRequest request = WordsOf("megatron-lm", "--num-layers 4 --no-such-flag");
  request.set_world_size(8);
  const v1::ValidateConfigResponse response = Validated(request);
  EXPECT_FALSE(response.accepted_by_stack());
  bool pointed = false;
  for (const v1::Finding& finding : response.findings()) {
    pointed = pointed || (finding.rule_id() == "mlm.argparse" && finding.location().argument_index() == 2);
  }
  EXPECT_TRUE(pointed);
}

TEST(ValidateConfig, NeedsAConfig) {
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  v1::ValidateConfigResponse response;
  EXPECT_EQ(ViolatedFields(TestResolver().ValidateConfig(request, &response)).count("config"), 1U);
}

TEST(ValidateConfig, TakesTheArchitectureOfANamedModel) {
  const v1::ValidateConfigResponse response = Validated(
      WordsOf("loongforge",
              "--model-name qwen3-30b-a3b --num-layers 12 --hidden-size 2048 --micro-batch-size 1 --seq-length "
              "4096"));
  ASSERT_NE(FindEntry(response.config(), "num_moe_experts"), nullptr);
  EXPECT_EQ(FindEntry(response.config(), "num_moe_experts")->value().int_value(), 128);
  ASSERT_NE(FindEntry(response.config(), "num_layers"), nullptr);
  EXPECT_EQ(FindEntry(response.config(), "num_layers")->value().int_value(), 48);
  EXPECT_EQ(CountOf(response.findings(), "lf.yaml-overrides-args"), 1) << "num_layers alone differs";
}

// A fork's scripts bring flags that are not ours to know; the choices of one that we do know are its own.
TEST(ValidateConfig, AChoiceThatAForkLacksIsRefusedInItsScripts) {
  const auto script = [](const char* words) {
    return FileOf(
        "loongforge", "run.sh",
        absl::StrCat("torchrun --nproc-per-node 8 loongforge/train.py --model-name qwen3-30b-a3b --micro-batch-size 1 "
                     "--seq-length 4096 --max-position-embeddings 4096 --train-iters 10 --lr 1e-4 --bf16 ",
                     words, "\n"));
  };
  EXPECT_EQ(CountOf(Validated(script("--position-embedding-type yarn")).findings(), "mlm.argparse"), 1);
  EXPECT_TRUE(Validated(script("--position-embedding-type rope --a-package-brings-it 3")).accepted_by_stack());
}

// The classes are the stack's, whatever the model's file of another day says; flags of the fork's own are no other
// program's.
TEST(ValidateConfig, AWordOverTheModelsFileIsJudgedInAScript) {
  const std::string words =
      "--model-name qwen3-30b-a3b --training-phase pretrain --hf-tokenizer-path /m --chat-template qwen ";
  const auto script = [&words](absl::string_view more) {
    return Validated(FileOf("loongforge", "run.sh",
                            absl::StrCat("torchrun --nproc-per-node 8 loongforge/train.py ", words, more, "\n")));
  };
  EXPECT_EQ(Errors(Validated(WordsOf("loongforge", words + "++num_layerz=4")).findings()).count("lf.config-class"), 1U);
  EXPECT_EQ(Errors(script("++num_layerz=4").findings()).count("lf.config-class"), 1U);
  EXPECT_EQ(Errors(script("++num_layerz=4 --lr $LR").findings()).count("lf.config-class"), 1U);
  const v1::ValidateConfigResponse key = script("num_layerz=4");
  EXPECT_EQ(CountOf(key.findings(), "lf.hydra-override"), 1);
  EXPECT_EQ(Errors(key.findings()).count("lf.hydra-override"), 0U) << "another day's file may have the key";
}

TEST(ValidateConfig, ShowsTheVariablesThatTuneAndNoOther) {
  v1::ValidateConfigRequest request = FileOf(
      "megatron-lm", "pretrain.sh",
      "export CUDA_DEVICE_MAX_CONNECTIONS=1 HF_TOKEN=hf_secret HOME=/root\nNCCL_ALGO=Ring torchrun pretrain_gpt.py "
      "--num-layers 4\n");
  (*request.mutable_env())["NVTE_FUSED_ATTN"] = "1";
  const v1::ValidateConfigResponse response = Validated(request);
  const std::map<std::string, std::string> shown(response.env().begin(), response.env().end());
  EXPECT_EQ(shown, (std::map<std::string, std::string>{
                       {"CUDA_DEVICE_MAX_CONNECTIONS", "1"}, {"NCCL_ALGO", "Ring"}, {"NVTE_FUSED_ATTN", "1"}}));
}

// A launch of 16 ranks of one layout, on the GPUs that the question names.
TEST(ValidateConfig, TheWorldSizeCountsBesideAGpuWithoutANumber) {
  v1::ValidateConfigRequest request = SmallWithoutVocabulary();
  request.mutable_arguments()->add_values("--tensor-model-parallel-size=4");
  request.mutable_arguments()->add_values("--pipeline-model-parallel-size=4");
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.mutable_hardware()->clear_gpu_count();
  request.set_world_size(8);
  EXPECT_EQ(Errors(Validated(request).findings()).count("mlm.world-divisible"), 1);
  request.mutable_hardware()->set_gpu_count(8);
  EXPECT_EQ(Errors(Validated(request).findings()).count("mlm.world-divisible"), 1);
  request.set_world_size(16);
  v1::ValidateConfigResponse response;
  const absl::Status refused = testing::TestResolver().ValidateConfig(request, &response);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(refused.message(), "world_size: is 16 beside hardware.gpu_count 8")) << refused;
}

TEST(ValidateConfig, ALauncherOfAnotherSizeThanTheQuestionIsWarnedOf) {
  constexpr char kWords[] =
      " pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 "
      "--max-position-embeddings 1024 --global-batch-size 64 --tensor-model-parallel-size 16\n";
  constexpr std::pair<const char*, int> kLaunchers[] = {{"torchrun --nproc-per-node 8", 1},
                                                        {"torchrun --nnodes 1 --nproc-per-node 8", 1},
                                                        {"torchrun --nnodes 2 --nproc-per-node 8", 0},
                                                        {"torchrun --nnodes $NNODES --nproc-per-node 8", 0},
                                                        {"torchrun --nnodes ${NNODES:-1} --nproc-per-node 8", 0},
                                                        {"PET_NNODES=2 torchrun --nproc-per-node 8", 0},
                                                        {"python", 0}};
  for (const auto& [launcher, warnings] : kLaunchers) {
    v1::ValidateConfigRequest request = testing::FileOf("megatron-lm", "pretrain.sh", absl::StrCat(launcher, kWords));
    request.set_world_size(16);
    const v1::ValidateConfigResponse response = Validated(request);
    EXPECT_EQ(testing::CountOf(response.findings(), "launch.world-size"), warnings) << launcher;
    request.clear_world_size();
    EXPECT_EQ(testing::CountOf(Validated(request).findings(), "launch.world-size"), 0) << launcher;
  }
}

TEST(ValidateConfig, AGpuThatIsNotKnownLeavesTheRulesJudged) {
  v1::ValidateConfigRequest request = SmallWithoutVocabulary();
  request.mutable_hardware()->set_gpu("h1000");
  request.mutable_arguments()->add_values("--tensor-model-parallel-size=3");
  const v1::ValidateConfigResponse response = Validated(request);
  EXPECT_EQ(Errors(response.findings()).count("mlm.world-divisible"), 1);
  EXPECT_EQ(response.memory().fit(), v1::FIT_VERDICT_UNKNOWN);
  EXPECT_EQ(response.memory().missing_input(), "hardware.gpu");
  const auto told =
      std::find_if(response.not_judged().begin(), response.not_judged().end(), [](const std::string& what) {
        return absl::StrContains(what, "no GPU named 'h1000'") && absl::StrContains(what, "h100");
      });
  EXPECT_NE(told, response.not_judged().end());
}

// A rule that looks at Transformer Engine, too, says nothing of an assumed version where any would be refused.
TEST(ValidateConfig, AnAssumedLibraryExcusesOnlyWhatRestsOnIt) {
  const std::string words =
      "--num-layers 8 --hidden-size 1024 --num-attention-heads 16 --num-experts 32 --moe-grouped-gemm --bf16 "
      "--seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --vocab-size 32000 "
      "--expert-model-parallel-size 4 --use-transformer-engine-op-fuser --swiglu --disable-bias-linear "
      "--tensor-model-parallel-size 2 --sequence-parallel --expert-tensor-parallel-size ";
  const auto standing = [&](const char* etp) {
    v1::ValidateConfigRequest request = WordsOf("megatron-lm", absl::StrCat(words, etp));
    const v1::ValidateConfigResponse answer = Validated(request);
    const v1::Finding* const found = FindFinding(answer.findings(), "build.op-fuser-grouped-mlp-support");
    return found == nullptr ? v1::SEVERITY_UNSPECIFIED : found->severity();
  };
  EXPECT_EQ(standing("2"), v1::SEVERITY_ERROR);
  EXPECT_NE(standing("1"), v1::SEVERITY_ERROR);
}

}  // namespace
}  // namespace flightplan
