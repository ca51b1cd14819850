#include "resolver/derive/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace flightplan {
namespace {

// The order written out: warm-up forwards, then one forward and one backward in turn, then the rest.
double Replay(const Schedule& s, int rank, const std::vector<double>& bytes, bool at_last) {
  const int64_t total = s.microbatches * s.vpp;
  const int64_t cycle = s.group * s.vpp;
  const int64_t warm_up =
      std::min(total, (s.vpp == 1 ? s.pp - rank - 1 : int64_t{2} * (s.pp - rank - 1) + int64_t{s.vpp - 1} * s.group) +
                          (s.extra_forward ? 1 : 0));
  const auto chunk = [&](int64_t pass) { return static_cast<size_t>(pass % cycle / s.group); };
  double kept = 0, most = 0;
  int64_t forwards = 0, backwards = 0;
  const auto forward = [&] { kept += bytes[chunk(forwards++)]; };
  const auto backward = [&] {
    const size_t back = static_cast<size_t>(s.vpp) - 1 - chunk(backwards++);
    if (!at_last || back == static_cast<size_t>(s.vpp) - 1) most = std::max(most, kept);
    kept -= bytes[back];
  };
  while (forwards < warm_up) forward();
  while (forwards < total) {
    forward();
    backward();
  }
  while (backwards < total) backward();
  return most;
}

TEST(MostKept, CountsMicrobatchesOf1F1B) {
  const double one = 1;
  EXPECT_EQ(MostKept({.pp = 4, .vpp = 1, .microbatches = 16, .group = 4}, 0, &one), 4);
  EXPECT_EQ(MostKept({.pp = 4, .vpp = 1, .microbatches = 16, .group = 4}, 3, &one), 1);
  EXPECT_EQ(MostKept({.pp = 4, .vpp = 1, .microbatches = 2, .group = 4}, 0, &one), 2);
}

TEST(MostKept, KnowsTheInterleavingPenalty) {
  // L * (1 + (p-1)/(p*v)) layers: with chunks of one layer, v*p of them, p*v + p - 1 are kept by the first rank.
  const std::vector<double> chunks(4, 1);
  EXPECT_EQ(MostKept({.pp = 8, .vpp = 4, .microbatches = 64, .group = 8}, 0, chunks.data()), 8 * 4 + 7);
}

TEST(MostKept, EqualsTheReplayedOrder) {
  for (int pp : {2, 3, 4, 8}) {
    for (int vpp : {1, 2, 3, 5}) {
      for (int groups : {1, 2, 5}) {
        for (int group : {pp, 2 * pp}) {
          for (bool extra : {false, true}) {
            std::vector<double> bytes;
            bytes.reserve(static_cast<size_t>(vpp));
            for (int j = 0; j < vpp; ++j) bytes.push_back(1 + (j * 7 + pp) % 5);
            const Schedule s{pp, vpp, int64_t{groups} * group, group, extra};
            for (int rank = 0; rank < pp; ++rank) {
              for (bool at_last : {false, true}) {
                if (at_last && vpp == 1) continue;
                EXPECT_EQ(MostKept(s, rank, bytes.data(), at_last), Replay(s, rank, bytes, at_last))
                    << pp << " " << vpp << " " << groups << " " << group << " " << rank << " " << extra << at_last;
              }
            }
          }
        }
      }
    }
  }
}

TEST(WarmUpPasses, AreOneMoreForEpOverlap) {
  EXPECT_EQ(WarmUpPasses({.pp = 4, .vpp = 2, .microbatches = 16, .group = 4}, 0), 2 * 3 + 4);
  EXPECT_EQ(WarmUpPasses({.pp = 4, .vpp = 2, .microbatches = 16, .group = 4, .extra_forward = true}, 0), 2 * 3 + 4 + 1);
}

}  // namespace
}  // namespace flightplan
