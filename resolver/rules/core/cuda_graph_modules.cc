// CUDA graphs: which modules may be captured together, and with which recompute and offloading.
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/core/graph_util.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool ManyExperts(F f) { return f.num(K::num_moe_experts) > 1; }

bool OnlyMoeLayers(F f) {
  const Value& freq = f.value(K::moe_layer_freq);
  return freq == Value(1) || (freq.is_list() && !ListHasNumber(freq, 0));
}

bool DropsAndPads(F f) { return f.set(K::moe_expert_capacity_factor) && f.on(K::moe_pad_expert_input_to_capacity); }

bool RecomputesInGraph(F f, absl::string_view module) { return f.core(16) && GraphsOn(f) && Recomputes(f, module); }
// The module's forward runs inside a graph.
bool Graphed(F f, absl::string_view module) { return CapturesEverything(f) || Captures(f, module); }

bool FullRecomputeInLayerGraphs(F f) {
  if (!f.core(16) || !GraphsOn(f) || !f.on(K::recompute_granularity)) return false;
  if (f.is(K::recompute_granularity, "selective")) return false;
  if (f.core(18)) return !GraphImpl(f, "full_iteration");
  const Value::List& scope = f.value(K::cuda_graph_scope).list();
  return !(scope.size() == 1 && scope.front() == Value("full_iteration"));
}

bool ShardedSharedExperts(F f) {
  return RecomputesInGraph(f, "shared_experts") && f.num(K::gtp_weight_remat_size) > 1 && GraphImpl(f, "local") &&
         (f.set(K::fp8) || f.set(K::fp4)) && f.set(K::moe_shared_expert_intermediate_size) &&
         !f.on(K::moe_shared_expert_overlap) && (Graphed(f, "moe") || Captures(f, "moe_router"));
}

bool OffloadsInGraph(F f) { return GraphsOn(f) && Offloads(f); }
constexpr absl::string_view kLocalOffload[] = {"expert_fc1", "moe_act", "fused_group_mlp"};

std::vector<Patch> NoRecompute(F f, std::initializer_list<absl::string_view> modules) {
  return {{Assign(K::recompute_modules, Without(f.value(K::recompute_modules), modules))}, GraphsOff(f)};
}
std::vector<Patch> NoOffload(F) { return {{Assign(K::fine_grained_activation_offloading, false)}}; }

// Graphs of layers that name no modules hold whole layers, the experts among them; core 0.15 calls that "full".
bool WholeLayerGraphs(F f) {
  const Value& scope = f.value(K::cuda_graph_scope);
  if (!f.core(16)) return GraphsOn(f) && (!scope.truthy() || HasGraphName(scope, "full"));
  const bool blocks = GraphImpl(f, "local") && f.is(K::inference_cuda_graph_scope, "block");
  return PerLayerGraphs(f) && !f.on(GraphModulesKnob(f)) && !blocks;
}
std::vector<Patch> StaticModulesOrNone(F f) {
  std::vector<Patch> patches = {GraphsOff(f)};
  const Value modules = Literal::List("attn,moe_router,moe_preprocess").ToValue();
  if (f.core(16)) patches.insert(patches.begin(), Patch{Assign(GraphModulesKnob(f), modules)});
  return patches;
}

void PairRouterAndPreprocess(Editor& e) {
  const Facts& f = e.facts();
  if (!GraphImpl(f, "local")) return;
  const Knob knob = GraphModulesKnob(f);
  if (!HasAny(f, knob, {"moe_router", "moe_preprocess"})) return;
  for (absl::string_view module : {"moe_router", "moe_preprocess"}) {
    if (!f.has(knob, module)) e.Set(knob, With(f.value(knob), module));
  }
}

