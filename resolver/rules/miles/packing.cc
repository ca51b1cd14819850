// miles gives the model samples packed into one sequence of changing length, or padded to the longest of a rollout
// (radixark/miles@31f1ca961 miles/backends/training_utils/data.py:158, model.py:525): what needs one shape cannot be
// used.
#include "resolver/rules/core/graph_util.h"
#include "resolver/rules/core/packing_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    {.id = "miles.packed-no-cuda-graph",
     .area = "cuda-graph",
     .at = {Phase::kSchedule, 900},
     .source = "miles:miles/backends/megatron_utils/model.py:525; "
               "Megatron-LM@core_v0.16.1 megatron/core/transformer/transformer_layer.py:1021",
     .reads = {K::cuda_graph_impl},
     .when = UsesCudaGraphs,
     .needs = "a layer in a CUDA graph takes no packed sequences and one length, and miles' microbatches have many: "
              "cuda_graph_impl none",
     .fix = [](F f) { return std::vector<Patch>{GraphsOff(f)}; }},
    {.id = "miles.packed-no-tp-overlap",
     .area = "tp-overlap",
     .at = {Phase::kSchedule, 901},
     .source = "miles:miles/backends/megatron_utils/initialize.py:124; "
               "Megatron-LM@core_v0.16.1 megatron/training/initialize.py:283",
     .reads = {K::tp_comm_overlap, K::tensor_model_parallel_size},
     .when = OverlapsTensorParallel,
     .needs = "the buffers of TP overlap are made for seq_length tokens, and miles' microbatches have other lengths",
     .fixes = {{{K::tp_comm_overlap, false}}}},
};

}  // namespace

RuleList MilesPackingRules() { return kRules; }

}  // namespace flightplan
