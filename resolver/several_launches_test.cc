// Scripts that launch several trainings: each is judged.
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
using testing::Errors;
using testing::FileOf;
using testing::FindFinding;
using testing::Validated;

constexpr absl::string_view kOthers = "input.other-launches";

// A launch that runs, with the words given at its end, on 8 GPUs.
std::string Launch(absl::string_view words, absl::string_view launcher = "torchrun --nproc-per-node 8") {
  return absl::StrCat(launcher,
                      " pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024 "
                      "--max-position-embeddings 1024 --global-batch-size 64 --vocab-size 32000 --bf16 --mock-data "
                      "--train-iters 10 --tokenizer-type NullTokenizer --micro-batch-size 1 ",
                      words, "\n");
}

v1::ValidateConfigRequest Asked(const std::string& script) {
  return FileOf("megatron-lm", "sweep.sh", absl::StrCat("export CUDA_DEVICE_MAX_CONNECTIONS=1\n", script));
}

v1::ValidateConfigResponse Judged(const std::string& script) { return Validated(Asked(script)); }

std::vector<std::string> Told(const v1::ValidateConfigResponse& response) {
  std::vector<std::string> told;
  for (const v1::Finding& finding : response.findings()) {
    if (finding.rule_id() == kOthers) told.push_back(finding.seen());
  }
  return told;
}

TEST(SeveralLaunches, TheWorstIsTheAnswer) {
  const std::string good = Launch("--lr 1e-4"), bad = Launch("--lr 1e-4 --tensor-model-parallel-size 3");
  for (const std::string& script : {bad + good, good + bad, absl::StrCat(good, bad, good, good)}) {
    const v1::ValidateConfigResponse response = Judged(script);
    EXPECT_FALSE(response.accepted_by_stack()) << script;
    EXPECT_GT(CountOf(response.findings(), "tp.heads-divisible"), 0) << script;
    EXPECT_EQ(response.completeness(), v1::COMPLETENESS_FULL) << script;
    ASSERT_EQ(Told(response).size(), 1U) << script;
    EXPECT_TRUE(absl::StrContains(Told(response)[0], ": accepted; ")) << Told(response)[0];
    EXPECT_EQ(FindFinding(response.findings(), kOthers)->severity(), v1::SEVERITY_INFO);
  }
  const v1::Finding other = *FindFinding(Judged(bad + good).findings(), kOthers);
  EXPECT_EQ(other.location().line(), 3);
  EXPECT_TRUE(
      absl::StartsWith(other.seen(), "launch 2 of 2, line 3 (without --tensor-model-parallel-size 3): accepted"))
      << other.seen();
  EXPECT_TRUE(absl::EndsWith(other.seen(), "of launch 1 of 2, line 2")) << other.seen();
  // One that will not run is worse than one that warns, and one that the stack rejects is worse than both.
  const std::string later = Launch("");
  EXPECT_FALSE(Judged(later + good).will_run());
  EXPECT_TRUE(Judged(later + good).accepted_by_stack());
  EXPECT_FALSE(Judged(bad + later).accepted_by_stack());
}

// What runs at the end is mostly what it is all about.
TEST(SeveralLaunches, OfThoseThatAreAlikeTheLastIsTheAnswer) {
  const v1::ValidateConfigResponse response =
      Judged(Launch("--lr 1e-4 --tensor-model-parallel-size 2") + Launch("--lr 1e-4 --tensor-model-parallel-size 4"));
  EXPECT_TRUE(response.will_run());
  EXPECT_EQ(response.completeness(), v1::COMPLETENESS_FULL);
  ASSERT_EQ(Told(response).size(), 1U);
  EXPECT_TRUE(absl::StartsWith(Told(response)[0], "launch 1 of 2, line 2 (--tensor-model-parallel-size 2): accepted"))
      << Told(response)[0];
}

