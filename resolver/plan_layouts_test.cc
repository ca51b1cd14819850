#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/work.h"
#include "resolver/estimate/memory.h"
#include "resolver/layouts/plan_answers.h"
#include "resolver/normalize/canonical_bytes.h"
#include "resolver/normalize/violations.h"
#include "resolver/resolver.h"
#include "tests/support/answers.h"
#include "tests/support/requests.h"

namespace flightplan {
namespace {

using testing::CountOf;
using testing::FindFinding;
using testing::QwenOnSixteen;
using testing::TestResolver;
using testing::ViolatedFields;

// All sizes but PP and VPP are given, so that the search is short.
v1::PlanResult PlanQwen235(v1::PlanObjective objective, int32_t gpus) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = QwenOnSixteen();
  request.mutable_base()->mutable_model()->set_name("qwen3-235b-a22b");
  request.mutable_base()->mutable_hardware()->set_gpu_count(gpus);
  request.mutable_base()->mutable_workload()->set_global_batch_size(1920);
  v1::Layout* sizes = request.mutable_base()->mutable_layout();
  sizes->set_tensor_model_parallel_size(8);
  sizes->set_context_parallel_size(1);
  sizes->set_expert_model_parallel_size(8);
  sizes->set_expert_tensor_parallel_size(1);
  sizes->set_micro_batch_size(1);
  v1::KnobSetting* const pin = request.mutable_base()->add_pinned_knobs();  // the host would do for some GPUs
  pin->set_name("optimizer_cpu_offload");
  pin->mutable_value()->set_bool_value(false);
  request.set_objective(objective);
  v1::PlanResult result;
  EXPECT_TRUE(TestResolver().PlanLayouts(request, {}, &result).ok());
  return result;
}

TEST(PlanLayouts, ProgressNeverGoesBack) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = QwenOnSixteen();
  request.mutable_base()->mutable_hardware()->set_gpu_count(32);
  request.set_objective(v1::PLAN_OBJECTIVE_GPU_COUNT);
  std::vector<PlanProgress> told;
  PlanHooks hooks;
  hooks.progress = [&told](const PlanProgress& progress) {
    told.push_back(progress);
    return true;
  };
  v1::PlanResult result;
  ASSERT_TRUE(TestResolver().PlanLayouts(request, hooks, &result).ok());
  ASSERT_GT(told.size(), 2U);
  for (size_t i = 1; i < told.size(); ++i) {
    EXPECT_GE(told[i].done_ratio, told[i - 1].done_ratio) << i;
    EXPECT_GE(told[i].judged, told[i - 1].judged) << i;
    if (told[i - 1].best_us == 0) continue;
    EXPECT_GT(told[i].best_us, 0) << i;
    EXPECT_LE(told[i].best_us, told[i - 1].best_us) << i;
  }
  EXPECT_LE(told.back().judged, result.judged_count());
}

// The second search, of pipelines with graphs, judges more than the first.
TEST(PlanLayouts, ProgressCountsWhatTheResultCounts) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = QwenOnSixteen();
  int64_t judged = 0;
  PlanHooks hooks;
  hooks.progress = [&judged](const PlanProgress& progress) {
    judged = progress.judged;
    return true;
  };
  v1::PlanResult result;
  ASSERT_TRUE(TestResolver().PlanLayouts(request, hooks, &result).ok());
  EXPECT_GT(judged, 0);
  EXPECT_LE(judged, result.judged_count());
}

TEST(PlanLayouts, AnObjectiveThatIsNoneIsRefused) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = QwenOnSixteen();
  request.set_objective(static_cast<v1::PlanObjective>(9));
  v1::PlanResult result;
  EXPECT_EQ(ViolatedFields(TestResolver().PlanLayouts(request, {}, &result)), (std::set<std::string>{"objective"}));
}

