#include "resolver/timeline/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace flightplan {
namespace {

struct Sizes {
  int pp, vpp;
  int64_t microbatches;
  bool combined;
};

const Sizes kSizes[] = {{1, 1, 1, false}, {1, 1, 6, true},  {2, 1, 5, false},  {4, 1, 2, false}, {8, 1, 32, false},
                        {4, 2, 8, false}, {4, 4, 16, true}, {8, 3, 24, false}, {2, 6, 6, true},  {16, 4, 64, true}};

TEST(OrderOfPasses, RunsEveryPassOnceAsTheScheduleSays) {
  for (const Sizes& z : kSizes) {
    const Schedule s{z.pp, z.vpp, z.microbatches, z.pp, z.combined};
    for (int rank = 0; rank < z.pp; ++rank) {
      const std::vector<PipelinePass> order = OrderOfPasses(s, rank, z.combined);
      std::set<std::pair<int64_t, int>> forwards, backwards;
      int64_t first_backward = -1, combined = 0;
      for (const PipelinePass& pass : order) {
        if (pass.backward() && first_backward < 0) first_backward = static_cast<int64_t>(forwards.size());
        if (pass.forward()) {
          EXPECT_TRUE(forwards.emplace(pass.forward_microbatch, pass.forward_chunk).second);
        }
        if (pass.backward()) {
          EXPECT_TRUE(backwards.emplace(pass.backward_microbatch, pass.backward_chunk).second);
        }
        combined += pass.combined() ? 1 : 0;
      }
      const int64_t total = z.microbatches * z.vpp, warm_up = WarmUpPasses(s, rank);
      EXPECT_EQ(static_cast<int64_t>(forwards.size()), total);
      EXPECT_EQ(static_cast<int64_t>(backwards.size()), total);
      EXPECT_EQ(combined, z.combined ? total - warm_up : 0);
      EXPECT_EQ(first_backward, z.combined ? warm_up : std::min(total, warm_up + 1));
    }
  }
}

TEST(ReplayPasses, WaitsForWhatItNeeds) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> length(1, 3);
  for (const Sizes& z : kSizes) {
    const Schedule s{z.pp, z.vpp, z.microbatches, z.pp, z.combined};
    std::vector<std::vector<PassLengths>> lengths(static_cast<size_t>(z.pp));
    for (auto& row : lengths) {
      for (int chunk = 0; chunk < z.vpp; ++chunk) row.push_back({length(random), length(random), 0.9, 1.7});
    }
    const PipelineHop hop{0.25, 0.5};
    const auto replay = ReplayPasses(s, z.combined, lengths, hop, std::vector<double>(lengths.size(), 1.0));
    ASSERT_TRUE(replay.ok()) << replay.status();
    using Key = std::tuple<int64_t, int>;  // microbatch, stage
    std::map<Key, PipelinePass> forwards, backwards;
    for (int rank = 0; rank < z.pp; ++rank) {
      double free = 1;
      for (const PipelinePass& pass : replay->ranks[static_cast<size_t>(rank)]) {
        EXPECT_GE(pass.start_us, free - 1e-9);
        EXPECT_NEAR(pass.start_us, free + pass.wait_us, 1e-9);
        free = pass.end_us + hop.us * hop.exposed * pass.transfers();
        if (pass.forward()) forwards[{pass.forward_microbatch, pass.forward_chunk * z.pp + rank}] = pass;
        if (pass.backward()) backwards[{pass.backward_microbatch, pass.backward_chunk * z.pp + rank}] = pass;
      }
      EXPECT_EQ(free, replay->end_us[static_cast<size_t>(rank)]);
    }
    const int stages = z.pp * z.vpp;
    for (const auto& [key, pass] : forwards) {
      const auto& [m, stage] = key;
      if (stage > 0) {
        EXPECT_GE(pass.start_us, forwards.at({m, stage - 1}).end_us + hop.us - 1e-9);
      }
    }
    for (const auto& [key, pass] : backwards) {
      const auto& [m, stage] = key;
      if (stage + 1 < stages) {
        EXPECT_GE(pass.start_us, backwards.at({m, stage + 1}).end_us + hop.us - 1e-9);
      }
      EXPECT_GE(pass.start_us, forwards.at({m, stage}).end_us - 1e-9);
    }
  }
}

}  // namespace
}  // namespace flightplan
