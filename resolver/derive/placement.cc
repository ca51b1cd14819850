#include "resolver/derive/placement.h"

#include <algorithm>
#include <limits>

#include "resolver/derive/batch.h"

namespace flightplan {
namespace {

// The product, or the largest integer where it does not fit: no real world size is divisible by that.
int64_t Product(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

int64_t Even(int64_t whole, int64_t part) { return part > 0 && whole % part == 0 ? whole / part : 0; }

int64_t CeilDivide(int64_t a, int64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

}  // namespace

int64_t SizeOf(const Config& config, Knob knob) {
  const bool as_dense = knob == Knob::expert_tensor_parallel_size && config.Get(knob).is_none();
  return std::max<int64_t>(1, config.Get(as_dense ? Knob::tensor_model_parallel_size : knob).integer());
}

Placement PlaceLayout(const Config& config, const Environment& env) {
  const int64_t world = env.world_size.value_or(0);
  const int64_t tp = SizeOf(config, Knob::tensor_model_parallel_size);
  const int64_t pp = SizeOf(config, Knob::pipeline_model_parallel_size);
  const int64_t cp = SizeOf(config, Knob::context_parallel_size);
  const int64_t ep = SizeOf(config, Knob::expert_model_parallel_size);
  const int64_t etp = SizeOf(config, Knob::expert_tensor_parallel_size);
  const int64_t mbs = SizeOf(config, Knob::micro_batch_size);
  Placement placement;
  if (world > 0) {
    placement.data_parallel_size = Even(world, Product(Product(tp, cp), pp));
    placement.expert_data_parallel_size = Even(world, Product(Product(etp, ep), pp));
  }
  if (placement.data_parallel_size > 0) {
    const int64_t batch = std::max<int64_t>(0, StepBatch(config, PartOfRun::kMost).value_or(0));
    placement.microbatch_count = Even(batch, Product(placement.data_parallel_size, mbs));
  }
  // The ranks of an expert group are consecutive: ETP * EP of them.
  const int64_t span = Product(etp, ep);
  placement.ep_domain_count = CeilDivide(span, std::max(1, env.nvlink_domain_gpus));
  placement.ep_crosses_node = env.gpus_per_node > 0 && span > env.gpus_per_node;
  return placement;
}

}  // namespace flightplan
