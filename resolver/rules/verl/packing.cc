// verl gives the model samples without padding, as one sequence of changing length
// (verl-project/verl@1dda039b9): what needs one shape cannot be used. And what it hands on to the config classes by
// itself.
#include "resolver/rules/core/graph_util.h"
#include "resolver/rules/core/grid_util.h"
#include "resolver/rules/core/packing_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    {.id = "verl.hands-on-types",
     .area = "precision",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 90},
     .source = "verl:verl/workers/engine/megatron/transformer_impl.py:407",
     .reads = {K::bf16, K::fp16, K::use_distributed_optimizer},
     .change = HandOnTypes},
    {.id = "verl.sp-off-at-tp1",
     .area = "sequence-parallel",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 91},
     .source = "verl:verl/workers/config/engine.py:238",
     .reads = {K::tensor_model_parallel_size, K::sequence_parallel},
     .change = DropSequenceParallelAtTp1},
    {.id = "verl.lengths-vary",
     .area = "sequence",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 92},
     .source = "verl:verl/workers/engine/megatron/transformer_impl.py:367",
     .reads = {K::variable_seq_lengths},
     .change = VaryLengths},
    // A dense model too, which the class's own default, allgather, would stop (dispatcher.allgather-no-varlen).
    {.id = "verl.alltoall",
     .area = "dispatcher",
     .kind = Kind::kChange,
     .at = {Phase::kParse, 93},
     .source = "verl:verl/workers/engine/megatron/transformer_impl.py:369",
     .reads = {K::moe_token_dispatcher_type},
     .change =
         [](Editor& e) {
           const Origin origin = e.facts().origin(K::moe_token_dispatcher_type);
           if (origin == Origin::kDefault) e.Set(K::moe_token_dispatcher_type, "alltoall");
         }},
    {.id = "verl.packed-no-cuda-graph",
     .area = "cuda-graph",
     .at = {Phase::kSchedule, 900},
     .source = "verl:verl/models/mcore/model_forward.py:75; "
               "Megatron-LM@core_v0.16.1 megatron/core/transformer/transformer_layer.py:1021",
     .reads = {K::cuda_graph_impl},
     .when = UsesCudaGraphs,
     .needs = "a layer in a CUDA graph takes no packed sequences, and verl packs: cuda_graph_impl none",
     .fix = [](F f) { return std::vector<Patch>{GraphsOff(f)}; }},
    {.id = "verl.packed-no-tp-overlap",
     .area = "tp-overlap",
     .at = {Phase::kSchedule, 901},
     .source = "verl:verl/workers/engine/megatron/transformer_impl.py:272",
     .reads = {K::tp_comm_overlap, K::tensor_model_parallel_size},
     .when = OverlapsTensorParallel,
     .needs = "verl never makes the buffers of TP overlap",
     .fixes = {{{K::tp_comm_overlap, false}}}},
};

}  // namespace

RuleList VerlPackingRules() { return kRules; }

}  // namespace flightplan
