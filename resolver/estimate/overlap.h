// Two streams of one GPU: how long the forward of one microbatch's layer and the backward of another's take when their
// exchanges hide behind each other's compute (Megatron's combined 1F1B schedule).
//
// Host order of a pair, B backward and F forward, communication in brackets: [combine.bwd B] pre.fwd F  mlp.bwd B
// [dispatch.fwd F] mlp.wgrad B  [dispatch.bwd B] mlp.fwd F  [combine.fwd F] pre.bwd B  pre.wgrad B. Both streams are
// first in, first out, and the nodes of one microbatch form a chain
// (NVIDIA/Megatron-LM@d98e8a64dd models/common/model_chunk_schedule_plan.py:261-301).
//
// Every bracketed operation and the compute next to it wait for both their predecessors, so the walk falls into four
// phases in which one exchange and one stretch of compute run at once; only a delayed weight gradient bridges two.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace flightplan {

// Microseconds of one layer's nodes for one microbatch. The backward ones are without their weight gradients.
struct LayerNodes {
  double pre_fwd = 0, pre_bwd = 0, pre_wgrad = 0;
  double mlp_fwd = 0, mlp_bwd = 0, mlp_wgrad = 0;
  double dispatch_fwd = 0, combine_fwd = 0, dispatch_bwd = 0, combine_bwd = 0;
};

// What running beside the other stream costs each side: 1.3 means thirty per cent longer while both run.
struct CorunSlowdown {
  double compute = 1, communication = 1;
};

struct PairTime {
  double us = 0;       // of the pair
  double hidden = 0;   // microseconds of it in which both streams ran
  double exposed = 0;  // in which only communication ran
};

// Compute and communication that start together; each runs at its own speed once the other has ended.
struct Corun {
  double us, both, compute_left, communication_left;  // left: when the first of the two has ended, in solo time
};

// What ends first has nothing left, exactly: a rounding error there would read as work still to be done.
inline Corun RunBoth(double compute, double communication, const CorunSlowdown& slow) {
  const double compute_end = compute * slow.compute, communication_end = communication * slow.communication;
  if (compute_end <= communication_end) {
    const double left = std::max(0.0, communication - compute_end / slow.communication);
    return {compute_end + left, compute_end, 0, left};
  }
  const double left = std::max(0.0, compute - communication_end / slow.compute);
  return {communication_end + left, communication_end, left, 0};
}

enum class PairNode : uint8_t {
  kPreFwd,
  kPreBwd,
  kPreWgrad,
  kMlpFwd,
  kMlpBwd,
  kMlpWgrad,
  kDispatchFwd,
  kCombineFwd,
  kDispatchBwd,
  kCombineBwd,
};

// When a node runs, from the start of the pair. A delayed weight gradient may come in two stretches.
struct PairStretch {
  PairNode node = PairNode::kPreFwd;
  double start_us = 0, us = 0;
};

// `stretches`: filled where it is not null.
PairTime WalkPair(const LayerNodes& nodes, const CorunSlowdown& slow, bool delay_wgrad, bool early_attention_release,
                  std::vector<PairStretch>* stretches = nullptr);

}  // namespace flightplan
