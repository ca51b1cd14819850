// Repairs of launch scripts: where they are written, and what is no repair.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::CountOf;
using testing::FileOf;
using testing::FindFinding;
using testing::Validated;

constexpr absl::string_view kHead = "export CUDA_DEVICE_MAX_CONNECTIONS=1\n";
constexpr absl::string_view kTraining =
    "--seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 64 --train-iters 100 "
    "--lr 1e-4 --bf16 --mock-data --vocab-size 32000 --tokenizer-type NullTokenizer";

v1::ValidateConfigResponse Repaired(const std::string& script) {
  v1::ValidateConfigRequest request = FileOf("megatron-lm", "pretrain.sh", script);
  request.mutable_hardware()->set_gpu("h100-sxm");
  request.set_repair(true);
  return Validated(request);
}

std::string Small(absl::string_view words) {
  return absl::StrCat(
      "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 8 --hidden-size 1024 "
      "--num-attention-heads 16 ",
      kTraining, " ", words);
}

// The other rounds have their own, and the loop would run one of them twice.
TEST(RepairScript, LeavesTheItemsOfALoop) {
  const std::string loop =
      absl::StrCat(kHead, "for TP in 1 2 3; do\n  ", Small("--tensor-model-parallel-size $TP"), "\ndone\n");
  const v1::ValidateConfigResponse response = Repaired(loop);
  EXPECT_TRUE(absl::StrContains(response.repair().text(), "for TP in 1 2 3;")) << response.repair().text();
  EXPECT_TRUE(response.repair().has_unwritten());
  // Of one item alone there is one round.
  const v1::ValidateConfigResponse one =
      Repaired(absl::StrCat(kHead, "for TP in 3; do\n  ", Small("--tensor-model-parallel-size $TP"), "\ndone\n"));
  EXPECT_TRUE(absl::StrContains(one.repair().text(), "for TP in 2;")) << one.repair().text();
  EXPECT_TRUE(one.repair().will_run());
}

// GPT-3 on 8 GPUs, as Megatron-LM's example has it until its author says how many nodes there are.
TEST(RepairScript, ALayoutWithoutRoomIsNoRepair) {
  const v1::ValidateConfigResponse response = Repaired(absl::StrCat(
      kHead,
      "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 96 --hidden-size 12288 --num-attention-heads 96 ",
      kTraining, " --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16\n"));
  EXPECT_EQ(CountOf(response.findings(), "mlm.world-divisible"), 1);
  EXPECT_EQ(response.repair().steps_size(), 0) << response.repair().ShortDebugString();
  EXPECT_TRUE(absl::StrContains(response.repair().text(), "--pipeline-model-parallel-size 16"));
  EXPECT_EQ(CountOf(response.repair().findings(), "mlm.world-divisible"), 1);
  EXPECT_EQ(CountOf(response.repair().findings(), "fit.static-memory"), 0);
}

TEST(RepairScript, JoinsTheLinesOfACommand) {
  for (const absl::string_view between :
       {"\\ \n  ", "\n  ", "\\\n\n  ", "\\\n  # a comment\n  ", "\\ # a comment\n  "}) {
    const v1::ValidateConfigResponse response =
        Repaired(absl::StrCat(kHead, Small(between), "--tensor-model-parallel-size 2 \\\n  --sequence-parallel\n"));
    EXPECT_EQ(CountOf(response.findings(), "input.continuation"), 1) << between;
    EXPECT_TRUE(response.repair().will_run()) << response.repair().text();
    ASSERT_GT(response.repair().steps_size(), 0) << between;
    EXPECT_EQ(response.repair().steps(0).rule_id(), "input.continuation");
    EXPECT_EQ(absl::StrContains(response.repair().text(), "# a comment"), absl::StrContains(between, "#"));
    // What is written is what validate accepts.
    EXPECT_TRUE(Repaired(response.repair().text()).will_run()) << response.repair().text();
  }
}

TEST(RepairScript, EndsLinesAsOnLinux) {
  const v1::ValidateConfigResponse response = Repaired(absl::StrCat(kHead, Small("\\\r\n  --sequence-parallel\r\n")));
  EXPECT_FALSE(absl::StrContains(response.repair().text(), "\r"));
  EXPECT_TRUE(response.repair().will_run()) << response.repair().ShortDebugString();
}

// A path that only a run would know is a path.
TEST(RepairScript, APathInAVariableNeedsItsInterval) {
  const v1::ValidateConfigResponse response = Repaired(absl::StrCat(kHead, "C=$1\n", Small("--save \"$C\"\n")));
  const v1::Finding* const found = FindFinding(response.findings(), "mlm.save-interval");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->location().line(), 3);
  EXPECT_TRUE(absl::StrContains(response.repair().text(), "--save-interval 500")) << response.repair().text();
  EXPECT_TRUE(absl::StrContains(response.repair().text(), "--save \"$C\"")) << response.repair().text();
  EXPECT_EQ(CountOf(Repaired(absl::StrCat(kHead, Small("--save \"$1\" --save-interval 5\n"))).findings(),
                    "mlm.save-interval"),
            0);
}

}  // namespace
}  // namespace flightplan
