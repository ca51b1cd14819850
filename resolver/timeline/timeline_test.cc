#include "resolver/timeline/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/work.h"
#include "resolver/catalog/catalog.h"

namespace flightplan {
namespace {

using K = TimelineKind;

const Catalog& TheCatalog() {
  static const Catalog& catalog = *new Catalog(*Catalog::Builtin());
  return catalog;
}

// A model on a GPU with a layout; a candidate that the forecast takes.
struct Case {
  ModelShape shape;
  ModelWork work;
  StageLayout stages;
  Candidate plan;
  GpuRates rates;
  std::string name;

  Case(const ModelSpec& model, const GpuSystem& gpu, int pp, int vpp)
      : shape(*MakeShape(model)), work(WorkOf(shape)), rates(RatesOf(gpu)) {
    Config config;
    config.Set(Knob::pipeline_model_parallel_size, Value(pp), Origin::kCaller);
    if (vpp > 1) config.Set(Knob::virtual_pipeline_model_parallel_size, Value(vpp), Origin::kCaller);
    stages = StagesOf(shape, config);
    plan.pp = stages.pp;
    plan.vpp = stages.vpp;
    plan.seq_length = 4096;
    name = absl::StrCat(model.name, " on ", gpu.name, " PP", plan.pp, " VPP", plan.vpp);
  }
  Case(const char* model, const char* gpu, int pp, int vpp)
      : Case(**TheCatalog().FindModel(model), **TheCatalog().FindGpu(gpu), pp, vpp) {}

