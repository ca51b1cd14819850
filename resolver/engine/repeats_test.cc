#include "resolver/engine/repeats.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flightplan {
namespace {

Finding Of(absl::string_view rule, Severity severity = Severity::kError, std::vector<Patch> fixes = {}) {
  Finding finding;
  finding.rule_id = rule;
  finding.severity = severity;
  finding.fixes = std::move(fixes);
  return finding;
}

std::vector<std::string> Left(std::vector<Finding> findings) {
  DropRepeats(&findings);
  std::vector<std::string> left;
  left.reserve(findings.size());
  for (const Finding& finding : findings) left.emplace_back(finding.rule_id);
  return left;
}

TEST(DropRepeats, FullRecomputeBesideTheOverlapIsOneFault) {
  using Ids = std::vector<std::string>;
  EXPECT_EQ(Left({Of("ep-overlap.no-full-recompute"), Of("ep-overlap.no-recompute-method"),
                  Of("ep-overlap.no-recompute-num-layers")}),
            Ids{"ep-overlap.no-full-recompute"});
  EXPECT_EQ(Left({Of("bridge-ep-overlap.no-full-recompute"), Of("bridge-ep-overlap.no-recompute-method"),
                  Of("bridge-ep-overlap.no-recompute-num-layers"), Of("ep-overlap.no-full-recompute"),
                  Of("ep-overlap.no-recompute-method"), Of("ep-overlap.no-recompute-num-layers")}),
            Ids{"bridge-ep-overlap.no-full-recompute"});
  EXPECT_EQ(Left({Of("ep-overlap.no-recompute-method"), Of("ep-overlap.no-recompute-num-layers")}),
            Ids{"ep-overlap.no-recompute-method"});
}

// Where a recipe may hold the granularity, that full recompute is wrong is a guess, that it has a method is not.
TEST(DropRepeats, KeepsWhatIsMoreCertain) {
  const std::vector<std::string> both = {"ep-overlap.no-full-recompute", "ep-overlap.no-recompute-method"};
  EXPECT_EQ(Left({Of(both[0], Severity::kWarning), Of(both[1])}), both);
  EXPECT_EQ(Left({Of(both[1])}), std::vector<std::string>{both[1]});
}

TEST(DropRepeats, ABatchOfTheEvaluationThatNobodyGaveIsNoFaultOfItsOwn) {
  const std::vector<Patch> fix = {{{Knob::global_batch_size, "", Value(256)}}};
  const std::vector<Patch> other = {{{Knob::eval_global_batch_size, "", Value(256)}}};
  const std::vector<std::string> both = {"mlm.gbs-divisible", "mlm.num-microbatches-divisible"};
  EXPECT_EQ(Left({Of(both[0], Severity::kError, fix), Of(both[1], Severity::kError, fix)}),
            std::vector<std::string>{both[0]});
  EXPECT_EQ(Left({Of(both[0], Severity::kError, other), Of(both[1], Severity::kError, fix)}), both);
}

// It would leave the launch refused. The warning itself is printed by the stack.
TEST(DropRepeats, AFixWithinAPrecisionIsMootWhereTheGpuHasItNot) {
  const Patch gather = {{Knob::fp8_param_gather, "", Value(true)}};
  std::vector<Finding> findings = {Of("gpu-gate.mxfp8-needs-blackwell"),
                                   Of("opt.mxfp8-memory", Severity::kWarning, {gather})};
  DropRepeats(&findings);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_TRUE(findings.back().fixes.empty());
  std::vector<Finding> alone = {Of("opt.mxfp8-memory", Severity::kWarning, {gather})};
  DropRepeats(&alone);
  EXPECT_EQ(alone.front().fixes.size(), 1u);
}

TEST(DropRepeats, TwoFaultsWithOneFixAreTwo) {
  const std::vector<Patch> fix = {{{Knob::sequence_parallel, "", Value(true)}}};
  const std::vector<std::string> both = {"sp.ep-tp-needs-sp", "tp-overlap.off-no-sp"};
  EXPECT_EQ(Left({Of(both[0], Severity::kError, fix), Of(both[1], Severity::kError, fix)}), both);
}

TEST(DropRepeats, LeavesItsFixesToTheOtherFinding) {
  const Patch one = {{Knob::context_parallel_size, "", Value(1)}};
  const Patch other = {{Knob::tensor_model_parallel_size, "", Value(1)}};
  std::vector<Finding> findings = {Of("mlm.world-divisible", Severity::kError, {one}),
                                   Of("mesh.world-divisible", Severity::kError, {one, other})};
  DropRepeats(&findings);
  ASSERT_EQ(findings.size(), 1U);
  ASSERT_EQ(findings[0].fixes.size(), 2U);
  EXPECT_EQ(findings[0].fixes[1][0].knob, Knob::tensor_model_parallel_size);
}

}  // namespace
}  // namespace flightplan
