#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/work.h"
#include "resolver/shell/reader.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::CountOf;
using testing::Errors;
using testing::FileOf;
using testing::FindFinding;
using testing::SmallWithoutVocabulary;
using testing::State;
using testing::Validated;
using testing::WordsOf;

std::set<std::string> KnobsOf(const v1::Fix& fix) {
  std::set<std::string> names;
  for (const v1::KnobSetting& setting : fix.knobs()) names.insert(setting.name());
  return names;
}

// Selective recompute of nothing is none, and has words that a launch takes.
TEST(RepairConfig, LeavesNoEmptyListOfRecomputedModules) {
  v1::ValidateConfigRequest request =
      FileOf("megatron-lm", "pretrain.sh",
             "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
             "--seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 "
             "--vocab-size 32000 --bf16 --fp8-format hybrid --fp8-recipe tensorwise --recompute-granularity selective "
             "--recompute-modules layernorm\n");
  request.mutable_software()->set_te_version("2.5.0");
  request.set_repair(true);
  const v1::ValidateConfigResponse response = Validated(request);
  ASSERT_EQ(CountOf(response.findings(), "recompute.fp8-te-2.6"), 1);
  EXPECT_EQ(response.repair().text().find("--recompute"), std::string::npos) << response.repair().text();
  EXPECT_FALSE(response.repair().has_unwritten()) << response.repair().unwritten().ShortDebugString();
  EXPECT_EQ(CountOf(response.repair().findings(), "recompute.fp8-te-2.6"), 0);
}

// A method beside selective recompute is refused; without the recompute EP overlap would refuse it.
TEST(RepairConfig, LeavesNoMethodOfWhatIsNotRecomputed) {
  const v1::ValidateConfigResponse response = Validated(
      FileOf("megatron-lm", "pretrain.sh",
             "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 "
             "--seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 "
             "--vocab-size 32000 --bf16 --num-experts 8 --expert-model-parallel-size 8 --moe-token-dispatcher-type "
             "alltoall --overlap-moe-expert-parallel-comm --recompute-granularity selective --recompute-modules moe "
             "--recompute-method uniform\n"));
  const v1::Finding* const moe = FindFinding(response.findings(), "ep-overlap.no-moe-recompute");
  ASSERT_NE(moe, nullptr);
  ASSERT_GT(moe->fixes_size(), 0);
  const std::set<std::string> all = {"recompute_granularity", "recompute_method", "recompute_modules"};
  EXPECT_EQ(KnobsOf(moe->fixes(0)), all) << moe->ShortDebugString();
}

// Its loss is its own, so what we say of memory is a warning there.
TEST(RepairConfig, TakesTheMemoryFixThatAWarningOffers) {
  v1::ValidateConfigRequest request = FileOf(
      "ms-swift", "sft.sh",
      "export CUDA_DEVICE_MAX_CONNECTIONS=1\nNPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-30B-A3B --tuner_type "
      "lora --lora_rank 8 --target_modules all-linear --tensor_model_parallel_size 2 --expert_model_parallel_size 2 "
      "--sequence_parallel true --micro_batch_size 2 --global_batch_size 64 --max_length 16384 --packing true "
      "--dataset corpus --recompute_granularity selective --bf16 true\n");
  request.mutable_hardware()->set_gpu("h100");
  request.mutable_hardware()->set_gpu_count(8);
  request.set_repair(true);
  const v1::ValidateConfigResponse response = Validated(request);
  EXPECT_TRUE(response.will_run());
  const v1::Finding* const memory = FindFinding(response.findings(), "fit.memory");
  ASSERT_NE(memory, nullptr);
  ASSERT_GT(memory->fixes_size(), 0);
  // Of core_attn another finding of this answer says that it is of no use.
  EXPECT_EQ(memory->fixes(0).ShortDebugString().find("core_attn"), std::string::npos);
  ASSERT_TRUE(response.has_repair());
  ASSERT_EQ(response.repair().steps_size(), 1);
  EXPECT_EQ(response.repair().steps(0).rule_id(), "fit.memory");
  EXPECT_NE(response.repair().text(), request.file().text());
  EXPECT_EQ(CountOf(response.repair().findings(), "fit.memory"), 0);
  v1::Repair expected = response.repair();
  for (const v1::AnswerView view : {v1::ANSWER_VIEW_BASIC, v1::ANSWER_VIEW_VERDICT}) {
    if (view == v1::ANSWER_VIEW_VERDICT) expected.clear_estimate();  // as of the answer itself
    request.set_view(view);
    EXPECT_EQ(Validated(request).repair().ShortDebugString(), expected.ShortDebugString());
  }
}