const Rule kRules[] = {
    {.id = "cuda-graph.vs-cpu-offload",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2801),
     .reads = {K::cuda_graph_impl, K::cpu_offloading},
     .when =
         [](F f) { return GraphsOn(f) && f.on(K::cpu_offloading) && !(f.core(18) && GraphImpl(f, "full_iteration")); },
     .needs = "CUDA graphs do not work with cpu_offloading",
     .fixes = {{{K::cpu_offloading, false}}}},
    {.id = "cuda-graph.local-pairs-router-preprocess",
     .area = "cuda-graph",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(2813),
     .core = {.since = 16},
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope},
     .change = PairRouterAndPreprocess},
    {.id = "cuda-graph.moe-xor-router",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2817),
     .core = {.since = 16},
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope},
     .when = [](F f) { return PerLayerGraphs(f) && Captures(f, "moe") && Captures(f, "moe_router"); },
     .needs = "moe already contains moe_router; capture one of them",
     .fix =
         [](F f) {
           return std::vector<Patch>{DropGraphModules(f, {"moe"}),
                                     DropGraphModules(f, {"moe_router", "moe_preprocess"})};
         }},
    {.id = "cuda-graph.preprocess-needs-router",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2822),
     .core = {.since = 16},
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope},
     .when = [](F f) { return PerLayerGraphs(f) && Captures(f, "moe_preprocess") && !Captures(f, "moe_router"); },
     .needs = "moe_preprocess is captured together with moe_router",
     .fix = [](F f) { return std::vector<Patch>{DropGraphModules(f, {"moe_preprocess"})}; }},
    {.id = "cuda-graph.moe-modules-need-moe",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2826),
     .core = {.since = 16},
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope, K::num_moe_experts},
     .when =
         [](F f) { return PerLayerGraphs(f) && !ManyExperts(f) && (Captures(f, "moe") || Captures(f, "moe_router")); },
     .needs = "a dense model has no moe or moe_router to capture",
     .fix =
         [](F f) {
           return std::vector<Patch>{DropGraphModules(f, {"moe", "moe_router", "moe_preprocess"})};
         }},
    {.id = "cuda-graph.mlp-needs-dense-layer",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2834),
     .core = {.since = 16},
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope, K::moe_layer_freq},
     .when = [](F f) { return PerLayerGraphs(f) && ManyExperts(f) && OnlyMoeLayers(f) && Captures(f, "mlp"); },
     .needs = "mlp captures dense layers, and every layer of this model is an MoE layer",
     .fix = [](F f) { return std::vector<Patch>{DropGraphModules(f, {"mlp"})}; }},
    {.id = "cuda-graph.moe-needs-drop-pad",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2842),
     .core = {.since = 16},
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope, K::moe_expert_capacity_factor,
               K::moe_pad_expert_input_to_capacity},
     .when = [](F f) { return PerLayerGraphs(f) && ManyExperts(f) && !DropsAndPads(f) && Captures(f, "moe"); },
     .needs = "a whole MoE layer has fixed shapes only with a capacity factor and padding to it",
     .fix = [](F f) { return std::vector<Patch>{DropGraphModules(f, {"moe"})}; }},
    {.id = "cuda-graph.preprocess-vs-sync",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2849),
     .core = {.since = 16},
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope, K::moe_token_dispatcher_type, K::moe_expert_capacity_factor,
               K::moe_router_padding_for_fp8},
     .when =
         [](F f) {
           return PerLayerGraphs(f) && ManyExperts(f) && !DropsAndPads(f) &&
                  f.is(K::moe_token_dispatcher_type, "alltoall") &&
                  (f.set(K::moe_expert_capacity_factor) || f.on(K::moe_router_padding_for_fp8)) &&
                  Captures(f, "moe_preprocess");
         },
     .needs = "preprocessing synchronises with the host under token dropping or the old FP8 padding",
     .fix =
         [](F f) {
           // The local implementation captures the pair, so neither may stay.
           if (GraphImpl(f, "local")) return std::vector<Patch>{DropGraphModules(f, {"moe_preprocess", "moe_router"})};
           return std::vector<Patch>{DropGraphModules(f, {"moe_preprocess"})};
         }},
    {.id = "cuda-graph.full-recompute-needs-full-iter",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2856),
     .core = {.since = 16},
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules, K::cuda_graph_scope, K::recompute_granularity},
     .when = FullRecomputeInLayerGraphs,
     .needs = "full recompute works with whole-iteration capture only",
     .fix =
         [](F f) {
           Patch none = {Assign(K::recompute_granularity, Value()), Assign(K::recompute_method, Value()),
                         Assign(K::recompute_num_layers, Value())};
           return std::vector<Patch>{GraphsOff(f), none};
         }},
    {.id = "cuda-graph.te-router-vs-moe-recompute",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2866),
     .core = {.since = 16},
     .reads = {K::cuda_graph_modules, K::cuda_graph_scope, K::recompute_modules},
     .when =
         [](F f) {
           return RecomputesInGraph(f, "moe") && GraphImpl(f, "transformer_engine") && Captures(f, "moe_router");
         },
     .needs = "a recomputed MoE layer cannot have its router inside a Transformer Engine graph",
     .fix =
         [](F f) {
           return std::vector<Patch>{DropGraphModules(f, {"moe_router", "moe_preprocess"})};
         }},
    {.id = "cuda-graph.attn-recompute-dropout",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2879),
     .core = {.since = 16},
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules, K::cuda_graph_scope, K::recompute_modules,
               K::attention_dropout},
     .when =
         [](F f) {
           return RecomputesInGraph(f, "core_attn") && f.real(K::attention_dropout) != 0.0 && Graphed(f, "attn");
         },
     .needs = "recomputed attention inside a graph cannot draw random numbers (attention_dropout is 0.1 by default)",
     .fix = [](F f) { return NoRecompute(f, {"core_attn"}); }},
    {.id = "cuda-graph.mlp-recompute-dropout",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2887),
     .core = {.since = 16},
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules, K::cuda_graph_scope, K::recompute_modules, K::hidden_dropout},
     .when =
         [](F f) {
           return f.real(K::hidden_dropout) != 0.0 && ((RecomputesInGraph(f, "mlp") && Graphed(f, "mlp")) ||
                                                       (RecomputesInGraph(f, "moe") && Graphed(f, "moe")));
         },
     .needs =
         "recomputed MLP or MoE layers inside a graph cannot draw random numbers (hidden_dropout is 0.1 by default)",
     .fix =
         [](F f) {
           return NoRecompute(f, {"mlp", "moe"});
         }},
    {.id = "cuda-graph.moe-recompute-jitter",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2901),
     .core = {.since = 16},
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules, K::cuda_graph_scope, K::recompute_modules,
               K::moe_input_jitter_eps},
     .when = [](F f) { return RecomputesInGraph(f, "moe") && f.set(K::moe_input_jitter_eps) && Graphed(f, "moe"); },
     .needs = "a recomputed MoE layer inside a graph cannot jitter its input",
     .fix = [](F f) { return NoRecompute(f, {"moe"}); }},
    {.id = "cuda-graph.gtp-shared-expert-recompute",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2920),
     .core = {.since = 19},
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules, K::recompute_modules, K::gtp_weight_remat_size},
     .when = ShardedSharedExperts,
     .needs = "sharded low-precision shared experts captured by local graphs cannot be recomputed",
     .fix = [](F f) { return NoRecompute(f, {"shared_experts"}); }},
    {.id = "cuda-graph.offload-impl",
     .area = "cuda-graph",
     OLDER_TRANSFORMER_CONFIG("0.18.2", 2352, 2930),
     .core = {.since = 18, .until = 18},
     .reads = {K::cuda_graph_impl, K::fine_grained_activation_offloading},
     .when =
         [](F f) {
           return OffloadsInGraph(f) && !f.in(K::cuda_graph_impl, {"transformer_engine", "full_iteration"});
         },
     .needs = "core 0.18 offloads activations inside Transformer Engine or whole-iteration graphs only",
     .fix = NoOffload},
    {.id = "cuda-graph.local-offload-modules",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2934),
     .core = {.since = 19},
     .reads = {K::cuda_graph_impl, K::offload_modules},
     .when =
         [](F f) {
           return OffloadsInGraph(f) && GraphImpl(f, "local") && HasOther(f, K::offload_modules, kLocalOffload);
         },
     .needs = "local graphs allow offloading of expert_fc1, moe_act and fused_group_mlp only",
     .fix = NoOffload},
    {.id = "cuda-graph.local-offload-needs-modules",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2940),
     .core = {.since = 19},
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules, K::fine_grained_activation_offloading},
     .when = [](F f) { return OffloadsInGraph(f) && GraphImpl(f, "local") && !f.on(K::cuda_graph_modules); },
     .needs = "offloading does not work inside local graphs of whole layers",
     .fix = NoOffload},
    {.id = "cuda-graph.local-offload-not-moe",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2950),
     .core = {.since = 19},
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules, K::fine_grained_activation_offloading},
     .when = [](F f) { return OffloadsInGraph(f) && GraphImpl(f, "local") && Captures(f, "moe"); },
     .needs = "offloading does not work inside a captured MoE layer",
     .fix = NoOffload},
    {.id = "cuda-graph.offload-not-moe",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2960),
     .core = {.since = 18},
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules, K::fine_grained_activation_offloading},
     .when = [](F f) { return OffloadsInGraph(f) && Captures(f, "moe") && !(f.core(19) && GraphImpl(f, "local")); },
     .needs = "offloading does not work inside a captured MoE layer",
     .fix = NoOffload},
    {.id = "cuda-graph.offload-warmup",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2963),
     .core = {.since = 18},
     .reads = {K::fine_grained_activation_offloading, K::cuda_graph_warmup_steps},
     .when = [](F f) { return OffloadsInGraph(f) && f.num(K::cuda_graph_warmup_steps) <= 0; },
     .needs = "offloading needs at least one warm-up step before capture",
     .fixes = {{{K::cuda_graph_warmup_steps, 3}}}},
    {.id = "build.te-offload-in-graph",
     .area = "cuda-graph",
     .at = {Phase::kBuild, 1613},
     .source = "Megatron-LM:megatron/core/transformer/transformer_layer.py:1613",
     .core = {.since = 19},
     .reads = {K::fine_grained_activation_offloading, K::offload_modules, K::cuda_graph_modules},
     .reads_env = {"te"},
     .when =
         [](F f) {
           return OffloadsInGraph(f) && Captures(f, "attn") && f.te_installed() && !f.te_at_least("2.14.0") &&
                  HasAny(f, K::offload_modules, {"core_attn", "attn_proj", "qkv_linear"});
         },
     .needs = "offloading from captured attention needs Transformer Engine 2.14.0",
     .fix = NoOffload},
    {.id = "cuda-graph.full-iter-offload-inflight",
     .area = "cuda-graph",
     TRANSFORMER_CONFIG(2968),
     .core = {.since = 18},
     .reads = {K::cuda_graph_impl, K::fine_grained_offloading_max_inflight_offloads},
     .when =
         [](F f) {
           return OffloadsInGraph(f) && GraphImpl(f, "full_iteration") &&
                  (f.none(K::fine_grained_offloading_max_inflight_offloads) ||
                   f.num(K::fine_grained_offloading_max_inflight_offloads) < 0);
         },
     .needs = "whole-iteration capture with offloading needs fine_grained_offloading_max_inflight_offloads",
     .fixes = {{{K::fine_grained_offloading_max_inflight_offloads, 1}}}},
    {.id = "field.whole-layer-graph-dropless",
     .area = "field-report",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 209},
     .source = "Megatron-LM:megatron/core/transformer/cuda_graphs.py:2144",
     .reads = {K::cuda_graph_impl, K::cuda_graph_modules, K::cuda_graph_scope, K::moe_token_dispatcher_type,
               K::moe_pad_expert_input_to_capacity, K::moe_expert_rank_capacity_factor, K::num_moe_experts},
     .when = [](F f) { return f.num(K::num_moe_experts) > 0 && WholeLayerGraphs(f) && !FixedExpertShapes(f); },
     .needs = "graphs that name no modules capture whole layers, whose dispatch waits for token counts on the host "
              "without a capacity, which no capture can: capture attention, router and preprocessing alone",
     .fix = StaticModulesOrNone},
};

}  // namespace

RuleList CoreCudaGraphModulesRules() { return kRules; }

}  // namespace flightplan
