#include "resolver/timeline/fit_waits.h"

#include <algorithm>
#include <cstddef>

namespace flightplan {
namespace {

double TailOf(const OnceTimes& once) { return once.optimizer_us + once.fixed_us + once.gather_last_us; }

// How one rank's times are changed.
struct Factors {
  double wait = 1, pass = 1;
};

// `trailing_us`: waited in front of the optimizer; `window_us`: what there is until then, for passes and waits.
Factors FactorsOf(const std::vector<PipelinePass>& passes, const PipelineHop& hop, double trailing_us,
                  double window_us) {
  double busy = 0, transfers = 0, waits = trailing_us;
  for (const PipelinePass& pass : passes) {
    busy += pass.end_us - pass.start_us;
    transfers += hop.us * hop.exposed * pass.transfers();
    waits += pass.wait_us;
  }
  const double room = window_us - busy - transfers;
  if (room >= waits) return {};
  if (room >= 0) return {room / waits, 1};
  return {0, busy > 0 ? std::max(0.0, (busy + room) / busy) : 1};
}

// Returns when the rank has run the last one.
double Retime(double begin_us, const PipelineHop& hop, const Factors& factors, std::vector<PipelinePass>* passes) {
  double now = begin_us, forward_free = 0, backward_free = 0;
  for (PipelinePass& pass : *passes) {
    const double us = (pass.end_us - pass.start_us) * factors.pass;
    pass.wait_us *= factors.wait;
    pass.flight_us *= factors.wait;
    pass.start_us = now + pass.wait_us;
    pass.end_us = pass.start_us + us;
    // Each direction carries one output at a time.
    if (pass.forward()) {
      pass.forward_sent_us = std::max(pass.end_us, forward_free);
      forward_free = pass.forward_sent_us + hop.us;
    }
    if (pass.backward()) {
      pass.backward_sent_us = std::max(pass.end_us, backward_free);
      backward_free = pass.backward_sent_us + hop.us;
    }
    now = pass.end_us + hop.us * hop.exposed * pass.transfers();
  }
  return now;
}

void Scale(double by, std::vector<ChunkCosts>* chunks) {
  for (ChunkCosts& chunk : *chunks) {
    for (PassCost* cost : {&chunk.forward, &chunk.backward, &chunk.half_forward, &chunk.half_backward}) {
      for (double& us : cost->exposed) us *= by;
    }
  }
}

}  // namespace

double FitWaits(double step_us, const PipelineHop& hop, Replay* replay, CostTable* costs,
                std::vector<OnceTimes>* once) {
  double tail = 0, shortened = 0;
  for (const OnceTimes& o : *once) tail = std::max(tail, TailOf(o));
  const double optimizer_start_us = step_us - tail;
  for (size_t rank = 0; rank < once->size(); ++rank) {
    OnceTimes& o = (*once)[rank];
    const double trailing = o.optimizer_start_us - replay->end_us[rank] - o.reduce_us;
    const double window = optimizer_start_us - o.gather_first_us - o.reduce_us;
    const Factors factors = FactorsOf(replay->ranks[rank], hop, trailing, window);
    replay->end_us[rank] = Retime(o.gather_first_us, hop, factors, &replay->ranks[rank]);
    if (factors.pass < 1) Scale(factors.pass, &(*costs)[rank]);
    shortened = std::max(shortened, 1 - factors.pass);
    o.optimizer_start_us = optimizer_start_us;
  }
  return shortened;
}

}  // namespace flightplan
