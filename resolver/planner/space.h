// The space that a layout search goes through: sizes of the parallel groups, and ways to execute a layout.
//
// Only what makes a size impossible for every way of execution is decided here (grids, divisibility, the pipeline's
// shape). What a release, a library or a GPU forbids is the rules' business: they judge every plan that is returned.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "resolver/derive/candidate.h"
#include "resolver/derive/shape.h"

namespace flightplan {

// 0 stands for "open" in a wish.
struct LayoutSizes {
  int32_t tp = 0, pp = 0, vpp = 0, cp = 0, ep = 0, etp = 0;
  int64_t micro_batch_size = 0;
  friend auto operator<=>(const LayoutSizes&, const LayoutSizes&) = default;
};

// How the model is mapped on the GPUs: what is left of the sizes without those that cut its work in time.
inline LayoutSizes MappingOf(LayoutSizes sizes) {
  sizes.vpp = 0;
  sizes.micro_batch_size = 0;
  return sizes;
}

struct LayoutQuestion {
  int64_t gpus = 1;
  int64_t global_batch_size = 1;
  int64_t seq_length = 1;
  LayoutSizes wish;                // sizes that are given
  bool sequence_parallel = true;   // with TP
  int64_t first_stage_layers = 0;  // decoder layers that the first virtual stage of several must hold
  bool even_stages = false;        // only layer counts that divide: the stack cannot spell another split
  bool experts_as_dense = false;   // without EP, ETP is TP
  int64_t layout_stages = 0;       // virtual stages of a layout that is given; 0: none
  // Combinations that are looked at, among the legal ones; empty: all.
  std::function<bool(const LayoutSizes&)> allowed;
};

// Calls visit(sizes) for every legal combination of sizes. Combinations that differ in PP and VPP alone follow one
// another, and enter(sizes), with pp and vpp 0, comes before each such group. Stops when `visit` answers false, and
// where the work that it counts is spent (base/work.h).
void VisitLayouts(const ModelShape& shape, const LayoutQuestion& question,
                  const std::function<void(const LayoutSizes&)>& enter,
                  const std::function<bool(const LayoutSizes&)>& visit);

constexpr bool IsFlex(Dispatcher dispatcher) {
  return dispatcher == Dispatcher::kDeepEp || dispatcher == Dispatcher::kHybridEp;
}

// Whether the shared expert runs beside the all-to-all: upstream refuses to compute it again then.
enum class SharedExpert : uint8_t { kAlone, kOverlapped, kOverlappedUnlessRecomputed };

// One way to execute a layout.
struct Exchange {
  Dispatcher dispatcher = Dispatcher::kAllToAll;
  bool ep_overlap = false, delay_wgrad = false;
  // EP x ETP may not be larger; 0: no limit. A rack-scale NVLink domain serves HybridEP up to its own size.
  int64_t max_span = 0;
  int64_t min_span = 0;  // nor smaller: where an overlap is known to cost more than it hides
  SharedExpert shared_expert = SharedExpert::kAlone;  // excluded by ep_overlap
  // What a flex backend takes, inside an NVLink domain and between several: its buffers hang on it. 0: its default.
  uint16_t num_sms = 0, network_sms = 0;
  int32_t min_pp = 0;                    // PP may not be smaller
  absl::Span<const int64_t> spans = {};  // EP x ETP must be one of these; empty: any
};
// Whether it serves an expert group of this many ranks.
bool Serves(const Exchange& exchange, int64_t span);
struct Graphs {
  GraphImpl impl = GraphImpl::kNone;
  uint8_t modules = 0;
  int32_t max_pp = 0;             // PP may not be larger; 0: no limit
  uint8_t never_overlapped = 0;   // of the modules, what is left out where EP overlap runs
  uint16_t never_recomputed = 0;  // what the release does not compute again beside these
};
struct Recompute {
  RecomputeMode mode = RecomputeMode::kNone;
  uint16_t modules = 0;
  // Or whole layers whose activations go to the host: upstream's path for one pipeline stage without recompute.
  int32_t offload_layers = 0;
  int32_t max_pp = 0;  // PP may not be larger; 0: no limit
  // OffloadModule bits: inputs of what LoongForge computes again within its overlap schedule, which wait on the host.
  uint16_t offload_tensors = 0;
  // Where the loss is open: Megatron's own kernel is the faster way, its single operators hold less.
  std::optional<LossKind> loss;
};

// What waits on the host whatever the search looks at: it is not the search's to choose.
struct GivenOffload {
  int32_t layers = 0;
  uint16_t modules = 0;  // OffloadModule bits
};
inline GivenOffload GivenOffloadOf(const Candidate& base) { return {base.offload_layers, base.offload_modules}; }

// How the optimizer keeps its state: offloading goes with an optimizer of its own (layouts/given_knobs.h).
struct OptimizerState {
  bool low_precision_weights = false;
  bool precision_aware = false, gradient_copy = false, overlap_copies = false;
  uint8_t main_param_bytes = 4, moment1_bytes = 4, moment2_bytes = 4;
};

// What may be combined; every list has at least one entry, and the first is the plainest.
struct ExecutionSpace {
  std::vector<Exchange> exchanges;
  std::vector<Graphs> graphs;
  std::vector<Recompute> recomputes;
  std::vector<float> optimizer_offloads;
  // With nothing on the host, and with something; without them as the base has it.
  std::optional<OptimizerState> on_gpu, on_host;
  size_t size() const { return exchanges.size() * graphs.size() * recomputes.size() * optimizer_offloads.size(); }
};

// The recompute sets that mean something for the model: none, every set of selective modules that does not contain
// itself twice, and full.
std::vector<Recompute> RecomputeSets(const ModelShape& shape);

// The modules that are captured beside this exchange.
inline uint8_t ModulesBeside(const Exchange& exchange, const Graphs& graphs) {
  return exchange.ep_overlap ? static_cast<uint8_t>(graphs.modules & ~graphs.never_overlapped) : graphs.modules;
}

// Upstream refuses some combinations whatever the release (transformer_config.py, EP overlap).
bool Compatible(const ModelShape& shape, const LayoutSizes& sizes, const Exchange& exchange, const Graphs& graphs);
bool Compatible(const Exchange& exchange, const Graphs& graphs, const Recompute& recompute);
bool Compatible(const LayoutSizes& sizes, const Recompute& recompute);

}  // namespace flightplan
