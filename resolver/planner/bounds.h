// What no way to execute a layout goes below, in time and in memory: what is above it need not be looked at.
#pragma once

#include "resolver/planner/execution.h"
#include "resolver/planner/rank_load.h"
#include "resolver/planner/search.h"

namespace flightplan {

// What one microbatch cannot do without, microseconds: a layer of each kind and the head. `compute` leaves out the
// exchanges.
struct Floor {
  RankLoad whole{}, compute{};
  double all = 0;         // the model's layers, of `compute`
  bool complete = false;  // else `whole` is only `compute`
};

// In units of base/work.h: of a memory model, and of one rank in it, with each of its chunks.
inline constexpr size_t kWorkOfModel = 256;
inline size_t WorkOfRank(const StageLayout& stages) { return 64 + 8 * static_cast<size_t>(stages.vpp); }

class Bounds {
 public:
  // The question must outlive this.
  explicit Bounds(const SearchQuestion& question);

  double Microbatches(const LayoutSizes& sizes) const {
    return static_cast<double>(q_.layout.global_batch_size) * sizes.tp * sizes.cp * sizes.pp /
           (static_cast<double>(q_.layout.gpus) * static_cast<double>(sizes.micro_batch_size));
  }

  // Products, attention, memory traffic and transfers; overlap does not change them, so one exchange of each dispatcher
  // tells.
  Floor ComputeFloorOf(const LayoutSizes& sizes) const;
  // With the exchanges beside the compute at their best; hosts are taken to keep up.
  void Complete(const LayoutSizes& sizes, Floor* floor) const;
  // Every microbatch passes a stage of `slowest_us`, and the pipeline fills and drains at the pace of the others; all
  // of them take `all_us`. What goes from stage to stage and what is fixed per step comes on top.
  double TimeUs(const LayoutSizes& sizes, double slowest_us, double all_us) const;

  // The first rank holds as many microbatches as there are stages, and of each at least its layers' inputs.
  double InputBytes(const LayoutSizes& sizes) const;
  double StaticBytes(const LayoutSizes& sizes, const StageLayout& stages) const;
  // What no way of execution in the family goes below: the one that recomputes most keeps least, and what is live for a
  // moment and what graphs hold comes on top of it, as does what the dispatcher registers where `combination` is null:
  // for all of them. Exact up to `enough`; what is more is only known to be more.
  double LeastBytes(const LayoutSizes& sizes, const StageLayout& stages, const Family& family,
                    const Combination* combination, double enough) const;
  bool CannotFit(const LayoutSizes& sizes, const StageLayout& stages, const Family& family) const {
    return q_.memory.capacity > 0 &&
           LeastBytes(sizes, stages, family, nullptr, q_.memory.capacity) > q_.memory.capacity;
  }

 private:
  double HandedOnBytes(const LayoutSizes& sizes) const;

  const SearchQuestion& q_;
  const float most_offload_;
};

}  // namespace flightplan
