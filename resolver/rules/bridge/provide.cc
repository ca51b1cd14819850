// GPTModelProvider.provide: what Bridge checks and changes when it builds the model.
// Lines are those of NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/models/gpt_provider.py.
#include <algorithm>

#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Provides(F f) { return f.on(K::launch_provide); }

// A first or last stage of its own, or a layout, makes the stages unequal on purpose.
bool UnequalStages(F f) {
  const bool first_or_last = f.on(K::num_layers_in_first_pipeline_stage) || f.set(K::num_layers_in_last_pipeline_stage);
  return first_or_last || f.on(K::account_for_embedding_in_pipeline_split) ||
         f.on(K::account_for_loss_in_pipeline_split) || f.set(K::pipeline_model_parallel_layout);
}

bool ChunksUneven(F f) {
  const int64_t vpp = f.num(K::virtual_pipeline_model_parallel_size);
  const int64_t pp = f.num(K::pipeline_model_parallel_size);
  return Provides(f) && vpp != 0 && pp > 0 && !UnequalStages(f) && (f.num(K::num_layers) / pp) % vpp != 0;
}

constexpr int64_t kMostChunks = 4096;  // that are tried: more than any model has layers

// The nearest smaller number of chunks that comes out even.
std::vector<Patch> EvenChunks(F f) {
  const int64_t per_rank = f.num(K::num_layers) / f.num(K::pipeline_model_parallel_size);
  for (int64_t vpp = std::min(f.num(K::virtual_pipeline_model_parallel_size) - 1, kMostChunks); vpp > 1; --vpp) {
    if (per_rank % vpp == 0) return {{Assign(K::virtual_pipeline_model_parallel_size, vpp)}};
  }
  return {{Assign(K::virtual_pipeline_model_parallel_size, Value())}};
}

const Rule kRules[] = {
    {.id = "bridge.rope-fusion-off",
     .area = "fusion",
     .kind = Kind::kChange,
     .at = {Phase::kProvide, 231},
     .source = "Megatron-Bridge:src/megatron/bridge/utils/fusions.py:87",
     .reads = {K::apply_rope_fusion, K::position_embedding_type},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (Provides(f) && f.on(K::apply_rope_fusion) && !f.is(K::position_embedding_type, "rope")) {
             e.Set(K::apply_rope_fusion, false);
           }
         }},
    {.id = "bridge-cuda-graph.needs-te-rng",
     .area = "cuda-graph",
     .at = {Phase::kProvide, 235},
     .source = "Megatron-Bridge:src/megatron/bridge/models/gpt_provider.py:235",
     .reads = {K::cuda_graph_impl, K::use_te_rng_tracker, K::te_rng_tracker},
     .when = [](F f) { return Provides(f) && !f.is(K::cuda_graph_impl, "none") && !f.on(K::use_te_rng_tracker); },
     .needs = "CUDA graphs need Transformer Engine's RNG tracker",
     .fixes = {{{K::use_te_rng_tracker, true}, {K::te_rng_tracker, true}}, {{K::cuda_graph_impl, "none"}}}},
    {.id = "bridge-pp.vpp-divides-layers",
     .area = "divisibility",
     .at = {Phase::kProvide, 253},
     .source = "Megatron-Bridge:src/megatron/bridge/models/gpt_provider.py:253",
     .reads = {K::num_layers, K::pipeline_model_parallel_size, K::virtual_pipeline_model_parallel_size},
     .when = ChunksUneven,
     .needs = "every pipeline rank holds the same number of layers in each of its chunks",
     .fix = EvenChunks},
};

}  // namespace

RuleList BridgeProvideRules() { return kRules; }

}  // namespace flightplan
