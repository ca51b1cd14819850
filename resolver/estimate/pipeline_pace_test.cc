// What the forecast says of a pipeline, that every microbatch passes at the pace of the slowest rank, that it fills and
// drains at the others' divided by the virtual stages, and that uneven chunks keep a combined schedule and long
// pipelines waiting, against upstream's interleaved order replayed operation by operation, for stages as uneven as a
// search tries.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "resolver/derive/pipeline.h"
#include "resolver/derive/steady_passes.h"

namespace flightplan {
namespace {

// A pass: forward, backward, or in a combined schedule both.
struct Pass {
  int forward = -1, forward_chunk = 0, backward = -1, backward_chunk = 0;
};

struct Pipeline {
  int pp = 1, vpp = 1, microbatches = 1;
  bool combined = false;
  double paired = 1;           // what a pass of a pair takes of what it takes alone
  std::vector<double> stages;  // time of each stage's forward, in order of execution; a backward takes twice as long
};

// Megatron-LM megatron/core/pipeline_parallel/schedules.py and combined_1f1b.py, groups of pp microbatches.
std::vector<Pass> OrderOf(const Pipeline& p, int rank) {
  std::vector<std::pair<int, int>> passes;
  for (int group = 0; group < p.microbatches; group += p.pp) {
    for (int chunk = 0; chunk < p.vpp; ++chunk) {
      for (int m = group; m < std::min(p.microbatches, group + p.pp); ++m) passes.emplace_back(m, chunk);
    }
  }
  const int total = p.microbatches * p.vpp, below = p.pp - rank - 1;
  const int ahead = p.vpp == 1 ? below : 2 * below + (p.vpp - 1) * p.pp;
  const int warm_up = std::min(total, ahead + (p.combined ? 1 : 0));
  std::vector<Pass> order;
  for (int i = 0; i < total + warm_up; ++i) {
    Pass forward, backward;
    if (i < total) std::tie(forward.forward, forward.forward_chunk) = passes[static_cast<size_t>(i)];
    if (i >= warm_up) {
      const auto& [m, chunk] = passes[static_cast<size_t>(i - warm_up)];
      backward.backward = m, backward.backward_chunk = p.vpp - 1 - chunk;
    }
    if (p.combined && forward.forward >= 0 && backward.backward >= 0) {
      forward.backward = backward.backward, forward.backward_chunk = backward.backward_chunk;
      backward.backward = -1;
    }
    if (forward.forward >= 0) order.push_back(forward);
    if (backward.backward >= 0) order.push_back(backward);
  }
  return order;
}

double Replay(const Pipeline& p) {
  const int count = p.pp * p.vpp;
  const auto at = [&](int m, int stage) {
    return static_cast<size_t>(m) * static_cast<size_t>(count) + static_cast<size_t>(stage);
  };
  std::vector<double> fwd(static_cast<size_t>(p.microbatches * count), -1), bwd = fwd;
  std::vector<std::vector<Pass>> orders;
  orders.reserve(static_cast<size_t>(p.pp));
  for (int rank = 0; rank < p.pp; ++rank) orders.push_back(OrderOf(p, rank));
  std::vector<size_t> next(static_cast<size_t>(p.pp), 0);
  std::vector<double> now(static_cast<size_t>(p.pp), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < p.pp; ++rank) {
      const auto r = static_cast<size_t>(rank);
      for (; next[r] < orders[r].size(); ++next[r]) {
        const Pass& pass = orders[r][next[r]];
        const int to = pass.forward_chunk * p.pp + rank, back = pass.backward_chunk * p.pp + rank;
        double ready = 0, us = 0;
        if (pass.forward >= 0) {
          if (to > 0) ready = fwd[at(pass.forward, to - 1)];
          us += p.stages[static_cast<size_t>(to)];
        }
        if (pass.backward >= 0) {
          const double given = back + 1 < count ? bwd[at(pass.backward, back + 1)] : fwd[at(pass.backward, back)];
          ready = given < 0 ? given : ready < 0 ? ready : std::max(ready, given);
          us += 2 * p.stages[static_cast<size_t>(back)];
        }
        if (ready < 0) break;
        if (pass.forward >= 0 && pass.backward >= 0) us *= p.paired;
        now[r] = std::max(now[r], ready) + us;
        if (pass.forward >= 0) fwd[at(pass.forward, to)] = now[r];
        if (pass.backward >= 0) bwd[at(pass.backward, back)] = now[r];
        moved = true;
      }
    }
  }
  for (size_t r = 0; r < orders.size(); ++r) EXPECT_EQ(next[r], orders[r].size()) << "rank " << r << " waits for ever";
  return *std::max_element(now.begin(), now.end());
}

// Mean over the slots of the longest pair of passes; `us` of each of the steady state's chunks.
double MeanSlot(const SteadyPasses& steady, const std::vector<double>& us) {
  double slots = 0;
  size_t i = 0;
  for (const SteadyPasses::Slot& slot : steady.slots) {
    double longest = 0;
    for (; i < slot.end; ++i) {
      const PassPair& pair = steady.pairs[i];
      longest = std::max(longest, us[pair.forward] + 2 * us[pair.backward]);
    }
    slots += slot.share * longest;
  }
  return slots;
}

// As Schedule::TimeMicrobatch has it, of `split` layers a stage and a last stage with `tail` layers more.
double Forecast(const Pipeline& p, const std::vector<int64_t>& split, double tail) {
  std::vector<double> ranks(static_cast<size_t>(p.pp), 0);
  for (size_t i = 0; i < p.stages.size(); ++i) ranks[i % ranks.size()] += 3 * p.stages[i];
  double all = 0;
  for (double rank : ranks) all += rank;
  const double slowest = *std::max_element(ranks.begin(), ranks.end());
  const double unpaired = p.combined ? std::min<double>(p.microbatches, ((p.vpp - 1.0) * p.pp + 1) / p.vpp) : 0;
  std::vector<ChunkContents> chunks(split.size());
  for (size_t i = 0; i < split.size(); ++i) chunks[i].layers[0] = static_cast<uint16_t>(split[i]);
  chunks.back().loss = true;
  const SteadyPasses passes = SteadyPassesOf(MakeStageLayout(p.pp, p.vpp, chunks));
  std::vector<double> us;
  for (const RankContents& chunk : passes.chunks) us.push_back(chunk.layers[0] + tail * chunk.losses);
  const double share = p.combined ? 1 : std::max(0.0, 1 - 4.0 / p.pp);
  const double waits = us.empty() ? 0 : share * std::max(0.0, p.vpp * MeanSlot(passes, us) / slowest - 1);
  const double steady = (p.microbatches - unpaired) * slowest * p.paired;
  return steady * (1 + waits) + unpaired * slowest + (all - slowest) / p.vpp;
}

TEST(PipelinePace, HoldsForStagesAsUnevenAsASearchTries) {
  struct Row {
    int layers, mtp, pp, vpp, microbatches;
    double tail;  // what the last stage has beside its layers, in layers
  };
  for (const Row& row : {Row{80, 0, 4, 5, 32, 2}, Row{80, 0, 4, 11, 32, 2}, Row{80, 0, 8, 5, 64, 1.2},
                         Row{56, 0, 2, 16, 4, 0.3}, Row{56, 0, 2, 7, 4, 0.3}, Row{56, 0, 4, 14, 16, 0.3},
                         Row{61, 1, 8, 4, 64, 3.5}, Row{48, 1, 2, 12, 16, 3.6}, Row{36, 0, 4, 4, 16, 2.5}}) {
    for (const std::vector<int64_t>& split : StageSplits(row.layers, row.mtp, row.pp, row.vpp, row.tail)) {
      for (const double paired : {1.0, 0.8}) {
        Pipeline p{row.pp, row.vpp, row.microbatches, paired < 1, paired, {split.begin(), split.end()}};
        p.stages.back() += row.tail;
        EXPECT_NEAR(Forecast(p, split, row.tail) / Replay(p), 1, 0.04)
            << row.layers << " layers, PP" << row.pp << " VPP" << row.vpp << " " << LayoutText(split, row.mtp)
            << (p.combined ? " combined" : "");
      }
    }
  }
}

// Equal chunks: no more and no less.
TEST(PipelinePace, IsExactForEvenStages) {
  for (const int pp : {2, 4, 8}) {
    for (const int vpp : {1, 2, 5}) {
      for (const int microbatches : {pp, 4 * pp}) {
        for (const double paired : {1.0, 0.8}) {
          if (paired < 1 && vpp == 1) continue;  // EP overlap needs virtual stages
          const std::vector<int64_t> split(static_cast<size_t>(pp * vpp), 2);
          const Pipeline p{pp, vpp, microbatches, paired < 1, paired, {split.begin(), split.end()}};
          EXPECT_NEAR(Forecast(p, split, 0) / Replay(p), 1, 1e-9) << "PP" << pp << " VPP" << vpp << " " << microbatches;
        }
      }
    }
  }
}

}  // namespace
}  // namespace flightplan
