// The parallel grids that several topics ask about. Sizes that do not fit 64 bits come back empty.
#pragma once

#include <cstdint>
#include <optional>

#include "resolver/rules/rule.h"

namespace flightplan {

// Ranks that share one weight over the GTP axis (generalized tensor parallelism), dense and expert layers.
int64_t Gtp(const Facts& f);
int64_t ExpertGtp(const Facts& f);
bool HasWeightShards(const Facts& f);

// tp * pp * cp * gtp, and the same with one size left out.
std::optional<int64_t> DenseSize(const Facts& f);
std::optional<int64_t> DenseSizeWithout(const Facts& f, Knob left_out);
// expert_tensor_parallel_size, or tp where it is not given.
int64_t ExpertTp(const Facts& f);
// etp * ep * pp * expert gtp.
std::optional<int64_t> ExpertSize(const Facts& f);

// GPUs of the job: given, or the data parallel size times the dense grid. Empty when the caller said neither.
std::optional<int64_t> WorldSize(const Facts& f);

// The first or the last stage has a number of layers of its own.
inline bool EndsGiven(const Facts& f) {
  return f.set(Knob::num_layers_in_first_pipeline_stage) || f.set(Knob::num_layers_in_last_pipeline_stage);
}

// The product of hierarchical_context_parallel_sizes is context_parallel_size.
bool HierarchyFits(const Facts& f);
// Both grids give the same pipeline groups. False only when the data parallel sizes agree and the strides do not.
bool PipelineGroupsEqual(const Facts& f);

// Change of a stack that turns sequence parallelism off by itself where there is one tensor-parallel rank.
void DropSequenceParallelAtTp1(Editor& editor);

}  // namespace flightplan
