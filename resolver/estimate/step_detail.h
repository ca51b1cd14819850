// What the forecast of a step is the sum of, piece by piece, for whoever draws it. The numbers are made by the code
// that makes the forecast (layer_time.cc, schedule.cc), so that they cannot drift apart. Microseconds, before
// StepDetail::stretch.
#pragma once

#include <vector>

#include "resolver/estimate/overlap.h"
#include "resolver/estimate/step.h"

namespace flightplan {

// A part of a rank's work and one microbatch: a layer, a chunk.
struct PieceTime : LayerTime {
  double weight_gradient = 0;  // of bwd.gpu()
};

// One layer, output layer or MTP projection. What a layer does not have is 0.
struct LayerParts {
  PieceTime time;                    // the sum, as the forecast adds it up
  Module attention, dense;           // dense: an MLP, an output layer, a projection
  Module router, experts, shared;    // of a mixture of experts
  double permute_before = 0;         // memory-bound work in front of the dispatch, of either direction
  double permute_inside = 0;         // around the experts
  double permute_after = 0;          // behind the combine
  double permute_kernels = 0;        // launched for them; their gaps are in permute_before
  double dispatch = 0, combine = 0;  // exchanges, of either direction
  LayerNodes nodes;                  // EP overlap; see overlap.h
  CorunSlowdown slow;
  bool paired = false;  // nodes and slow are set
};

// How long one microbatch takes on one rank.
struct RankPace {
  double fwd_gpu = 0, bwd_gpu = 0;      // what the GPU is busy with
  double alone_fwd = 0, alone_bwd = 0;  // with what the host keeps it waiting
  double gap = 0;                       // the host waits for sizes
  double alone = 0;                     // forward and backward, one after the other
  double paired = 0;                    // a forward beside a backward; without EP overlap the same
};

// Over data-parallel ranks, of one step.
struct DataParallelTimes {
  // Sharded weights are gathered ahead of every pass, sharded gradients reduced behind every backward.
  bool gathers_every_pass = false, reduces_every_pass = false;
  double exposed = 0, hidden = 0;
  double reduce_exposed = 0, reduce_hidden = 0, gather_exposed = 0, gather_hidden = 0;  // of them
};

struct OnceAStep {
  DataParallelTimes data_parallel;
  double optimizer = 0;  // with what is fixed
  double fixed = 0;      // of it
  double us() const { return data_parallel.exposed + optimizer; }
};

struct RankDetail {
  LayerTime time;  // of one microbatch through all chunks
  RankPace pace;
  OnceAStep once;
  double offload = 0;  // of a step: whole layers' activations on their way to the host and back
};

struct StepDetail {
  StepForecast forecast;
  double microbatches = 0;        // as the forecast counts them; a fraction where the sizes do not come out even
  double stretch = 1;             // jitter and gaps; applies to all but pipeline transfers and what is done once a step
  std::vector<LayerParts> kinds;  // of ModelWork
  LayerParts head, mtp_projection;
  std::vector<PieceTime> chunks;  // in order of execution, as StageLayout has them
  std::vector<RankDetail> ranks;
  double hop_us = 0;      // of a transfer between stages
  double hop_hidden = 0;  // share of it beside compute in the steady state, 0..1
  int slowest = 0;        // the rank that the forecast is about
};

// False, with `out` of no use: as ForecastStep. `plan.stages` must be set.
bool DetailStep(const ModelWork& work, const Candidate& plan, const GpuRates& rates, StepDetail* out);

}  // namespace flightplan