TEST(PlanLayouts, FindsFewestGpusBetweenPowersOfTwo) {
  const v1::PlanResult fewest = PlanQwen235(v1::PLAN_OBJECTIVE_GPU_COUNT, 128);
  ASSERT_GT(fewest.plans_size(), 0);
  const v1::Layout& sizes = fewest.plans(0).layout().sizes();
  const int32_t gpus = 8 * sizes.pipeline_model_parallel_size() * fewest.plans(0).layout().data_parallel_size();
  EXPECT_NE(gpus & (gpus - 1), 0) << gpus;
  EXPECT_EQ(PlanQwen235(v1::PLAN_OBJECTIVE_STEP_TIME, gpus - 8).plans_size(), 0);
}

// Whoever asked waits for no more than was found until then, not for nothing.
TEST(PlanLayouts, AnswersWithThePlansThatItsWorkPaidFor) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = QwenOnSixteen();
  request.set_plan_count(20);
  v1::PlanResult whole, cut;
  uint64_t units = 0;
  {
    const Work work(std::numeric_limits<uint64_t>::max());
    ASSERT_TRUE(TestResolver().PlanLayouts(request, {}, &whole).ok());
    units = work.used();
  }
  ASSERT_GT(whole.plans_size(), 5);
  const Work work(units - (uint64_t{8} << 19));  // the last plans find nothing left
  const absl::Status status = TestResolver().PlanLayouts(request, {}, &cut);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GT(cut.plans_size(), 0);
  EXPECT_EQ(CountOf(cut.findings(), "plan.search-stopped"), 1);
  EXPECT_EQ(CountOf(whole.findings(), "plan.search-stopped"), 0);
}

// What does not go into one answer is left out from the end, and the answer says so.
TEST(PlanLayouts, AnswersWithThePlansThatGoIntoItsBytes) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = QwenOnSixteen();
  v1::PlanResult whole, cut;
  PlanHooks hooks;
  ASSERT_TRUE(TestResolver().PlanLayouts(request, hooks, &whole).ok());
  ASSERT_GT(whole.plans_size(), 3);
  EXPECT_EQ(CountOf(whole.findings(), "plan.answer-cut"), 0);
  hooks.max_answer_bytes = whole.ByteSizeLong() / 2 + (size_t{16} << 10);
  ASSERT_TRUE(TestResolver().PlanLayouts(request, hooks, &cut).ok());
  EXPECT_LE(cut.ByteSizeLong(), hooks.max_answer_bytes);
  EXPECT_EQ(CountOf(cut.findings(), "plan.answer-cut"), 1);
  ASSERT_GT(cut.plans_size(), 0);
  ASSERT_LT(cut.plans_size(), whole.plans_size());
  for (int i = 0; i < cut.plans_size(); ++i) {
    EXPECT_EQ(CanonicalBytes(cut.plans(i)), CanonicalBytes(whole.plans(i))) << i;
  }
}

// Of any time that is left, the first plan is written.
TEST(PlanLayouts, AnswersWithThePlansThatAreWrittenInTime) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = QwenOnSixteen();
  v1::PlanResult whole, cut;
  ASSERT_TRUE(TestResolver().PlanLayouts(request, {}, &whole).ok());
  ASSERT_GT(whole.plans_size(), 3);
  for (const int written : {1, 3}) {
    int plans = 1;
    PlanHooks hooks;
    hooks.write_on = [&] { return ++plans <= written; };
    ASSERT_TRUE(TestResolver().PlanLayouts(request, hooks, &cut).ok());
    ASSERT_EQ(cut.plans_size(), written);
    EXPECT_EQ(CountOf(cut.findings(), "plan.answer-cut"), 1);
    for (int i = 0; i < written; ++i) EXPECT_EQ(CanonicalBytes(cut.plans(i)), CanonicalBytes(whole.plans(i))) << i;
  }
}

// LoongForge's command line has no "yarn", which is what the model needs: no size of the cluster helps.
TEST(PlanLayouts, SaysWhatRefusesEveryLayoutThatFits) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = QwenOnSixteen();
  request.mutable_base()->mutable_model()->set_name("gpt-oss-20b");
  request.mutable_base()->mutable_target()->set_framework("loongforge");
  request.mutable_base()->clear_layout();
  v1::PlanResult result;
  ASSERT_TRUE(TestResolver().PlanLayouts(request, {}, &result).ok());
  EXPECT_EQ(result.plans_size(), 0);
  EXPECT_EQ(CountOf(result.findings(), "mlm.argparse"), 1);
  EXPECT_EQ(CountOf(result.findings(), "plan.nothing-fits"), 1);
  for (const v1::Finding& finding : result.findings()) {
    EXPECT_EQ(finding.needs().find("GPUs"), std::string::npos) << finding.needs();
    EXPECT_EQ(finding.fixes_size(), 0);
  }
}

