// ms-swift gives the model samples without padding, as one sequence of changing length
// (modelscope/ms-swift@3602360a5): what needs one shape cannot be used. And what it hands on to the config classes by
// itself.
#include "resolver/rules/core/graph_util.h"
#include "resolver/rules/core/packing_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    {.id = "ms-swift.hands-on-types",
     .area = "precision",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 90},
     .source = "ms-swift:swift/megatron/model/utils.py:52",
     .reads = {K::bf16, K::fp16, K::use_distributed_optimizer},
     .change = HandOnTypes},
    {.id = "ms-swift.lengths-vary",
     .area = "sequence",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 91},
     .source = "ms-swift:swift/megatron/model/utils.py:52",
     .reads = {K::variable_seq_lengths},
     .change = VaryLengths},
    {.id = "ms-swift.packed-no-cuda-graph",
     .area = "cuda-graph",
     .at = {Phase::kSchedule, 900},
     .source = "ms-swift:swift/megatron/utils/utils.py:232; "
               "Megatron-LM@core_v0.16.1 megatron/core/transformer/transformer_layer.py:1021",
     .reads = {K::cuda_graph_impl},
     .when = UsesCudaGraphs,
     .needs = "a layer in a CUDA graph takes no packed sequences, and ms-swift packs: cuda_graph_impl none",
     .fix = [](F f) { return std::vector<Patch>{GraphsOff(f)}; }},
    {.id = "ms-swift.packed-no-tp-overlap",
     .area = "tp-overlap",
     .at = {Phase::kSchedule, 901},
     .source = "ms-swift:swift/megatron/utils/megatron_lm_utils.py:648",
     .reads = {K::tp_comm_overlap, K::tensor_model_parallel_size},
     .when = OverlapsTensorParallel,
     .needs =
         "the buffers of TP overlap are made for seq_length tokens, and ms-swift's microbatches have other lengths",
     .fixes = {{{K::tp_comm_overlap, false}}}},
};

}  // namespace

RuleList MsSwiftPackingRules() { return kRules; }

}  // namespace flightplan
