// What Bridge does to the model config right before Megatron-Core's own post-init, and the one thing right after it.
// Lines are those of NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/models/transformer_config.py; the
// CUDA-graph guard of utils/cuda_graph.py runs before them.
#include "resolver/rules/bridge/graph_modules_util.h"
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/flex_dispatcher.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool GraphsOff(F f) { return f.is(K::cuda_graph_impl, "none"); }

void ClearGraphModules(Editor& e) {
  if (!GraphsOff(e.facts())) return;
  if (!e.facts().bridge(5)) {  // 0.4 knows the old field only
    e.Set(K::cuda_graph_scope, Value::List{});
    return;
  }
  e.Set(K::cuda_graph_modules, Value::List{});
  e.Set(K::cuda_graph_scope, Value());
}

bool LocalScoped(F f) {
  if (!f.is(K::cuda_graph_impl, "local") || FullIterationGraph(f)) return false;
  const bool inference_only = !AnyPerLayerGraphModule(f) && f.in(K::inference_cuda_graph_scope, {"layer", "block"});
  return !inference_only;
}

constexpr absl::string_view kLocalNeeds =
    "Bridge runs impl 'local' for whole-iteration capture only; single modules need 'transformer_engine'";
constexpr StaticFixes kLocalFixes = {
    {{K::cuda_graph_impl, "none"}, {K::enable_cuda_graph, false}, {K::inference_cuda_graph_scope, kUnset}}};

// Transformer Engine refuses what these ask for, so there the graphs go first.
bool TeWouldRefuse(F f) {
  const bool preprocess_alone = HasGraphModule(f, "moe_preprocess") && !HasGraphModule(f, "moe_router");
  return preprocess_alone || f.set(K::inference_cuda_graph_scope) || f.on(K::fine_grained_activation_offloading) ||
         HasGraphModule(f, "full_iteration_inference");
}

// Capture by Transformer Engine; packed data then has to keep its shapes.
std::vector<Patch> CaptureByTe(F f) {
  if (TeWouldRefuse(f)) return {};
  Patch patch = {Assign(K::cuda_graph_impl, "transformer_engine"), Assign(K::enable_cuda_graph, false)};
  if (f.on(K::dataset_offline_packing_specs)) {
    patch.push_back(Assign(K::dataset_pad_to_max_length, true));
    patch.push_back(Assign(K::dataset_offline_packing_specs_pad_cu_seqlens, true));
  }
  return {patch};
}

