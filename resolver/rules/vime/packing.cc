// vime gives the model samples packed into one sequence of changing length, whatever the launch says
// (vllm-project/vime@035f98340 vime/backends/megatron_utils/data.py): what needs one shape cannot be used.
#include "resolver/rules/core/graph_util.h"
#include "resolver/rules/core/packing_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    {.id = "vime.packed-no-cuda-graph",
     .area = "cuda-graph",
     .at = {Phase::kSchedule, 900},
     .source = "vime:vime/backends/megatron_utils/data.py (get_batch); "
               "Megatron-LM@core_v0.16.1 megatron/core/transformer/transformer_layer.py:1021",
     .reads = {K::cuda_graph_impl},
     .when = UsesCudaGraphs,
     .needs = "a layer in a CUDA graph takes no packed sequences, and vime packs all: cuda_graph_impl none",
     .fix = [](F f) { return std::vector<Patch>{GraphsOff(f)}; }},
    {.id = "vime.packed-no-tp-overlap",
     .area = "tp-overlap",
     .at = {Phase::kSchedule, 901},
     .source = "vime:vime/backends/megatron_utils/initialize.py (init); "
               "Megatron-LM@core_v0.16.1 megatron/training/initialize.py:283",
     .reads = {K::tp_comm_overlap, K::tensor_model_parallel_size},
     .when = OverlapsTensorParallel,
     .needs = "the buffers of TP overlap are made for seq_length tokens, and vime's microbatches have other lengths",
     .fixes = {{{K::tp_comm_overlap, false}}}},
};

}  // namespace

RuleList VimePackingRules() { return kRules; }

}  // namespace flightplan
