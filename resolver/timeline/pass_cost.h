// What passes cost, by kind: the forecast's pieces shared out over the passes of one rank.
#pragma once

#include "absl/types/span.h"
#include "resolver/estimate/step_detail.h"
#include "resolver/timeline/timeline.h"

namespace flightplan {

// By kind; `exposed` adds up to the length of the pass. What is hidden is not stretched (StepDetail::stretch), as in
// the forecast.
struct PassCost {
  KindTimes exposed{}, hidden{};
  double us() const;
};
PassCost operator+(const PassCost& a, const PassCost& b);

// How one rank turns a piece of its layers (a chunk, a layer) into time: what the host adds is known of the rank alone,
// and every piece carries its share. Of LayerTimes that add up to the rank's the costs add up to the rank's too.
class RankCosts {
 public:
  // `chunks`: of the rank.
  RankCosts(const StepDetail& detail, int rank, bool ep_overlap, absl::Span<const PieceTime> chunks);

  // Alone.
  PassCost Forward(const PieceTime& piece) const;
  PassCost Backward(const PieceTime& piece) const;
  // What a piece's forward or backward adds to a pass in which both run: half of a pair each.
  PassCost HalfPair(const PieceTime& piece, bool backward) const;
  // What goes with every pass of a rank, whatever its layers: sharded weights and gradients. `chunks`: passes share it.
  PassCost EveryPass(bool backward, int chunks) const;

 private:
  PassCost Stretched(PassCost cost) const;

  double stretch_ = 1;
  double wait_forward_ = 0, wait_backward_ = 0, wait_paired_ = 0;  // per microsecond of host
  double offload_ = 0;                                             // per microsecond of a microbatch alone
  DataParallelTimes data_parallel_;
  double microbatches_ = 1;
};

}  // namespace flightplan