TEST(SeveralLaunches, ASweepIsToldOnceForEachOutcome) {
  const v1::ValidateConfigResponse rates =
      Judged(absl::StrCat("for lr in 1 2 3 4 5 6 7 8 9; do\n", Launch("--lr ${lr}e-4"), "done\n"));
  ASSERT_EQ(Told(rates).size(), 1U);
  EXPECT_TRUE(absl::StartsWith(Told(rates)[0],
                               "launches 1, 2, 3, 4, 5, 6, 7, 8 of 9, line 3 (--lr 1e-4 | --lr 2e-4 | --lr 3e-4 | "
                               "--lr 4e-4 | ...): accepted"))
      << Told(rates)[0];
  const v1::ValidateConfigResponse sizes =
      Judged(absl::StrCat("for tp in 1 2 3 5 7; do\n", Launch("--lr 1e-4 --tensor-model-parallel-size $tp"), "done\n"));
  EXPECT_FALSE(sizes.accepted_by_stack());
  ASSERT_EQ(Told(sizes).size(), 2U);
  EXPECT_TRUE(absl::StartsWith(Told(sizes)[0], "launches 3, 4 of 5")) << Told(sizes)[0];
  EXPECT_TRUE(absl::StrContains(Told(sizes)[0], "rejected by the stack, 5 errors (")) << Told(sizes)[0];
  EXPECT_TRUE(absl::StartsWith(Told(sizes)[1], "launches 1, 2 of 5")) << Told(sizes)[1];
}

TEST(SeveralLaunches, WhatIsNotJudgedIsSaid) {
  const v1::ValidateConfigResponse many =
      Judged(absl::StrCat("for n in {1..40}; do\n", Launch("--lr 1e-4 --seed $n"), "done\n"));
  EXPECT_EQ(many.completeness(), v1::COMPLETENESS_PARTIAL);
  ASSERT_EQ(Told(many).size(), 2U);
  EXPECT_EQ(Told(many)[0], "24 more launches of a training");
  // Another program takes other words.
  const v1::ValidateConfigResponse tool =
      Judged("python tools/measure.py --tensor-model-parallel-size 3 --no-such-flag\n" + Launch("--lr 1e-4"));
  EXPECT_TRUE(tool.will_run());
  EXPECT_EQ(tool.completeness(), v1::COMPLETENESS_PARTIAL);
  ASSERT_EQ(Told(tool).size(), 1U);
  EXPECT_TRUE(absl::StrContains(Told(tool)[0], "not judged: it runs another program")) << Told(tool)[0];
  // A size that no configuration has makes no answer of the other one.
  std::string names;
  for (int i = 0; i < 60; ++i) absl::StrAppend(&names, " ", std::string(1000, 'n'));
  const v1::ValidateConfigResponse huge =
      Judged(Launch(absl::StrCat("--lr 1e-4 --recompute-modules", names)) + Launch("--lr 1e-4"));
  EXPECT_EQ(huge.completeness(), v1::COMPLETENESS_PARTIAL);
}

// A caller's number of GPUs is that of the launch at the end; a launch that says another one of itself has that one.
TEST(SeveralLaunches, EachHasItsOwnSize) {
  const std::string script = Launch("--lr 1e-4 --tensor-model-parallel-size 2", "torchrun --nproc-per-node 2") +
                             Launch("--lr 1e-4 --tensor-model-parallel-size 8", "torchrun --nproc-per-node 8");
  EXPECT_TRUE(Judged(script).will_run());
  v1::ValidateConfigRequest stated = Asked(script);
  stated.set_world_size(8);
  EXPECT_TRUE(Validated(stated).will_run());
  const std::string turned = Launch("--lr 1e-4 --tensor-model-parallel-size 8", "torchrun --nproc-per-node 2") +
                             Launch("--lr 1e-4 --tensor-model-parallel-size 8", "torchrun --nproc-per-node 8");
  EXPECT_FALSE(Judged(turned).accepted_by_stack());
  stated.mutable_file()->set_text(turned);
  EXPECT_FALSE(Validated(stated).accepted_by_stack());
}

