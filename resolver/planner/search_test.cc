#include "resolver/planner/search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "resolver/catalog/catalog.h"
#include "resolver/planner/search_test_util.h"

namespace flightplan {
namespace {

// Of one layout, every way to execute it.
double BestExecution(const Setting& s, const LayoutSizes& sizes, Candidate c) {
  const SearchQuestion& q = s.question;
  double best = std::numeric_limits<double>::infinity();
  for (const Exchange& e : q.execution.exchanges) {
    for (const Graphs& g : q.execution.graphs) {
      for (const Recompute& r : q.execution.recomputes) {
        for (float offload : q.execution.optimizer_offloads) {
          if (!Compatible(s.shape, sizes, e, g) || !Compatible(e, g, r) || !Compatible(sizes, r)) continue;
          c.dispatcher = e.dispatcher, c.ep_overlap = e.ep_overlap, c.delay_wgrad = e.delay_wgrad;
          c.graphs = g.impl, c.graph_modules = g.modules;
          c.recompute = r.mode, c.recompute_modules = r.modules;
          c.offload_layers = r.offload_layers;
          c.offload_modules = r.offload_tensors;
          c.optimizer_offload = offload;
          MemoryForecast memory;
          ForecastMemory(s.shape, c, q.memory, &memory);
          if (memory.fullest.total.value > q.memory.capacity) continue;
          StepForecast step;
          if (!ForecastStep(s.work, c, q.rates, &step)) continue;
          best = std::min(best, q.objective == SearchObjective::kStepTime ? step.us : memory.fullest.total.value);
        }
      }
    }
  }
  return best;
}

// Every candidate, one by one, with no bound at all.
Ranked BruteForce(Setting& s) {
  const SearchQuestion& q = s.question;
  Ranked ranked;
  for (const LayoutSizes& sizes : LegalLayouts(s.shape, q.layout, kMaxLayouts)) {
    Candidate c = q.base(sizes);
    c.gpus = q.layout.gpus;
    c.tp = sizes.tp, c.pp = sizes.pp, c.vpp = sizes.vpp, c.cp = sizes.cp, c.ep = sizes.ep, c.etp = sizes.etp;
    c.micro_batch_size = sizes.micro_batch_size;
    c.global_batch_size = q.layout.global_batch_size;
    c.seq_length = q.layout.seq_length;
    c.sequence_parallel = sizes.tp > 1;
    double best = std::numeric_limits<double>::infinity();
    for (const std::shared_ptr<const StageLayout>& stages : q.stages(sizes.pp, sizes.vpp)) {
      c.stages = stages.get();
      best = std::min(best, BestExecution(s, sizes, c));
    }
    if (best < std::numeric_limits<double>::infinity()) ranked.emplace_back(best, sizes);
  }
  std::sort(ranked.begin(), ranked.end());
  if (q.keep_alike > 0) {
    std::map<LayoutSizes, size_t> alike;
    std::erase_if(ranked, [&](const auto& one) { return ++alike[MappingOf(one.second)] > q.keep_alike; });
  }
  ranked.resize(std::min(ranked.size(), q.keep));
  return ranked;
}

TEST(Search, LosesNothingToItsBounds) {
  struct Row {
    const char* model;
    int64_t gpus, batch;
    double gib;
  };
  for (const Row& row : {Row{"qwen3-30b-a3b", 8, 8, 79}, Row{"llama-3.1-8b", 8, 16, 30},
                         Row{"moonlight-16b-a3b", 8, 8, 45}, Row{"deepseek-v2-lite", 4, 4, 79}}) {
    SCOPED_TRACE(row.model);
    Setting setting(row.model, "h100", row.gpus, row.batch, row.gib);
    setting.question.execution.recomputes.push_back({RecomputeMode::kNone, 0, 8});
    setting.question.execution.recomputes.push_back({RecomputeMode::kNone, 0, 16});
    const Ranked all = BruteForce(setting);
    EXPECT_FALSE(all.empty());
    ExpectSame(Found(setting.question), all);
  }
}

TEST(Search, LeavesOutWhatAPipelineMayNotDo) {
  Setting setting("moonlight-16b-a3b", "h100", 8, 8, 79);
  for (Recompute& set : setting.question.execution.recomputes) {
    if (set.mode != RecomputeMode::kFullUniform && (set.modules & kDropMlaUpProj) == 0) set.max_pp = 1;
  }
  const Ranked all = BruteForce(setting);
  ExpectSame(Found(setting.question), all);
  size_t pipelines = 0;
  for (const FoundPlan& plan : Search(setting.question).plans) {
    if (plan.sizes.pp == 1) continue;
    ++pipelines;
    EXPECT_TRUE(plan.candidate.recompute == RecomputeMode::kFullUniform ||
                (plan.candidate.recompute_modules & kDropMlaUpProj) != 0);
  }
  EXPECT_GT(pipelines, 0U);
}

TEST(Search, KeepsTheBestFewOfEachMapping) {
  Setting setting("qwen3-30b-a3b", "h100", 16, 64, 79);
  setting.question.keep_alike = 2;
  const Ranked all = BruteForce(setting);
  ExpectSame(Found(setting.question), all);
  std::map<LayoutSizes, size_t> alike;
  for (const auto& [us, sizes] : all) EXPECT_LE(++alike[MappingOf(sizes)], 2U);
  EXPECT_GT(alike.size(), 3U);
}

TEST(LegalLayouts, SplitExpertsWithoutEpAsDenseWeights) {
  Setting setting("qwen3-30b-a3b", "h100", 16, 64, 79);
  const auto differ = [&] {
    size_t count = 0;
    for (const LayoutSizes& sizes : LegalLayouts(setting.shape, setting.question.layout, kMaxLayouts)) {
      count += sizes.ep == 1 && sizes.etp != sizes.tp ? 1 : 0;
    }
    return count;
  };
  EXPECT_GT(differ(), 0U);
  setting.question.layout.experts_as_dense = true;
  EXPECT_EQ(differ(), 0U);
}

TEST(Exchanges, ServeTheGroupsThatTheyName) {
  static constexpr int64_t kGroups[] = {2, 4, 8};
  const Exchange named = {.dispatcher = Dispatcher::kDeepEp, .max_span = 4, .spans = kGroups}, any = {};
  for (const int64_t span : {1, 2, 3, 4, 8}) {
    EXPECT_EQ(Serves(named, span), span == 2 || span == 4) << span;
    EXPECT_TRUE(Serves(any, span));
  }
}

// What CutInVain leaves out is asked for by name, and is never better than what it would be cut down to.
TEST(LegalLayouts, LeaveOutSequencesThatAreCutInVain) {
  for (const char* model : {"qwen3-30b-a3b", "llama-3.1-8b", "deepseek-v2-lite"}) {
    SCOPED_TRACE(model);
    Setting setting(model, "h100", 16, 64, 79);
    for (const LayoutSizes& sizes : LegalLayouts(setting.shape, setting.question.layout, kMaxLayouts)) {
      EXPECT_FALSE(sizes.cp % 2 == 0 && sizes.micro_batch_size % 2 == 0);
    }
    const auto best = [&](int32_t cp, int64_t mbs) {
      Setting given(model, "h100", 16, 64, 79);
      given.question.layout.wish = {.cp = cp, .micro_batch_size = mbs};
      given.question.keep = 1;
      const SearchResult result = Search(given.question);
      return result.plans.empty() ? FoundPlan{} : result.plans.front();
    };
    const FoundPlan whole = best(1, 1), cut = best(2, 2);
    ASSERT_GT(whole.step.us, 0);
    ASSERT_GT(cut.step.us, 0);
    EXPECT_LE(whole.step.us, cut.step.us);
  }
}

TEST(Search, ByMemoryLosesNothingToItsBounds) {
  Setting setting("deepseek-v2-lite", "h100", 4, 4, 79);
  setting.question.objective = SearchObjective::kMemoryHeadroom;
  ExpectSame(Found(setting.question), BruteForce(setting));
}

TEST(Search, KeepsWhatIsGiven) {
  Setting setting("qwen3-30b-a3b", "h100", 32, 128, 79);
  setting.question.layout.wish = {.tp = 2, .pp = 2, .ep = 8};
  const SearchResult result = Search(setting.question);
  ASSERT_FALSE(result.plans.empty());
  for (const FoundPlan& plan : result.plans) {
    EXPECT_EQ(plan.sizes.tp, 2);
    EXPECT_EQ(plan.sizes.pp, 2);
    EXPECT_EQ(plan.sizes.ep, 8);
  }
}

TEST(Search, CountsEveryCandidateOnce) {
  for (const SearchObjective objective : {SearchObjective::kStepTime, SearchObjective::kMemoryHeadroom}) {
    Setting setting("moonlight-16b-a3b", "h100", 16, 64, 60);
    setting.question.objective = objective;
    const SearchStatistics s = Search(setting.question).statistics;
    EXPECT_GT(s.judged, 0);
    EXPECT_EQ(s.judged + s.memory_bound + s.time_bound + s.incompatible, s.space);
  }
}

// A list by memory was thirty to a thousand times as dear as one by time.
TEST(Search, ByMemoryJudgesOneCandidateInAThousand) {
  Setting setting("deepseek-v3", "h100", 128, 1024, 79);
  setting.question.objective = SearchObjective::kMemoryHeadroom;
  const SearchStatistics s = Search(setting.question).statistics;
  EXPECT_GT(s.judged, 0);
  EXPECT_LT(s.judged, s.space / 1000);
}

TEST(Search, LeavesTheRoomThatIsAskedFor) {
  Setting setting("qwen3-30b-a3b", "h100", 16, 128, 79);
  const double tight = Search(setting.question).plans.front().step.us;
  setting.question.room = 0.8;
  const SearchResult strict = Search(setting.question);
  ASSERT_FALSE(strict.plans.empty());
  for (const FoundPlan& plan : strict.plans) EXPECT_LE(plan.memory.value, 0.8 * setting.question.memory.capacity);
  EXPECT_GE(strict.plans.front().step.us, tight);
}

TEST(Search, LeavesOutWhatIsBehindTheLimit) {
  Setting setting("qwen3-30b-a3b", "h100", 16, 128, 79);
  const SearchResult all = Search(setting.question);
  ASSERT_GT(all.plans.size(), 6U);
  const auto score = [](const FoundPlan& plan) { return plan.step.us * plan.caution; };
  setting.question.limit = score(all.plans[4]);
  const SearchResult limited = Search(setting.question);
  ASSERT_EQ(limited.plans.size(), 5U);
  for (size_t i = 0; i < limited.plans.size(); ++i) EXPECT_EQ(limited.plans[i].sizes, all.plans[i].sizes);
  EXPECT_LT(limited.statistics.judged, all.statistics.judged);
}

// Graphs take the host's time: what is said of that tells those with and without them apart.
TEST(SearchExecutions, LeavesOutWhatIsOfNoUse) {
  Setting s("qwen3-30b-a3b", "h100-sxm", 16, 256, 60);
  s.question.execution.exchanges.resize(1);
  const LayoutSizes sizes{1, 2, 2, 1, 8, 1, 1};
  const std::shared_ptr<const StageLayout> held = s.question.stages(2, 2).front();
  const StageLayout& stages = *held;
  const auto find = [&](const SearchQuestion& question, const OfUse& of_use) {
    return SearchExecutions(question, sizes, stages, std::numeric_limits<double>::max(), of_use);
  };
  const auto only = [&](size_t graphs) {
    SearchQuestion question = s.question;
    question.execution.graphs = {s.question.execution.graphs[graphs]};
    return *find(question, nullptr);
  };
  const FoundPlan without = only(0), with = only(1);
  ASSERT_LT(with.step.us, without.step.us);
  const double between = (with.step.parts.host + without.step.parts.host) / 2;
  const auto found_us = [&](const OfUse& of_use) { return find(s.question, of_use)->step.us; };
  EXPECT_EQ(found_us(nullptr), with.step.us);
  EXPECT_EQ(found_us([](const StepForecast&) { return true; }), with.step.us);
  EXPECT_EQ(found_us([&](const StepForecast& step) { return step.parts.host > between; }), without.step.us);
  EXPECT_EQ(found_us([&](const StepForecast& step) { return step.parts.host < between; }), with.step.us);
  EXPECT_FALSE(find(s.question, [](const StepForecast&) { return false; }).has_value());
}

TEST(LegalLayouts, GiveTheEmbeddingAndTheLossStagesOfTheirOwn) {
  const Catalog catalog = *Catalog::Builtin();
  const ModelShape shape = *MakeShape(**catalog.FindModel("llama-3.1-405b"));  // 126 layers
  const auto count = [&](int32_t pp, int32_t vpp, bool even) {
    return LegalLayouts(shape,
                        {.gpus = 128,
                         .global_batch_size = 768,
                         .seq_length = 8192,
                         .wish = {.tp = 4, .pp = pp, .vpp = vpp, .cp = 1, .micro_batch_size = 1},
                         .even_stages = even},
                        10)
        .size();
  };
  EXPECT_EQ(count(16, 8, false), 1U);  // 128 stages, as published
  EXPECT_EQ(count(16, 9, false), 0U);
  EXPECT_EQ(count(16, 8, true), 0U);
}

TEST(LegalLayouts, CutAScanAndSinksByTheirHeads) {
  const Catalog catalog = *Catalog::Builtin();
  const auto legal = [&](const char* model, int32_t tp, int32_t cp) {
    const ModelShape shape = *MakeShape(**catalog.FindModel(model));
    const LayoutQuestion question = {
        .gpus = 256, .global_batch_size = 256, .seq_length = 65536, .wish = {.tp = tp, .pp = 1, .cp = cp}};
    return !LegalLayouts(shape, question, 1).empty();
  };
  EXPECT_TRUE(legal("nemotron-h-8b", 8, 16));  // 128 heads of 8 groups
  EXPECT_FALSE(legal("nemotron-h-8b", 8, 32));
  EXPECT_TRUE(legal("qwen3-next-80b-a3b", 2, 8));  // 16 key heads
  EXPECT_FALSE(legal("qwen3-next-80b-a3b", 4, 8));
  EXPECT_TRUE(legal("gpt-oss-120b", 1, 8));  // sinks: 64 heads of 8 groups
  EXPECT_FALSE(legal("gpt-oss-120b", 1, 16));
  EXPECT_FALSE(legal("gpt-oss-120b", 2, 8));
}

TEST(Search, SaysWhenNothingFits) {
  Setting setting("deepseek-v3", "h100", 8, 64, 79);
  const SearchResult result = Search(setting.question);
  EXPECT_TRUE(result.plans.empty());
  EXPECT_GT(result.statistics.layouts, 0);
}

TEST(LegalLayouts, HoldAtAbsurdSizes) {
  const Catalog catalog = *Catalog::Builtin();
  const ModelShape shape = *MakeShape(**catalog.FindModel("deepseek-v3"));
  for (int64_t gpus : {int64_t{1}, int64_t{7919}, int64_t{1} << 20}) {
    LayoutQuestion question{.gpus = gpus, .global_batch_size = gpus * 8, .seq_length = 10'000'019};
    for (const LayoutSizes& sizes : LegalLayouts(shape, question, 5000)) {
      EXPECT_EQ(gpus % (int64_t{sizes.tp} * sizes.pp * sizes.cp), 0);
      EXPECT_EQ(gpus % (int64_t{sizes.etp} * sizes.ep * sizes.pp), 0);
      EXPECT_EQ(shape.experts % sizes.ep, 0);
    }
  }
}

}  // namespace
}  // namespace flightplan