TEST(RepairConfig, LeavesWhatIsStatedToTheCaller) {
  v1::ValidateConfigRequest request = SmallWithoutVocabulary();
  request.set_repair(true);
  State("tensor_model_parallel_size", 3, &request);
  const v1::ValidateConfigResponse response = Validated(request);
  ASSERT_TRUE(response.has_repair());
  EXPECT_TRUE(response.repair().will_run()) << response.repair().ShortDebugString();
  ASSERT_EQ(response.repair().unwritten().knobs_size(), 1);
  EXPECT_EQ(response.repair().unwritten().knobs(0).name(), "tensor_model_parallel_size");
  EXPECT_EQ(std::count(response.repair().arguments().begin(), response.repair().arguments().end(),
                       "--tensor-model-parallel-size"),
            0);
}

TEST(RepairConfig, LayersThatDoNotDivideKeepTheirPipeline) {
  const std::pair<const char*, std::set<std::string>> rows[] = {
      {"--num-layers=26", {"pipeline_model_parallel_layout"}},
      {"--num-layers=31", {"account_for_loss_in_pipeline_split"}},
      {"--num-layers=30", {"account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split"}}};
  for (const auto& [layers, knobs] : rows) {
    v1::ValidateConfigRequest request = SmallWithoutVocabulary();
    request.set_repair(true);
    request.mutable_arguments()->add_values(layers);
    request.mutable_arguments()->add_values("--pipeline-model-parallel-size=8");
    const v1::ValidateConfigResponse response = Validated(request);
    EXPECT_EQ(Errors(response.findings()).size(), 1u) << "one fault, one finding";
    ASSERT_TRUE(response.has_repair());
    EXPECT_TRUE(response.repair().will_run()) << response.repair().ShortDebugString();
    ASSERT_EQ(response.repair().steps_size(), 1) << layers;
    EXPECT_EQ(KnobsOf(response.repair().steps(0).fix()), knobs) << layers;
  }
}

TEST(RepairConfig, BridgesTrainingBatchIsAFaultOfItsOwn) {
  v1::ValidateConfigRequest request =
      WordsOf("megatron-bridge",
              "model.num_layers=8 model.hidden_size=2048 model.num_attention_heads=16 train.micro_batch_size=1 "
              "train.global_batch_size=100 validation.eval_global_batch_size=96");
  request.set_world_size(8);
  request.set_repair(true);
  v1::ValidateConfigResponse response = Validated(request);
  EXPECT_TRUE(response.accepted_by_stack());
  EXPECT_FALSE(response.will_run());
  EXPECT_EQ(Errors(response.findings()), (std::set<std::string>{"batch.gbs-divisible"}));
  // Where validation follows the training batch it is one finding, too, and its fix is of the training batch.
  request.mutable_arguments()->mutable_values()->RemoveLast();
  response = Validated(request);
  EXPECT_EQ(Errors(response.findings()), (std::set<std::string>{"batch.eval-gbs-divisible"}));
  for (const v1::Finding& finding : response.findings()) {
    if (finding.rule_id() != "batch.eval-gbs-divisible") continue;
    ASSERT_EQ(finding.fixes_size(), 1);
    EXPECT_EQ(KnobsOf(finding.fixes(0)), (std::set<std::string>{"global_batch_size"}));
    EXPECT_TRUE(absl::StrContains(finding.seen(), "training: 100 is no multiple of 8")) << finding.seen();
  }
}

// Where the layers do not divide, dropping the layout would be no fix.
// No microbatch of 16 ranks divides 100; without one Bridge does not start.
TEST(RepairConfig, AnIndivisibleBatchIsNotRepairedByLeavingTheMicroBatchOut) {
  v1::ValidateConfigRequest request =
      FileOf("megatron-bridge", "run.sh",
             "torchrun --nproc-per-node 8 --nnodes 2 run_recipe.py --recipe qwen3_30b_a3b_pretrain_config "
             "train.global_batch_size=100 train.micro_batch_size=1\n");
  request.set_repair(true);
  const v1::ValidateConfigResponse response = Validated(request);
  EXPECT_FALSE(absl::StrContains(response.repair().text(), "train.micro_batch_size=null")) << response.repair().text();
  EXPECT_EQ(CountOf(response.repair().findings(), "batch.eval-gbs-divisible"), 1);
}

// The command line makes it the dense size where nothing is said.
TEST(RepairConfig, AnExpertTensorSizeThatNobodyAskedForGoesFirst) {
  v1::ValidateConfigRequest request =
      FileOf("megatron-lm", "pretrain.sh",
             "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 16 --hidden-size 2048 --num-attention-heads 16 "
             "--seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 --global-batch-size 64 "
             "--vocab-size 32000 --bf16 --num-experts 16 --tensor-model-parallel-size 4 --sequence-parallel "
             "--expert-model-parallel-size 8\n");
  const v1::ValidateConfigResponse response = Validated(request);
  const v1::Finding* const grid = FindFinding(response.findings(), "mesh.expert-world-divisible");
  ASSERT_NE(grid, nullptr);
  ASSERT_GT(grid->fixes_size(), 0);
  EXPECT_EQ(KnobsOf(grid->fixes(0)), std::set<std::string>{"expert_tensor_parallel_size"});
}