// The split of the layers that leaves a plan's recompute out is found beside its sizes, too.
TEST(PlanLayouts, APlanIsAsFastAsTheQuestionWithItsSizes) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = testing::Training("qwen3-30b-a3b", "h100-sxm", 64, 4096, 512);
  request.mutable_base()->mutable_target()->set_framework("flagscale");
  testing::SetSizes({.tp = 2, .pp = 4, .ep = 8}, request.mutable_base());
  v1::PlanResult result;
  ASSERT_TRUE(TestResolver().PlanLayouts(request, {}, &result).ok());
  ASSERT_GT(result.plans_size(), 0);
  v1::ResolveConfigRequest question = request.base();
  *question.mutable_layout() = result.plans(0).layout().sizes();
  question.mutable_layout()->clear_pipeline_model_parallel_layout();
  const double plan_us = result.plans(0).estimate().step_time_us().value();
  EXPECT_LE(testing::StepUs(testing::Resolved(question)), plan_us * 1.0101);
}

TEST(PlanLayouts, ListsNoLayoutTwice) {
  const v1::PlanResult result = PlanQwen235(v1::PLAN_OBJECTIVE_STEP_TIME, 128);
  ASSERT_GT(result.plans_size(), 1);
  std::set<std::string> seen;
  for (const v1::ResolveConfigResponse& plan : result.plans()) {
    v1::Layout sizes = plan.layout().sizes();
    EXPECT_TRUE(seen.insert(sizes.SerializeAsString()).second);
    EXPECT_EQ(plan.outcome(), v1::OUTCOME_RESOLVED);
  }
}

// Plans of one mapping that no forecast can tell apart are one plan, and it names the others.
// Ten ways to cut one mapping in time are one plan to whoever has to choose.
// Decisions by closed formulas may fill more of the GPU than the search was for.
TEST(PlanLayouts, RanksWhatLeavesNoRoomBehindItsTimeAndSaysSo) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = QwenOnSixteen();
  request.mutable_base()->mutable_workload()->set_seq_length(3584);
  request.mutable_base()->mutable_workload()->set_global_batch_size(128);
  request.mutable_base()->clear_layout();
  v1::Layout* sizes = request.mutable_base()->mutable_layout();
  sizes->set_tensor_model_parallel_size(1);
  sizes->set_pipeline_model_parallel_size(4);
  sizes->set_context_parallel_size(1);
  sizes->set_expert_tensor_parallel_size(1);
  sizes->set_micro_batch_size(8);
  v1::PlanResult result;
  ASSERT_TRUE(TestResolver().PlanLayouts(request, {}, &result).ok());
  ASSERT_GT(result.plans_size(), 1);
  const auto leaves_room = [](const v1::ResolveConfigResponse& plan) {
    return testing::MostBytes(plan) <= kRoom * static_cast<double>(plan.estimate().usable_bytes());
  };
  EXPECT_TRUE(leaves_room(result.plans(0)));
  int full = 0;
  double before = 0;
  for (const v1::ResolveConfigResponse& plan : result.plans()) {
    const v1::Finding* const outside = FindFinding(plan.findings(), "plan.outside-evidence");
    double longer = 0;
    bool said = false;
    if (outside != nullptr) {
      longer = outside->observed(0).value().double_value();
      said = absl::StrContains(outside->seen(), "memory filled to");
    }
    EXPECT_EQ(said, !leaves_room(plan));
    if (outside != nullptr) {
      EXPECT_EQ(absl::StrContains(outside->needs(), "what fills the memory may not start"), said);
      EXPECT_EQ(absl::StrContains(outside->needs(), "nobody has run"),
                absl::StrContains(outside->seen(), "published layouts"));
    }
    full += said ? 1 : 0;
    const double ranked = plan.estimate().step_time_us().value() * (1 + longer);
    EXPECT_LE(before, ranked);
    before = ranked;
  }
  EXPECT_GT(full, 0);
}