  // Gives every data-parallel rank so many microbatches.
  void Batch(int64_t microbatches) {
    plan.stages = &stages;
    plan.global_batch_size = microbatches * plan.micro_batch_size * plan.gpus / (int64_t{plan.tp} * plan.cp * plan.pp);
  }
  Timeline Draw(const TimelineAsked& asked = {}) {
    plan.stages = &stages;
    const absl::StatusOr<Timeline> timeline = DrawStep(shape, work, plan, rates, asked);
    EXPECT_TRUE(timeline.ok()) << name << ": " << timeline.status();
    return timeline.ok() ? *timeline : Timeline();
  }
};

int Pick(std::mt19937* random, const std::vector<int>& values) {
  return values[std::uniform_int_distribution<size_t>(0, values.size() - 1)(*random)];
}

// Any layout that a forecast takes, whether or not a stack would.
Case Random(const ModelSpec& model, const GpuSystem& gpu, std::mt19937* random) {
  const int pp = Pick(random, {1, 1, 2, 4, 8}), vpp = pp > 1 ? Pick(random, {1, 2, 3}) : 1;
  Case c(model, gpu, pp, vpp);
  Candidate& plan = c.plan;
  const auto chance = [&] { return Pick(random, {0, 1}) == 1; };
  plan.tp = Pick(random, {1, 2, 4});
  plan.cp = Pick(random, {1, 1, 2});
  plan.sequence_parallel = plan.tp > 1;
  plan.gpus = int64_t{plan.tp} * plan.cp * plan.pp * Pick(random, {1, 2, 8});
  if (c.shape.is_moe()) {
    for (int ep : {8, 4, 2}) {
      if (plan.gpus / plan.pp % ep == 0 && c.shape.experts % ep == 0 && chance()) plan.ep = ep;
    }
    plan.ep_overlap = plan.ep > 1 && (plan.pp == 1 || plan.vpp > 1) && chance();
    plan.delay_wgrad = plan.ep_overlap && chance();
    plan.early_attn_release = plan.ep_overlap && chance();
    plan.shared_expert_overlap = !plan.ep_overlap && chance();
    plan.dispatcher = static_cast<Dispatcher>(Pick(random, {1, 2, 3}));
  }
  plan.tp_overlap = chance();
  plan.overlap_grad_reduce = chance();
  plan.overlap_param_gather = chance();
  const int shards = plan.pp == 1 ? Pick(random, {0, 0, 0, 1, 2}) : 0;
  plan.shard_weights = shards == 1;
  plan.shard_gradients = shards > 0;
  plan.recompute = plan.ep_overlap ? RecomputeMode::kNone : static_cast<RecomputeMode>(Pick(random, {0, 1, 2, 3}));
  plan.recompute_modules = kDropCoreAttn | kDropLayernorm | kDropMoeAct;
  plan.graphs = static_cast<GraphImpl>(Pick(random, {0, 2, 3}));
  plan.offload_layers = Pick(random, {0, 0, 2});
  plan.precision = static_cast<GemmPrecision>(Pick(random, {0, 0, 4}));
  plan.bf16_layers = static_cast<uint16_t>(Pick(random, {0, 4}));
  c.Batch(int64_t{Pick(random, {1, 2, 4})} * pp * Pick(random, {1, 2, 3}));
  return c;
}

double Sum(const KindTimes& times) {
  double sum = 0;
  for (double us : times) sum += us;
  return sum;
}

template <class Body>
void ForRandomSteps(int each, const Body& body) {
  std::mt19937 random(20261125);
  for (const ModelSpec& model : TheCatalog().models()) {
    if (!MakeShape(model).ok()) continue;
    for (const GpuSystem& gpu : TheCatalog().gpus()) {
      if (!RatesOf(gpu).known) continue;
      for (int i = 0; i < each; ++i) {
        Case c = Random(model, gpu, &random);
        body(&c);
      }
    }
  }
}

// Of every schedule: without a pipeline, 1F1B, interleaved; with EP overlap, delayed weight gradients, full recompute.
TEST(Timeline, OfEveryModelAddsUpToTheForecast) {
  int drawn = 0;
  std::set<std::tuple<TimelineSchedule, bool, bool, bool>> kinds;
  ForRandomSteps(4, [&](Case* c) {
    StepForecast step;
    ASSERT_TRUE(ForecastStep(c->work, c->plan, c->rates, &step)) << c->name;
    TimelineAsked asked;
    asked.zooms = {TimelineZoom::kStep};
    const Timeline t = c->Draw(asked);
    const double slack = 1e-9 * step.us;
    EXPECT_EQ(t.step_us, step.us);
    EXPECT_EQ(t.scheduled_us, step.us);
    EXPECT_EQ(t.views[0].us, step.us);
    EXPECT_NEAR(Sum(t.forecast), step.us, slack) << c->name;
    EXPECT_NEAR(Sum(t.scheduled), step.us, slack) << c->name;
    for (double us : t.scheduled) EXPECT_GE(us, -slack) << c->name;
    kinds.emplace(t.schedule, t.combined, t.delayed_weight_gradients, c->plan.recompute >= RecomputeMode::kFullUniform);
    for (const TimelineRank& rank : t.ranks) {
      EXPECT_NEAR(rank.busy_us + rank.transfer_us + rank.bubble_us + rank.once_us, t.scheduled_us, slack) << c->name;
      EXPECT_GE(rank.bubble_us, -slack);
    }
    ++drawn;
  });
  EXPECT_GT(drawn, 1000);
  // 1F1B has no EP overlap, which has no full recompute: 2 x 1, and 3 of the combined ones and 2 others of the rest.
  EXPECT_EQ(kinds.size(), 2u + 4u + 4u);
}

// The waits of the whole picture, rank by rank, are what the totals say; passes follow each other.
TEST(Timeline, EachRankEndsWithTheStep) {
  ForRandomSteps(1, [&](Case* c) {
    TimelineAsked asked;
    asked.zooms = {TimelineZoom::kStep};
    asked.max_events = 32768;
    const Timeline t = c->Draw(asked);
    std::map<int, double> end, exposed;
    for (const TimelineEvent& event : t.views[0].events) {
      end[event.rank] = std::max(end[event.rank], event.start_us + event.us);
      exposed[event.rank] += event.exposed_us;
    }
    ASSERT_EQ(end.size(), static_cast<size_t>(t.pp)) << c->name;
    for (const auto& [rank, us] : end)
      EXPECT_NEAR(us, t.step_us, 1e-6 * t.step_us + 1e-3) << c->name << " rank " << rank;
    for (const auto& [rank, us] : exposed) EXPECT_LE(us, t.step_us * (1 + 1e-6)) << c->name << " rank " << rank;
  });
}

// Where the forecast counts other waits than the order of passes needs, it is said.
TEST(Timeline, SaysWhereTheSamePassesEndByThemselves) {
  int said = 0;
  ForRandomSteps(1, [&](Case* c) {
    const Timeline t = c->Draw();
    const double off = std::abs(t.step_us - t.replayed_us);
    const bool note = std::any_of(t.notes.begin(), t.notes.end(),
                                  [](const std::string& text) { return absl::StartsWith(text, "Waits are drawn"); });
    EXPECT_EQ(note, off > 1e-4 * t.step_us) << c->name;
    said += note ? 1 : 0;
  });
  EXPECT_GT(said, 100);
}

// The forecast's closed formulas against its own pieces, replayed in upstream's order.
TEST(Timeline, TheForecastIsNearTheReplayOfItsPieces) {
  std::vector<double> off;
  ForRandomSteps(4, [&](Case* c) {
    const Timeline t = c->Draw();
    off.push_back(t.step_us / t.replayed_us - 1);
  });
  std::sort(off.begin(), off.end());
  const auto at = [&](size_t per_thousand) { return off[(off.size() - 1) * per_thousand / 1000]; };
  const std::string seen = absl::StrCat(off.size(), " steps: ", at(0), " ", at(2), " ", at(10), " ", at(50), " ",
                                        at(500), " ", at(950), " ", at(990), " ", at(1000));
  // Of 45,864 steps 42 were below -0.13: few layers a chunk, and few groups of microbatches; a draw of 5,000 may have
  // twice as many. The worst of all draws so far was -0.23, of Nemotron's uneven chunks.
  EXPECT_GT(at(0), -0.25) << seen;
  EXPECT_GT(at(2), -0.13) << seen;
  EXPECT_GT(at(50), -0.02) << seen;
  EXPECT_NEAR(at(500), 0, 0.001) << seen;
  EXPECT_LT(at(950), 0.02) << seen;
  EXPECT_LT(at(1000), 0.15) << seen;
}

// Without EP overlap a rank does in the schedule what it does in the forecast, kind by kind: they differ by waiting
// alone.
TEST(Timeline, DiffersFromTheForecastByWaitingAlone) {
  ForRandomSteps(1, [&](Case* c) {
    TimelineAsked asked;
    asked.zooms = {TimelineZoom::kSteady};
    if (c->plan.ep_overlap) return;
    const Timeline t = c->Draw(asked);
    for (size_t kind = 1; kind < kTimelineKinds; ++kind) {
      if (kind == At(K::kBubble) || kind == At(K::kPipelineTransfer)) continue;
      EXPECT_NEAR(t.scheduled[kind], t.forecast[kind], 1e-9 * t.step_us) << c->name << " kind " << kind;
    }
    StepForecast step;
    ASSERT_TRUE(ForecastStep(c->work, c->plan, c->rates, &step));
    const HiddenCommunication& h = step.hidden;
    EXPECT_NEAR(t.hidden[At(K::kTensorParallel)], h.tensor_parallel, 1e-9 * t.step_us);
    EXPECT_NEAR(t.hidden[At(K::kContextParallel)], h.context_parallel, 1e-9 * t.step_us);
    EXPECT_NEAR(t.hidden[At(K::kExpertExchange)], h.expert_exchange, 1e-9 * t.step_us);
    EXPECT_NEAR(t.hidden[At(K::kPipelineTransfer)], h.pipeline_transfer, 1e-9 * t.step_us);
    EXPECT_NEAR(t.hidden[At(K::kGradientReduce)] + t.hidden[At(K::kParameterGather)], h.data_parallel,
                1e-9 * t.step_us);
  });
}

// Without a pipeline and without EP overlap there is nothing to wait for.
TEST(Timeline, WithoutAPipelineIsTheForecast) {
  Case c("qwen3-30b-a3b", "h100", 1, 1);
  c.plan.gpus = 16;
  c.plan.ep = 16;
  c.Batch(8);
  EXPECT_NEAR(c.Draw().replayed_us, c.Draw().step_us, 1e-3);
  // One forward and one backward alone, as the forecast has it.
  c.plan.ep_overlap = true;
  EXPECT_NEAR(c.Draw().replayed_us, c.Draw().step_us, 1e-3);
}

TEST(Timeline, EventsOfOneStreamDoNotOverlap) {
  ForRandomSteps(1, [&](Case* c) {
    const Timeline t = c->Draw();
    ASSERT_EQ(t.views.size(), 3u);
    for (const TimelineView& view : t.views) {
      ASSERT_FALSE(view.events.empty()) << c->name;
      const TimelineEvent* last = nullptr;
      for (const TimelineEvent& event : view.events) {
        EXPECT_GE(event.start_us, 0);
        EXPECT_GT(event.us, 0);
        EXPECT_LE(event.start_us + event.us, view.us * (1 + 1e-9)) << c->name << " " << event.name;
        EXPECT_LE(event.exposed_us, event.us * (1 + 1e-9)) << c->name << " " << event.name;
        if (last != nullptr && last->rank == event.rank && last->stream == event.stream) {
          EXPECT_GE(event.start_us, (last->start_us + last->us) - 1e-9 * view.us - 1e-3)
              << c->name << " " << view.title << ": " << last->name << ", " << event.name;
        }
        last = &event;
      }
    }
  });
}

// The middle of a rank's schedule, layer by layer, takes what its passes take.
TEST(Timeline, TheSteadyStateTakesWhatItsPassesTake) {
  ForRandomSteps(1, [&](Case* c) {
    if (c->plan.bf16_layers > 0 && c->plan.ep_overlap) return;
    TimelineAsked asked;
    asked.zooms = {TimelineZoom::kStep, TimelineZoom::kSteady};
    asked.max_events = 32768;
    const Timeline t = c->Draw(asked);
    double exposed = 0, passes = 0;
    for (const TimelineEvent& event : t.views[1].events) {
      if (event.stream != TimelineStream::kExpert || !t.combined) exposed += event.exposed_us;
    }
    if (t.combined) return;  // two streams run at once: lengths do not add up
    const size_t at = t.views[1].title.find(": ");
    for (const TimelineEvent& event : t.views[0].events) {
      if (event.rank != t.slowest || event.pass < 0) continue;
      const std::string wanted = t.views[1].title.substr(at + 2);
      const bool drawn = absl::StartsWith(wanted, absl::StrCat(event.name, ", ")) ||
                         absl::StrContains(wanted, absl::StrCat(", then ", event.name, " "));
      if (!drawn) continue;
      passes += event.us;
    }
    double transfers = 0;
    for (const TimelineEvent& event : t.views[1].events) {
      if (event.kind == K::kPipelineTransfer) transfers += event.exposed_us;
    }
    EXPECT_NEAR(exposed - transfers, passes, 1e-6 * t.step_us) << c->name << " " << t.views[1].title;
  });
}

TEST(Timeline, JoinsWhatIsTooMuch) {
  Case c("deepseek-v3", "h100", 16, 2);
  c.plan.gpus = 1024;
  c.plan.ep = 64;
  c.plan.tp = 1;
  c.Batch(512);
  TimelineAsked asked;
  asked.zooms = {TimelineZoom::kStep};
  const Timeline t = c.Draw(asked);
  EXPECT_LE(t.views[0].events.size(), 4096u);
  std::map<int, int64_t> passes;
  for (const TimelineEvent& event : t.views[0].events) {
    if (event.pass >= 0) ++passes[event.rank];
    if (event.kind == K::kPasses) passes[event.rank] += event.repeat;
  }
  ASSERT_EQ(passes.size(), 16u);
  for (const auto& [rank, count] : passes) EXPECT_EQ(count, 2 * 2 * 512) << rank;
  asked.ranks = {3};
  const Timeline one = c.Draw(asked);
  for (const TimelineEvent& event : one.views[0].events) EXPECT_EQ(event.rank, 3);
}

TEST(Timeline, EndsWithItsCaller) {
  Case c("deepseek-v3", "h100", 16, 2);
  c.plan.gpus = 1024;
  c.Batch(512);
  const Work work(1000);
  EXPECT_EQ(DrawStep(c.shape, c.work, c.plan, c.rates, {}).status().code(), absl::StatusCode::kCancelled);
}

// Two million passes were 160 MiB and 304 ms.
TEST(Timeline, PassesHaveABoundAndCountAsWork) {
  Case c("deepseek-v3", "h100", 16, 2);
  c.plan.gpus = 1024;
  c.Batch(8192);
  const Work work(uint64_t{1} << 40);
  EXPECT_TRUE(DrawStep(c.shape, c.work, c.plan, c.rates, {}).ok());
  const uint64_t passes = uint64_t{2} * 8192 * 16 * 2;
  EXPECT_GT(work.used(), 100 * passes);
  EXPECT_LT(work.used(), 250 * passes);
  c.Batch(8193);
  EXPECT_EQ(DrawStep(c.shape, c.work, c.plan, c.rates, {}).status().message(),
            "a step of 524352 passes; at most 524288 are drawn: PP 16 x VPP 2 x 8193 microbatches");
}

TEST(Timeline, RefusesWhatItCannotDraw) {
  Case c("deepseek-v3", "h100", 16, 2);
  c.plan.gpus = 1024;
  c.Batch(int64_t{1} << 20);
  EXPECT_EQ(DrawStep(c.shape, c.work, c.plan, c.rates, {}).status().code(), absl::StatusCode::kFailedPrecondition);
  c.Batch(64);
  TimelineAsked asked;
  asked.ranks = {16};
  EXPECT_EQ(DrawStep(c.shape, c.work, c.plan, c.rates, asked).status().code(), absl::StatusCode::kInvalidArgument);
  asked = {};
  asked.layer = 61;
  EXPECT_EQ(DrawStep(c.shape, c.work, c.plan, c.rates, asked).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Timeline, DrawsALayerOnTheRankThatHoldsIt) {
  Case c("deepseek-v3", "h100", 4, 2);
  c.plan.gpus = 1024;
  c.Batch(64);
  const StageLayout& stages = *c.plan.stages;
  TimelineAsked asked;
  asked.zooms = {TimelineZoom::kLayer};
  int64_t layer = 0;
  for (size_t i = 0; i < stages.chunks.size(); ++i) {
    const int rank = static_cast<int>(i % static_cast<size_t>(stages.pp));
    for (int64_t end = layer + stages.chunks[i].Layers(); layer < end; ++layer) {
      asked.layer = layer;
      asked.detail_rank = -1;
      const absl::StatusOr<Timeline> timeline = DrawStep(c.shape, c.work, c.plan, c.rates, asked);
      ASSERT_TRUE(timeline.ok()) << timeline.status();
      EXPECT_EQ(timeline->views.front().events.front().rank, rank) << layer;
      asked.detail_rank = (rank + 1) % stages.pp;
      EXPECT_EQ(DrawStep(c.shape, c.work, c.plan, c.rates, asked).status().message(),
                absl::StrCat("layer_index: ", layer, " is on pipeline rank ", rank, ", and detail_pipeline_rank is ",
                             asked.detail_rank, ": leave the rank out"));
    }
  }
  EXPECT_EQ(layer, 61);
}

// ---- the order of passes

}  // namespace
}  // namespace flightplan