// The smaller grid alone has more experts on each GPU than there is room for.
TEST(RepairConfig, AGridWithoutRoomIsOfferedWithWhatTheRepairDoes) {
  const char* const launch =
      "torchrun --nproc-per-node 8 --nnodes 2 pretrain_gpt.py --num-layers 48 --hidden-size 2048 "
      "--num-attention-heads 32 --group-query-attention --num-query-groups 4 --kv-channels 128 --num-experts 128 "
      "--moe-ffn-hidden-size 768 --ffn-hidden-size 6144 --moe-router-topk 8 --seq-length 4096 "
      "--max-position-embeddings 4096 --global-batch-size 256 --swiglu --normalization RMSNorm --disable-bias-linear "
      "--bf16 --tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 32 "
      "--use-distributed-optimizer --moe-token-dispatcher-type alltoall --moe-grouped-gemm --vocab-size 151936 "
      "--micro-batch-size ";
  for (const char* size : {"2", "4", "8"}) {
    v1::ValidateConfigRequest request =
        FileOf("megatron-lm", "pretrain.sh", absl::StrCat("CUDA_DEVICE_MAX_CONNECTIONS=1 ", launch, size, "\n"));
    request.mutable_hardware()->set_gpu("h100-sxm");
    request.mutable_hardware()->set_gpu_count(16);
    request.set_repair(true);
    const v1::ValidateConfigResponse response = Validated(request);
    const v1::Finding* const grid = FindFinding(response.findings(), "mesh.expert-world-divisible");
    ASSERT_NE(grid, nullptr);
    ASSERT_GT(grid->fixes_size(), 0) << size;
    std::set<std::string> repaired;
    for (const v1::RepairStep& step : response.repair().steps()) repaired.merge(KnobsOf(step.fix()));
    EXPECT_EQ(KnobsOf(grid->fixes(0)), repaired) << size;
  }
}

TEST(RepairConfig, ALayoutWithTheWrongNumberOfLayersKeepsItsStages) {
  const auto fix_of = [](const char* layout, const char* layers) {
    v1::ValidateConfigRequest request = SmallWithoutVocabulary();
    for (const std::string& word :
         {absl::StrCat("--num-layers=", layers), std::string("--pipeline-model-parallel-size=4"),
          absl::StrCat("--pipeline-model-parallel-layout=", layout)}) {
      request.mutable_arguments()->add_values(word);
    }
    const v1::ValidateConfigResponse response = Validated(request);
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

// Its repair once read the script twice more, each time up to the same bound.
TEST(RepairConfig, DoesNotRepairAScriptThatTookTooMuchWorkToRead) {
  std::string script = "x=aaaaaaaa\n";
  for (int i = 0; i < 14; ++i) absl::StrAppend(&script, "x=$x$x\n");
  absl::StrAppend(&script, "for ((i=0;i<200;i++)); do for ((j=0;j<200;j++)); do y=${x:0:1}; done; done\n");
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_file()->set_text(absl::StrCat(script, "torchrun pretrain_gpt.py --num-layers 4\n"));
  request.set_repair(true);
  const Work work(4 * kMaxScriptWork);
  const v1::ValidateConfigResponse response = Validated(request);
  EXPECT_EQ(Errors(response.findings()), std::set<std::string>({"input.limit"}));
  EXPECT_EQ(response.repair().text(), request.file().text());
  EXPECT_LT(work.used(), kMaxScriptWork + kMaxScriptWork / 4);
}

// It once read the script twice more, and what was judged was lost with the work: the answer was a refusal.
TEST(RepairConfig, AnswersWithoutARepairThatItCouldNotPayFor) {
  std::string script = "x=aaaaaaaa\n";
  for (int i = 0; i < 14; ++i) absl::StrAppend(&script, "x=$x$x\n");
  absl::StrAppend(&script, "for ((i=0;i<5;i++)); do for ((j=0;j<5;j++)); do y=${x:0:1}; done; done\n");
  v1::ValidateConfigRequest request;
  request.mutable_target()->set_framework("megatron-lm");
  request.mutable_file()->set_text(
      absl::StrCat(script,
                   "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 64 --num-attention-heads 4 "
                   "--seq-length 8 --max-position-embeddings 8 --moe-router-topk 2\n"));
  uint64_t alone = 0;
  {
    const Work work(4 * kMaxScriptWork);
    EXPECT_FALSE(Validated(request).will_run());
    alone = work.used();
  }
  EXPECT_LT(alone, kMaxScriptWork);
  request.set_repair(true);
  for (const uint64_t reads : {2, 8}) {
    const Work work(reads * alone);
    const v1::ValidateConfigResponse response = Validated(request);
    EXPECT_FALSE(response.will_run());
    EXPECT_EQ(response.repair().steps_size() > 0, reads > 4) << work.used() << " of " << reads << " x " << alone;
  }
}

}  // namespace
}  // namespace flightplan