TEST(PlanLayouts, ListsEachMappingBeforeAnotherOfOneThatIsThere) {
  const auto layout = [](int32_t pp, int32_t vpp) { return LayoutSizes{1, pp, vpp, 1, 8, 1, 1}; };
  const std::vector<LayoutSizes> list = {layout(2, 4), layout(2, 8), layout(4, 2), layout(2, 2), layout(8, 1)};
  EXPECT_EQ(FirstOfEachMapping(list, 3), (std::vector<size_t>{0, 2, 4}));
  EXPECT_EQ(FirstOfEachMapping(list, 4), (std::vector<size_t>{0, 1, 2, 4}));
  EXPECT_EQ(FirstOfEachMapping(list, 9), (std::vector<size_t>{0, 1, 2, 3, 4}));
}

TEST(PlanLayouts, NamesWhatAPlanStandsFor) {
  const v1::PlanResult result = PlanQwen235(v1::PLAN_OBJECTIVE_STEP_TIME, 128);
  EXPECT_GT(result.pruned_counts().at("alike"), 0);
  int64_t named = 0;
  for (const v1::ResolveConfigResponse& plan : result.plans()) {
    for (const v1::Decision& decision : plan.decisions()) {
      if (decision.name() != "virtual_pipeline_model_parallel_size") continue;
      EXPECT_EQ(decision.rule_id(), "plan.layout");
      const int32_t vpp = plan.layout().sizes().virtual_pipeline_model_parallel_size();
      EXPECT_EQ(vpp > 1 ? decision.value().int_value() : 1, vpp);
      for (const v1::Alternative& other : decision.alternatives()) {
        EXPECT_NE(other.value().int_value(), vpp);
        EXPECT_NE(other.reason().find("step "), std::string::npos);
        ++named;
      }
    }
  }
  EXPECT_GT(named, 0);
  EXPECT_LE(named, result.pruned_counts().at("alike"));
}

// Fields are named as they stand in the request that was sent, below `base`.
TEST(PlanLayouts, NamesFieldsOfTheRequestAsSent) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = QwenOnSixteen();
  request.mutable_base()->mutable_model()->set_name("qwen3-30b-a3c");
  request.mutable_base()->mutable_hardware()->set_gpu("h900");
  v1::PlanResult result;
  const absl::Status status = TestResolver().PlanLayouts(request, {}, &result);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message().substr(0, 16), "base.model.name:");
  google::rpc::BadRequest details;
  ASSERT_TRUE(details.ParseFromString(std::string(status.GetPayload(kBadRequestPayload).value_or(absl::Cord()))));
  std::set<std::string> fields;
  for (const auto& violation : details.field_violations()) fields.insert(violation.field());
  EXPECT_EQ(fields, (std::set<std::string>{"base.model.name", "base.hardware.gpu"}));
}

TEST(PlanLayouts, SaysWhatBecomesOfPartNodes) {
  const v1::PlanResult part = PlanQwen235(v1::PLAN_OBJECTIVE_STEP_TIME, 60);
  EXPECT_EQ(CountOf(part.findings(), "launch.partial-nodes"), 1);
  EXPECT_EQ(CountOf(PlanQwen235(v1::PLAN_OBJECTIVE_STEP_TIME, 64).findings(), "launch.partial-nodes"), 0);
}

TEST(PlanLayouts, AnswersInFull) {
  v1::PlanLayoutsRequest request;
  *request.mutable_base() = QwenOnSixteen();
  request.mutable_base()->set_view(v1::ANSWER_VIEW_VERDICT);
  v1::PlanResult result;
  EXPECT_EQ(ViolatedFields(TestResolver().PlanLayouts(request, {}, &result)).count("base.view"), 1U);
}

}  // namespace
}  // namespace flightplan
