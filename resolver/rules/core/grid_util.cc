#include "resolver/rules/core/grid_util.h"

#include "resolver/base/integers.h"

namespace flightplan {
namespace {

using K = Knob;

// weight shards / tp where that divides; upstream refuses the rest.
int64_t ShardsPerRank(const Facts& f, K shards, int64_t tp) {
  if (f.none(shards) || !Divisible(f.num(shards), tp) || f.num(shards) < tp) return 1;
  return FloorDiv(f.num(shards), tp);
}

}  // namespace

int64_t Gtp(const Facts& f) {
  return ShardsPerRank(f, K::tensor_parallel_num_weight_shards, f.num(K::tensor_model_parallel_size));
}

int64_t ExpertGtp(const Facts& f) { return ShardsPerRank(f, K::expert_tensor_parallel_num_weight_shards, ExpertTp(f)); }

bool HasWeightShards(const Facts& f) { return Gtp(f) > 1 || ExpertGtp(f) > 1; }

std::optional<int64_t> DenseSizeWithout(const Facts& f, Knob left_out) {
  auto size = [&](K knob) { return knob == left_out ? 1 : f.num(knob); };
  return Product({size(K::tensor_model_parallel_size), size(K::pipeline_model_parallel_size),
                  size(K::context_parallel_size), left_out == K::tensor_model_parallel_size ? 1 : Gtp(f)});
}

std::optional<int64_t> DenseSize(const Facts& f) {
  return Product({f.num(K::tensor_model_parallel_size), f.num(K::pipeline_model_parallel_size),
                  f.num(K::context_parallel_size), Gtp(f)});
}

int64_t ExpertTp(const Facts& f) {
  return f.num(f.set(K::expert_tensor_parallel_size) ? K::expert_tensor_parallel_size : K::tensor_model_parallel_size);
}

std::optional<int64_t> ExpertSize(const Facts& f) {
  return Product(
      {ExpertTp(f), f.num(K::expert_model_parallel_size), f.num(K::pipeline_model_parallel_size), ExpertGtp(f)});
}

std::optional<int64_t> WorldSize(const Facts& f) {
  if (f.env().world_size.has_value()) return f.env().world_size;
  const std::optional<int64_t> dense = DenseSize(f);
  if (!f.env().data_parallel_size.has_value() || !dense.has_value()) return std::nullopt;
  return Product({*f.env().data_parallel_size, *dense});
}

bool HierarchyFits(const Facts& f) {
  int64_t product = 1;
  for (const Value& size : f.value(K::hierarchical_context_parallel_sizes).list()) {
    const std::optional<int64_t> next = Product({product, size.integer()});
    if (!next.has_value()) return false;
    product = *next;
  }
  return product == f.num(K::context_parallel_size);
}

bool PipelineGroupsEqual(const Facts& f) {
  const std::optional<int64_t> dense = DenseSize(f);
  const std::optional<int64_t> expert = ExpertSize(f);
  if (!f.on(K::use_tp_pp_dp_mapping) || f.num(K::pipeline_model_parallel_size) <= 1) return true;  // pp comes last
  if (!dense.has_value() || !expert.has_value() || *dense == *expert) return true;
  const std::optional<int64_t> world = WorldSize(f);
  return !world.has_value() || FloorDiv(*world, *dense) != FloorDiv(*world, *expert);
}

void DropSequenceParallelAtTp1(Editor& editor) {
  if (editor.facts().num(K::tensor_model_parallel_size) == 1) editor.Set(K::sequence_parallel, false);
}

}  // namespace flightplan