TEST(SeveralLaunches, ARepairGoesThroughAllOfThem) {
  v1::ValidateConfigRequest request =
      Asked(Launch("--lr 1e-4 --tensor-model-parallel-size 3") + Launch("--lr 1e-4 --seed 2") +
            Launch("--lr 1e-4 --num-query-groups 5 --group-query-attention"));
  request.set_repair(true);
  const v1::ValidateConfigResponse response = Validated(request);
  EXPECT_FALSE(response.accepted_by_stack());
  EXPECT_TRUE(response.repair().will_run()) << response.repair().DebugString();
  const v1::ValidateConfigResponse after =
      Judged(response.repair().text().substr(response.repair().text().find('\n') + 1));
  EXPECT_TRUE(after.will_run()) << response.repair().text();
  EXPECT_EQ(Told(after).size(), 1U);
  // One that no repair helps leaves the others repaired, and the verdict is its own.
  v1::ValidateConfigRequest lost = Asked(Launch("--lr 1e-4 --tensor-model-parallel-size 3") + Launch(""));
  lost.set_repair(true);
  const v1::Repair repair = Validated(lost).repair();
  EXPECT_TRUE(repair.accepted_by_stack());
  EXPECT_FALSE(repair.will_run());
  EXPECT_EQ(CountOf(repair.findings(), "start.learning-rate"), 1);
  EXPECT_FALSE(absl::StrContains(repair.text(), "parallel-size 3"));
}

// What is converted is what the verdict is of, and the answer says which it is.
TEST(SeveralLaunches, TheOneThatIsJudgedIsConverted) {
  const std::string good = Launch("--lr 1e-4"), bad = Launch("--lr 2e-4 --tensor-model-parallel-size 3");
  for (const std::string& script : {good + bad, bad + good}) {
    v1::ConvertConfigRequest request;
    *request.mutable_source() = Asked(script);
    request.mutable_target()->set_framework("megatron-bridge");
    v1::ConvertConfigResponse answer;
    ASSERT_TRUE(testing::TestResolver().ConvertConfig(request, &answer).ok());
    EXPECT_TRUE(absl::StrContains(answer.launch().text(), "tensor_model_parallel_size=3")) << answer.launch().text();
    const v1::Finding* const others = FindFinding(answer.source_findings(), kOthers);
    ASSERT_NE(others, nullptr);
    EXPECT_TRUE(
        absl::StartsWith(others->needs(), absl::StrCat("one launch: the one on line ", script == bad + good ? 2 : 3)))
        << others->needs();
  }
}

// A sweep's own list is repaired where the value stands, but not so that two rounds run the same.
TEST(SeveralLaunches, ARoundOfASweepIsRepairedInItsList) {
  const auto repaired = [](const std::string& before, const std::string& items) {
    v1::ValidateConfigRequest request = Asked(absl::StrCat(
        before, "for tp in ", items, "; do\n", Launch("--lr 1e-4 --tensor-model-parallel-size $tp"), "done\n"));
    request.set_repair(true);
    return Validated(request).repair();
  };
  const v1::Repair repair = repaired("", "1 3 4");
  EXPECT_TRUE(repair.will_run());
  EXPECT_TRUE(absl::StrContains(repair.text(), "for tp in 1 2 4; do")) << repair.text();
  for (const auto& [before, items] : {std::pair("", "2 3 4"), std::pair("TPS=(2 3 4)\n", "\"${TPS[@]}\"")}) {
    const v1::Repair left = repaired(before, items);
    EXPECT_FALSE(left.will_run());
    EXPECT_TRUE(absl::StrContains(left.text(), "2 3 4")) << left.text();
    ASSERT_EQ(left.unwritten().knobs_size(), 1) << left.ShortDebugString();
    EXPECT_EQ(left.unwritten().knobs(0).name(), "tensor_model_parallel_size");
  }
}

}  // namespace
}  // namespace flightplan
