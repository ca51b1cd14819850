// What a search holds, and where it ends.
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "resolver/base/work.h"
#include "resolver/planner/pipelines.h"
#include "resolver/planner/search.h"
#include "resolver/planner/search_test_util.h"

namespace flightplan {
namespace {

TEST(Search, AnswersTheSameHoweverTheWorkIsSplit) {
  Setting setting("qwen3-30b-a3b", "h100", 32, 128, 60);
  const Ranked in_order = Found(setting.question);
  setting.question.parallel = [](size_t count, const std::function<void(size_t, size_t)>& body) {
    for (size_t i = count; i-- > 0;) body(i, i + 1);
  };
  ExpectSame(Found(setting.question), in_order);
}

// What there is no room for is made again, where a layout with it is judged and for what is found.
TEST(Search, AnswersTheSameHoweverLittleItHolds) {
  for (const SearchObjective objective : {SearchObjective::kStepTime, SearchObjective::kMemoryHeadroom}) {
    Setting setting("deepseek-v2-lite", "h100", 4, 4, 79);
    setting.question.objective = objective;
    const Ranked held = Found(setting.question);
    setting.question.stage_bytes = 0;
    const SearchResult again = Search(setting.question);
    ExpectSame(Found(setting.question), held);
    for (const FoundPlan& plan : again.plans) {
      ASSERT_EQ(plan.candidate.stages, plan.stages.get());
      EXPECT_EQ(plan.stages->chunks, setting.question.stages(plan.sizes.pp, plan.sizes.vpp)[plan.split]->chunks);
    }
  }
}

// 1,200 layers on 55,440 GPUs have pipelines of some 160 MiB.
TEST(Pipelines, HoldNoMoreThanTheirBytes) {
  Setting setting("deepseek-v3", "h100", 55'440, 55'440, 79);
  setting.Deepen(1200);
  size_t alive = 0, most = 0;
  setting.question.stages = [&, all = setting.question.stages](int pp, int vpp) {
    std::vector<std::shared_ptr<const StageLayout>> splits;
    for (const std::shared_ptr<const StageLayout>& stages : all(pp, vpp)) {
      const size_t bytes = stages->chunks.size() * sizeof(ChunkContents);
      alive += bytes;
      most = std::max(most, alive);
      splits.emplace_back(stages.get(), [&alive, bytes, stages](const StageLayout*) { alive -= bytes; });
    }
    return splits;
  };
  Pipelines pipelines(setting.question);
  size_t made = 0;
  for (const LayoutSizes& sizes : LegalLayouts(setting.shape, setting.question.layout, 1500)) {
    for (const Split& split : pipelines.Of(sizes.pp, sizes.vpp).splits) made += split.held == nullptr ? 1 : 0;
  }
  EXPECT_GT(made, 0U);  // not held
  EXPECT_LE(pipelines.stage_bytes(), kMaxStageBytes);
  EXPECT_LE(pipelines.load_bytes(), kMaxLoadBytes);
  EXPECT_LE(most, kMaxStageBytes + size_t{4} * 1202 * sizeof(ChunkContents));  // and those at hand
}

TEST(Search, StopsWhenToldTo) {
  Setting setting("qwen3-30b-a3b", "h100", 64, 256, 79);
  setting.question.progress = [](const SearchProgress&) { return false; };
  const SearchResult result = Search(setting.question);
  EXPECT_TRUE(result.statistics.stopped);
  EXPECT_TRUE(result.plans.empty());
}

TEST(Search, EndsAtItsLimitOfWorkAtTheSamePlace) {
  Setting setting("qwen3-30b-a3b", "h100", 64, 256, 79);
  const int64_t whole = Search(setting.question).statistics.judged;
  setting.question.work_limit = whole / 4;
  const SearchResult in_order = Search(setting.question);
  EXPECT_TRUE(in_order.statistics.stopped);
  EXPECT_LT(in_order.statistics.judged, whole);
  EXPECT_FALSE(in_order.plans.empty());  // the best so far
  setting.question.parallel = [](size_t count, const std::function<void(size_t, size_t)>& body) {
    for (size_t i = count; i-- > 0;) body(i, i + 1);
  };
  const SearchResult backwards = Search(setting.question);
  ASSERT_EQ(backwards.plans.size(), in_order.plans.size());
  EXPECT_EQ(backwards.statistics.judged, in_order.statistics.judged);
  for (size_t i = 0; i < in_order.plans.size(); ++i) EXPECT_EQ(backwards.plans[i].sizes, in_order.plans[i].sizes);
}

// Layers of a deep model cost more than the number of candidates says, and progress is told by that.
TEST(Search, EndsAtItsUnitsOfWork) {
  Setting setting("deepseek-v3", "h100", 55'440, 55'440, 79);
  setting.Deepen(1200);
  setting.question.units = uint64_t{1} << 25;
  uint64_t calls = 0;
  setting.question.progress = [&calls](const SearchProgress&) {
    ++calls;
    return true;
  };
  const Work work(std::numeric_limits<uint64_t>::max());
  const SearchStatistics s = Search(setting.question).statistics;
  EXPECT_TRUE(s.stopped);
  EXPECT_GE(s.units, setting.question.units);
  EXPECT_LE(s.units, setting.question.units + (uint64_t{1} << 20));
  EXPECT_GE(work.used(), s.units);  // and charged to the caller
  EXPECT_GE(calls, s.units >> 19);
}

// What stays on the GPU whatever is recomputed says so of each layout at once.
TEST(Search, FindsOutCheaplyThatNothingFits) {
  Setting setting("glm-4.6", "l40s", 64, 512, 5);
  const SearchStatistics nothing = Search(setting.question).statistics;
  EXPECT_FALSE(nothing.stopped);
  EXPECT_EQ(nothing.judged, 0);
  EXPECT_EQ(nothing.judged + nothing.memory_bound + nothing.time_bound + nothing.incompatible, nothing.space);
  EXPECT_LT(nothing.units, 1'800'000'000u)
      << nothing.layouts << " layouts, each family of executions by itself: 2,262 million";
}

TEST(Search, EndsWithItsCaller) {
  Setting setting("qwen3-30b-a3b", "h100", 64, 256, 79);
  const Work work(uint64_t{1} << 40, [looks = 0]() mutable { return ++looks > 4; });
  const SearchStatistics s = Search(setting.question).statistics;
  EXPECT_TRUE(s.stopped);
  EXPECT_TRUE(Work::Abandoned());
  EXPECT_LE(s.units, uint64_t{2} << 20);
}

}  // namespace
}  // namespace flightplan
