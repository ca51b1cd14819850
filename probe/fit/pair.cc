#include "probe/fit/pair.h"

#include <algorithm>
#include <cmath>

namespace flightplan::fit {
namespace {

using N = PairNode;
constexpr int kNone = -1;

enum Chain : int8_t { kForward, kBackward, kFree };  // kFree: waits for its stream alone

Chain ChainOf(PairNode node, bool delay_wgrad) {
  switch (node) {
    case N::kPreFwd:
    case N::kDispatchFwd:
    case N::kMlpFwd:
    case N::kCombineFwd:
      return kForward;
    case N::kMlpWgrad:
    case N::kPreWgrad:
      return delay_wgrad ? kFree : kBackward;
    case N::kCombineBwd:
    case N::kMlpBwd:
    case N::kDispatchBwd:
    case N::kPreBwd:
      return kBackward;
  }
  return kFree;
}

constexpr std::array<N, kPairNodes> kSequential = {N::kPreFwd,     N::kDispatchFwd, N::kMlpFwd,   N::kCombineFwd,
                                                   N::kCombineBwd, N::kMlpBwd,      N::kMlpWgrad, N::kDispatchBwd,
                                                   N::kPreBwd,     N::kPreWgrad};

// The host's order.
std::array<N, kPairNodes> OrderOf(const PairSchedule& schedule) {
  std::array<N, kPairNodes> order = {N::kCombineBwd, N::kPreFwd, N::kMlpBwd};
  size_t at = 3;
  // Where it is not delayed, the experts' weight gradient is inside mlp.bwd.
  if (!schedule.delay_wgrad) order[at++] = N::kMlpWgrad;
  order[at++] = N::kDispatchFwd;
  if (schedule.delay_wgrad) order[at++] = N::kMlpWgrad;
  order[at++] = N::kDispatchBwd;
  if (schedule.early_release) {
    order[at++] = N::kPreBwd;
    if (!schedule.delay_wgrad) order[at++] = N::kPreWgrad;
  }
  order[at++] = N::kMlpFwd;
  order[at++] = N::kCombineFwd;
  if (!schedule.early_release) {
    order[at++] = N::kPreBwd;
    if (!schedule.delay_wgrad) order[at++] = N::kPreWgrad;
  }
  if (schedule.delay_wgrad) order[at++] = N::kPreWgrad;
  return order;
}

PairForecast InTurn(const PairParts& parts) {
  PairForecast forecast;
  for (const N node : kSequential) {
    const double us = parts[node];
    forecast.spans[forecast.span_count++] = {node, forecast.us, forecast.us + us};
    if (IsExchange(node)) forecast.exposed_us += us;
    forecast.us += us;
  }
  return forecast;
}

struct Op {
  N node{};
  int after = kNone;  // of the chain; its stream's order is the array's
  double left = 0;    // alone
  bool done = false;
};

}  // namespace

std::string_view Name(PairNode node) {
  constexpr std::array<std::string_view, kPairNodes> kNames = {
      "pre.fwd", "dispatch.fwd", "mlp.fwd",      "combine.fwd", "combine.bwd",
      "mlp.bwd", "mlp.wgrad",    "dispatch.bwd", "pre.bwd",     "pre.wgrad"};
  return kNames[static_cast<size_t>(node)];
}

bool IsExchange(PairNode node) {
  return node == N::kDispatchFwd || node == N::kCombineFwd || node == N::kDispatchBwd || node == N::kCombineBwd;
}

PairForecast ForecastPair(const PairParts& parts, const PairSchedule& schedule) {
  if (!schedule.overlap) return InTurn(parts);
  const std::array<N, kPairNodes> order = OrderOf(schedule);
  std::array<Op, kPairNodes> ops;
  std::array<int, 2> last_of_chain = {kNone, kNone};
  for (size_t i = 0; i < kPairNodes; ++i) {
    const Chain chain = ChainOf(order[i], schedule.delay_wgrad);
    ops[i] = {order[i], kNone, std::fmax(0.0, parts[order[i]]), false};
    if (chain == kFree) continue;
    ops[i].after = last_of_chain[chain];
    last_of_chain[chain] = static_cast<int>(i);
  }
  // The first unfinished operation of a stream, where the chain lets it run.
  std::array<size_t, 2> head = {0, 0};
  const auto running = [&](int stream) {
    size_t& at = head[static_cast<size_t>(stream)];
    while (at < kPairNodes && (ops[at].done || IsExchange(ops[at].node) != (stream == 1))) ++at;
    if (at == kPairNodes) return kNone;
    const int after = ops[at].after;
    return after == kNone || ops[static_cast<size_t>(after)].done ? static_cast<int>(at) : kNone;
  };
  std::array<double, kPairNodes> start;
  start.fill(-1);
  PairForecast forecast;
  for (size_t finished = 0; finished < kPairNodes;) {
    const std::array<int, 2> now = {running(0), running(1)};
    Slowdown slow;
    if (now[0] != kNone && now[1] != kNone) {
      slow = parts.beside[static_cast<size_t>(ops[static_cast<size_t>(now[0])].node)];
    }
    const std::array<double, 2> factor = {slow.compute, slow.communication};
    double step = INFINITY;
    for (size_t stream = 0; stream < 2; ++stream) {
      if (now[stream] != kNone) step = std::fmin(step, ops[static_cast<size_t>(now[stream])].left * factor[stream]);
    }
    if (!std::isfinite(step)) break;  // cannot happen with finite parts: some head always may run
    for (size_t stream = 0; stream < 2; ++stream) {
      if (now[stream] == kNone) continue;
      const auto at = static_cast<size_t>(now[stream]);
      if (start[at] < 0) {
        start[at] = forecast.us;
        forecast.spans[forecast.span_count++] = {ops[at].node, forecast.us, forecast.us};
      }
      ops[at].left -= step / factor[stream];
      if (ops[at].left > 1e-9 * (1 + parts[ops[at].node])) continue;
      ops[at].done = true;
      ++finished;
      for (size_t i = forecast.span_count; i-- > 0;) {
        if (forecast.spans[i].node != ops[at].node) continue;
        forecast.spans[i].end_us = forecast.us + step;
        break;
      }
    }
    forecast.us += step;
    if (now[0] != kNone && now[1] != kNone) forecast.hidden_us += step;
    if (now[0] == kNone && now[1] != kNone) forecast.exposed_us += step;
  }
  return forecast;
}

}  // namespace flightplan::fit