const Rule kRules[] = {
    {.id = "bridge-cuda-graph.none-clears",
     .area = "cuda-graph",
     .kind = Kind::kChange,
     .at = {Phase::kModelPrepare, 1},
     .source = "Megatron-Bridge:src/megatron/bridge/utils/cuda_graph.py:138",
     .bridge = {.since = 6},
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules, K::cuda_graph_scope},
     .change = ClearGraphModules},
    {.id = "bridge-cuda-graph.local-only-full-iter",
     .area = "cuda-graph",
     .at = {Phase::kModelPrepare, 2},
     .source = "Megatron-Bridge:src/megatron/bridge/utils/cuda_graph.py:148",
     .bridge = {.since = 6},
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules, K::cuda_graph_scope, K::inference_cuda_graph_scope},
     .when = LocalScoped,
     .needs = kLocalNeeds,
     .fixes = kLocalFixes,
     .fix = CaptureByTe},
    {.id = "bridge.pipeline-dtype-default",
     .area = "pipeline",
     .kind = Kind::kChange,
     .at = {Phase::kModelPrepare, 173},
     .source = "Megatron-Bridge:src/megatron/bridge/models/transformer_config.py:173",
     .reads = {K::pipeline_model_parallel_size, K::pipeline_dtype, K::params_dtype},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.num(K::pipeline_model_parallel_size) > 1 && f.none(K::pipeline_dtype)) {
             e.Set(K::pipeline_dtype, f.value(K::params_dtype));
           }
         }},
    {.id = "bridge.sp-off-without-tp",
     .area = "sequence-parallel",
     .kind = Kind::kChange,
     .at = {Phase::kModelPrepare, 175},
     .source = "Megatron-Bridge:src/megatron/bridge/models/transformer_config.py:175",
     .reads = {K::sequence_parallel, K::tensor_model_parallel_size},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.on(K::sequence_parallel) && f.num(K::tensor_model_parallel_size) <= 1) {
             e.Set(K::sequence_parallel, false);
           }
         }},
    {.id = "bridge.etp-default-one",
     .area = "parallelism",
     .kind = Kind::kChange,
     .at = {Phase::kModelPrepare, 177},
     .source = "Megatron-Bridge:src/megatron/bridge/models/transformer_config.py:87",
     .bridge = {.since = 6},
     .reads = {K::expert_tensor_parallel_size, K::expert_model_parallel_size},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.none(K::expert_tensor_parallel_size) && f.num(K::expert_model_parallel_size) > 1) {
             e.Set(K::expert_tensor_parallel_size, 1);
           }
         }},
    {.id = "bridge.hybridep-pad-uneven",
     .area = "dispatcher",
     .kind = Kind::kChange,
     .at = {Phase::kModelPrepare, 178},
     .source = "Megatron-Bridge:src/megatron/bridge/models/transformer_config.py:128",
     .bridge = {.since = 6},
     .reads = {K::moe_token_dispatcher_type, K::moe_flex_dispatcher_backend, K::cuda_graph_impl, K::enable_cuda_graph,
               K::external_cuda_graph},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           const bool graphs = (f.set(K::cuda_graph_impl) && !GraphsOff(f)) || f.on(K::enable_cuda_graph) ||
                               f.on(K::external_cuda_graph) || HasGraphModule(f, "full_iteration");
           if (FlexBackend(f, "hybridep") && !graphs) e.Set(K::moe_hybridep_pad_uneven_dispatch_inputs, true);
         }},
    {.id = "bridge.in-batch-packing-varlen",
     .area = "pipeline",
     .kind = Kind::kChange,
     .at = {Phase::kContainer, 1},
     .source = "Megatron-Bridge:src/megatron/bridge/models/transformer_config.py:185",
     .reads = {K::dataset_enable_in_batch_packing, K::dataset_pack_sequences_in_batch, K::dataset_packing_buffer_size,
               K::pipeline_model_parallel_size},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           const bool native = f.bridge(kMain) && NativeEnergonPacking(f);
           const K switch_name = f.bridge(6) ? K::dataset_enable_in_batch_packing : K::dataset_pack_sequences_in_batch;
           const bool packed = f.on(switch_name) || native;
           if (packed && f.num(K::pipeline_model_parallel_size) > 1) e.Set(K::variable_seq_lengths, true);
         }},
    {.id = "bridge-cuda-graph.none-clears",  // until 0.5 only after the model's post-init
     .area = "cuda-graph",
     .kind = Kind::kChange,
     .at = {Phase::kContainer, 1514},
     .source = "Megatron-Bridge 0.5.1:src/megatron/bridge/training/config.py",
     .bridge = {.until = 5},
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules, K::cuda_graph_scope},
     .change = ClearGraphModules},
    {.id = "bridge-cuda-graph.local-only-full-iter",  // again, on what the deprecated switches were migrated to
     .area = "cuda-graph",
     .at = {Phase::kContainer, 1514},
     .source = "Megatron-Bridge:src/megatron/bridge/utils/cuda_graph.py:148",
     .bridge = {.since = 6},
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules, K::inference_cuda_graph_scope, K::enable_cuda_graph},
     .when = LocalScoped,
     .needs = kLocalNeeds,
     .fixes = kLocalFixes,
     .fix = CaptureByTe},
};

}  // namespace

RuleList BridgeModelPrepareRules() { return kRules; }

}  // namespace flightplan
