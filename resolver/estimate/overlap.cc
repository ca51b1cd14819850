#include "resolver/estimate/overlap.h"

namespace flightplan {
namespace {

void Add(const Corun& phase, PairTime* pair) {
  pair->us += phase.us;
  pair->hidden += phase.both;
  pair->exposed += phase.communication_left;
}

}  // namespace

PairTime WalkPair(const LayerNodes& n, const CorunSlowdown& slow, bool delay_wgrad, bool early_attention_release) {
  PairTime pair;
  const double mlp_joined = delay_wgrad ? 0 : n.mlp_wgrad, pre_joined = delay_wgrad ? 0 : n.pre_wgrad;
  const double mlp_delayed = n.mlp_wgrad - mlp_joined, pre_delayed = n.pre_wgrad - pre_joined;
  // The attention's delayed weight gradient of the pair before runs in front of this pair's forward.
  Add(RunBoth(pre_delayed + n.pre_fwd, n.combine_bwd, slow), &pair);
  const Corun dispatch = RunBoth(n.mlp_bwd + mlp_joined, n.dispatch_fwd, slow);
  const double pre_bwd = n.pre_bwd + pre_joined;

  double weight_gradient = mlp_delayed;
  if (weight_gradient > 0 && dispatch.communication_left > 0) {
    // The exchange outlasts the expert's backward: the weight gradient fills the wait.
    pair.us += dispatch.both;
    pair.hidden += dispatch.both;
    const Corun fill = RunBoth(weight_gradient, dispatch.communication_left, slow);
    pair.us += fill.both + fill.communication_left;
    pair.hidden += fill.both;
    pair.exposed += fill.communication_left;
    weight_gradient = fill.compute_left;
  } else {
    Add(dispatch, &pair);
  }
  if (early_attention_release) {
    // Attention's backward comes before the expert's forward and waits for dispatch.bwd; combine.fwd is left alone.
    Add(RunBoth(weight_gradient, n.dispatch_bwd, slow), &pair);
    pair.us += pre_bwd + n.mlp_fwd + n.combine_fwd;
    pair.exposed += n.combine_fwd;
    return pair;
  }
  Add(RunBoth(weight_gradient + n.mlp_fwd, n.dispatch_bwd, slow), &pair);
  Add(RunBoth(pre_bwd, n.combine_fwd, slow), &pair);
  return pair;
}

}  // namespace flightplan
