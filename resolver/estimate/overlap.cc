#include "resolver/estimate/overlap.h"

#include <initializer_list>

namespace flightplan {
namespace {

struct Solo {
  PairNode node;
  double us;  // alone
};

void Add(const Corun& phase, PairTime* pair) {
  pair->us += phase.us;
  pair->hidden += phase.both;
  pair->exposed += phase.communication_left;
}

// Writes down what runs when; does nothing where nobody asks.
class Tracer {
 public:
  Tracer(const CorunSlowdown& slow, std::vector<PairStretch>* out) : slow_(slow), out_(out) {}

  void Put(PairNode node, double start_us, double us) const {
    if (out_ != nullptr && us > 0) out_->push_back({node, start_us, us});
  }
  // Nodes in a row, from `start_us` on, of which the other stream is busy for the first `both` microseconds.
  void Compute(std::initializer_list<Solo> nodes, double start_us, double both) const {
    if (out_ == nullptr) return;
    double done = 0, from = 0;
    for (const Solo& solo : nodes) {
      done += solo.us;
      const double slowed = done * slow_.compute;
      const double to = slowed <= both ? slowed : both + (done - both / slow_.compute);
      Put(solo.node, start_us + from, to - from);
      from = to;
    }
  }
  // Compute in a row beside one exchange.
  void Phase(std::initializer_list<Solo> nodes, PairNode exchange, double start_us, const Corun& phase) const {
    Compute(nodes, start_us, phase.both);
    Put(exchange, start_us, phase.both + phase.communication_left);
  }

 private:
  const CorunSlowdown& slow_;
  std::vector<PairStretch>* const out_;
};

}  // namespace

PairTime WalkPair(const LayerNodes& n, const CorunSlowdown& slow, bool delay_wgrad, bool early_attention_release,
                  std::vector<PairStretch>* stretches) {
  using N = PairNode;
  const Tracer trace(slow, stretches);
  PairTime pair;
  const double mlp_joined = delay_wgrad ? 0 : n.mlp_wgrad, pre_joined = delay_wgrad ? 0 : n.pre_wgrad;
  const double mlp_delayed = n.mlp_wgrad - mlp_joined, pre_delayed = n.pre_wgrad - pre_joined;
  // The attention's delayed weight gradient of the pair before runs in front of this pair's forward.
  const Corun combine_bwd = RunBoth(pre_delayed + n.pre_fwd, n.combine_bwd, slow);
  trace.Phase({{N::kPreWgrad, pre_delayed}, {N::kPreFwd, n.pre_fwd}}, N::kCombineBwd, pair.us, combine_bwd);
  Add(combine_bwd, &pair);
  const Corun dispatch = RunBoth(n.mlp_bwd + mlp_joined, n.dispatch_fwd, slow);
  const double pre_bwd = n.pre_bwd + pre_joined;

  double weight_gradient = mlp_delayed;
  if (weight_gradient > 0 && dispatch.communication_left > 0) {
    // The exchange outlasts the expert's backward: the weight gradient fills the wait.
    const Corun fill = RunBoth(weight_gradient, dispatch.communication_left, slow);
    trace.Compute({{N::kMlpBwd, n.mlp_bwd}}, pair.us, dispatch.both);
    trace.Put(N::kDispatchFwd, pair.us, dispatch.both + fill.both + fill.communication_left);
    trace.Put(N::kMlpWgrad, pair.us + dispatch.both, fill.both);
    pair.us += dispatch.both;
    pair.hidden += dispatch.both;
    pair.us += fill.both + fill.communication_left;
    pair.hidden += fill.both;
    pair.exposed += fill.communication_left;
    weight_gradient = fill.compute_left;
  } else {
    trace.Phase({{N::kMlpBwd, n.mlp_bwd}, {N::kMlpWgrad, mlp_joined}}, N::kDispatchFwd, pair.us, dispatch);
    Add(dispatch, &pair);
  }
  if (early_attention_release) {
    // Attention's backward comes before the expert's forward and waits for dispatch.bwd; combine.fwd is left alone.
    const Corun dispatch_bwd = RunBoth(weight_gradient, n.dispatch_bwd, slow);
    trace.Phase({{N::kMlpWgrad, weight_gradient}}, N::kDispatchBwd, pair.us, dispatch_bwd);
    Add(dispatch_bwd, &pair);
    trace.Compute({{N::kPreBwd, n.pre_bwd}, {N::kPreWgrad, pre_joined}, {N::kMlpFwd, n.mlp_fwd}}, pair.us, 0);
    trace.Put(N::kCombineFwd, pair.us + pre_bwd + n.mlp_fwd, n.combine_fwd);
    pair.us += pre_bwd + n.mlp_fwd + n.combine_fwd;
    pair.exposed += n.combine_fwd;
    return pair;
  }
  const Corun dispatch_bwd = RunBoth(weight_gradient + n.mlp_fwd, n.dispatch_bwd, slow);
  trace.Phase({{N::kMlpWgrad, weight_gradient}, {N::kMlpFwd, n.mlp_fwd}}, N::kDispatchBwd, pair.us, dispatch_bwd);
  Add(dispatch_bwd, &pair);
  const Corun combine_fwd = RunBoth(pre_bwd, n.combine_fwd, slow);
  trace.Phase({{N::kPreBwd, n.pre_bwd}, {N::kPreWgrad, pre_joined}}, N::kCombineFwd, pair.us, combine_fwd);
  Add(combine_fwd, &pair);
  return pair;
}

}  // namespace flightplan
