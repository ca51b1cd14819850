// How long one layer, and the head, take for one microbatch: matrix products, attention, memory traffic, transfers and
// exchanges, and the kernels that the host launches. What the pipeline makes of them is step.h's.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "resolver/estimate/gpu_rates.h"
#include "resolver/estimate/layer_modules.h"
#include "resolver/estimate/overlap.h"
#include "resolver/estimate/work.h"

namespace flightplan {

// One layer or stage and one microbatch.
struct LayerTime {
  Load fwd, bwd, again;  // again: recomputed, part of the backward pass
  double fwd_exchange = 0, bwd_exchange = 0, again_exchange = 0;
  double shared_hidden = 0;                            // exchange of the forward pass beside the shared experts
  double pair = 0, pair_hidden = 0, pair_exposed = 0;  // a forward beside a backward
  double host_fwd = 0, host_bwd = 0;
};

// A layer under the overlap of the exchange, as overlap.h walks it.
struct PairedLayer {
  LayerNodes nodes;
  CorunSlowdown slow;
};

// `paired`: filled where the layer is paired and the pointer is not null.
LayerTime TimeLayer(const LayerModules& modules, const Candidate& plan, const GpuRates& rates, PairedLayer* paired);
LayerTime TimeHead(const Module& head, const Candidate& plan, const GpuRates& rates);
// Of an MTP depth's projection.
LayerTime TimeJoin(const Products& join);

// Whether a layer's exchange runs beside another microbatch.
inline bool IsPaired(const LayerModules& modules, const Candidate& plan) { return modules.routed && plan.ep_overlap; }

// Share of its layers that every stage keeps in bf16. 0: none.
double Bf16Share(const ModelWork& work, const Candidate& plan, const GpuRates& rates);

void Accumulate(const LayerTime& times, double count, LayerTime* sum);

// The half of a forecast that does not depend on the pipeline: a search makes it once for all candidates that differ in
// pp, vpp, stages, optimizer and number of GPUs alone.
struct LayerTimes {
  absl::InlinedVector<LayerTime, 4> kinds;  // those that the model has; most have two
  LayerTime head;                           // output layer and loss
  Products join;                            // of an MTP depth: the projection of two hidden states to one
};
LayerTimes TimeLayers(const ModelWork& work, const Candidate& plan, const GpuRates& rates);

// The same for candidates that differ in what they compute again, too: what does not depend on that is worked out once.
// `work` and `rates` must outlive it.
class LayerTimer {
 public:
  LayerTimer(const ModelWork& work, const Candidate& plan, const GpuRates& rates);
  LayerTimes Time(const Candidate& plan) const;
  // With another number of SMs for the exchange, and rates that differ in those of exchanges and in what runs beside
  // them alone.
  LayerTimes TimeExchanging(const Candidate& plan, const GpuRates& rates) const;

 private:
  LayerTimes Assembled(const Candidate& plan, const GpuRates& rates, const std::vector<LayerModules>& modules,
                       const std::vector<LayerModules>& in_bf16) const;
  const ModelWork& work_;
  const GpuRates& rates_;
  const double bf16_share_;
  std::vector<LayerModules> modules_;  // of each kind
  std::vector<LayerModules> in_bf16_;  // of the layers that stay in bf16; empty: there are none
  const LossKind loss_;
  LayerTime head_;  // with that loss
  Products join_;
};

}  // namespace flightplan
