#include "resolver/estimate/overlap.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace flightplan {
namespace {

// The published schedule, operation by operation: two first-in first-out streams, each operation after its
// predecessors.
struct Operation {
  bool communication;
  double solo;
  std::vector<int> after;
};

// Time until all have ended; both streams run at their co-run speed while both are busy.
double Simulate(const std::vector<Operation>& operations, const CorunSlowdown& slow) {
  std::vector<double> left;
  std::vector<int> queue[2];
  for (size_t i = 0; i < operations.size(); ++i) {
    left.push_back(operations[i].solo);
    queue[operations[i].communication ? 1 : 0].push_back(static_cast<int>(i));
  }
  std::array<size_t, 2> head = {0, 0};
  double now = 0;
  for (int guard = 0; guard < 1000; ++guard) {
    std::array<int, 2> running = {-1, -1};
    for (size_t s = 0; s < 2; ++s) {
      while (head[s] < queue[s].size() && left[static_cast<size_t>(queue[s][head[s]])] <= 1e-12) {
        bool ready = true;
        for (int before : operations[static_cast<size_t>(queue[s][head[s]])].after)
          ready = ready && left[static_cast<size_t>(before)] <= 1e-12;
        if (!ready) break;
        ++head[s];
      }
      if (head[s] == queue[s].size()) continue;
      const int next = queue[s][head[s]];
      bool ready = true;
      for (int before : operations[static_cast<size_t>(next)].after)
        ready = ready && left[static_cast<size_t>(before)] <= 1e-12;
      if (ready) running[s] = next;
    }
    if (running[0] < 0 && running[1] < 0) return now;
    const bool both = running[0] >= 0 && running[1] >= 0;
    double step = 1e18;
    const double speed[2] = {both ? 1 / slow.compute : 1, both ? 1 / slow.communication : 1};
    for (size_t s = 0; s < 2; ++s) {
      if (running[s] >= 0) step = std::min(step, left[static_cast<size_t>(running[s])] / speed[s]);
    }
    now += step;
    for (size_t s = 0; s < 2; ++s) {
      if (running[s] >= 0) left[static_cast<size_t>(running[s])] -= step * speed[s];
    }
  }
  return -1;
}

// One pair in the host's order. Delayed weight gradients of attention are those of the pair before.
double SimulatePair(const LayerNodes& n, const CorunSlowdown& slow, bool delay) {
  const double mlp = n.mlp_bwd + (delay ? 0 : n.mlp_wgrad), pre = n.pre_bwd + (delay ? 0 : n.pre_wgrad);
  enum { kCombineB, kPreW, kPreF, kMlpB, kDispatchF, kMlpW, kDispatchB, kMlpF, kCombineF, kPreB };
  return Simulate({{true, n.combine_bwd, {}},
                   {false, delay ? n.pre_wgrad : 0, {}},
                   {false, n.pre_fwd, {}},
                   {false, mlp, {kCombineB}},
                   {true, n.dispatch_fwd, {kPreF}},
                   {false, delay ? n.mlp_wgrad : 0, {}},
                   {true, n.dispatch_bwd, {kMlpB}},
                   {false, n.mlp_fwd, {kDispatchF}},
                   {true, n.combine_fwd, {kMlpF}},
                   {false, pre, {kDispatchB}}},
                  slow);
}

LayerNodes Nodes(double compute, double exchange) {
  LayerNodes n;
  n.pre_fwd = 1.0 * compute, n.pre_bwd = 1.2 * compute, n.pre_wgrad = 0.8 * compute;
  n.mlp_fwd = 1.5 * compute, n.mlp_bwd = 1.7 * compute, n.mlp_wgrad = 1.4 * compute;
  n.dispatch_fwd = 0.9 * exchange, n.combine_fwd = 1.1 * exchange;
  n.dispatch_bwd = 1.1 * exchange, n.combine_bwd = 1.0 * exchange;
  return n;
}

TEST(WalkPair, AgreesWithTheOperationsOneByOne) {
  for (double exchange : {0.05, 0.4, 0.9, 1.3, 2.2, 5.0}) {
    for (const CorunSlowdown& slow : {CorunSlowdown{1, 1}, CorunSlowdown{1.1, 1.6}}) {
      for (bool delay : {false, true}) {
        const LayerNodes nodes = Nodes(1.0, exchange);
        EXPECT_NEAR(WalkPair(nodes, slow, delay, false).us, SimulatePair(nodes, slow, delay), 1e-9)
            << "exchange " << exchange << " delayed " << delay;
      }
    }
  }
}

// What ends together up to rounding must not drop what is left of the other stream.
TEST(WalkPair, LosesNoWorkToRounding) {
  const CorunSlowdown slow{1.07, 1.31};
  for (int i = 1; i < 5000; ++i) {
    const LayerNodes n = Nodes(1.0 + i * 1e-4, i * 7.3e-4);
    for (bool delay : {false, true}) {
      ASSERT_NEAR(WalkPair(n, slow, delay, false).us, SimulatePair(n, slow, delay), 1e-9) << i << " delayed " << delay;
    }
  }
}

TEST(WalkPair, NeverBeatsEitherStreamNorTheSerialOrder) {
  const LayerNodes n = Nodes(1.0, 1.0);
  const double compute = 1.0 + 1.2 + 0.8 + 1.5 + 1.7 + 1.4, exchange = 0.9 + 1.1 + 1.1 + 1.0;
  const PairTime pair = WalkPair(n, {1, 1}, false, false);
  EXPECT_GE(pair.us, compute);
  EXPECT_LE(pair.us, compute + exchange);
  EXPECT_NEAR(pair.us + pair.hidden, compute + exchange, 1e-9);
}

TEST(WalkPair, DelayedWeightGradientsPayInTheBandBetweenTheBounds) {
  const CorunSlowdown slow{1, 1};
  // The forward dispatch ends inside the expert's backward: its weight gradient can move beside the next exchange.
  const LayerNodes between = Nodes(1.0, 2.0);
  EXPECT_LT(WalkPair(between, slow, true, false).us, WalkPair(between, slow, false, false).us);
  const LayerNodes compute_bound = Nodes(1.0, 0.1);
  EXPECT_NEAR(WalkPair(compute_bound, slow, true, false).us, WalkPair(compute_bound, slow, false, false).us, 1e-9);
}

TEST(WalkPair, EarlyAttentionReleaseExposesTheCombine) {
  const LayerNodes n = Nodes(1.0, 1.0);
  EXPECT_GT(WalkPair(n, {1, 1}, false, true).us, WalkPair(n, {1, 1}, false, false).us);
}

}  // namespace
}  // namespace flightplan
