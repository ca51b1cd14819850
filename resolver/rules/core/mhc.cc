// Manifold-constrained hyper-connections (mHC): several residual streams per layer.
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/core/hybrid_util.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Recomputed(F f) { return Recomputes(f, "mhc"); }

bool BadLayerNumber(F f) {
  const Value& layers = f.value(K::mhc_recompute_layer_num);
  return Recomputed(f) && !layers.is_none() && (!layers.is_int() || layers.integer() < 1);
}

// Megatron-Bridge turns them on for DeepSeek-V4, under the name that they have on Megatron-LM's dev branch, where it
// runs (bridge-deepseek-v4.dev-core): src/megatron/bridge/models/deepseek/deepseek_v4_bridge.py:475.
bool HasMhc(F f) { return f.on(K::enable_mhc_connections) || (f.container() && f.env().model_type == "deepseek_v4"); }

std::vector<Patch> DropFromRecompute(F f) {
  return {{Assign(K::recompute_modules, Without(f.value(K::recompute_modules), {"mhc"}))}};
}

const Rule kRules[] = {
    {.id = "mhc.recompute-needs-mhc",
     .area = "mhc",
     TRANSFORMER_CONFIG(2030),
     .core = {.since = kMain},
     .reads = {K::recompute_modules, K::enable_mhc_connections},
     .reads_env = {"model_type"},
     .when = [](F f) { return Recomputed(f) && !HasMhc(f); },
     .needs = "recomputing mhc needs enable_mhc_connections",
     .fix = DropFromRecompute},
    {.id = "mhc.recompute-vs-mlp",
     .area = "mhc",
     TRANSFORMER_CONFIG(2032),
     .core = {.since = kMain},
     .reads = {K::recompute_modules},
     .when = [](F f) { return Recomputed(f) && f.has(K::recompute_modules, "mlp"); },
     .needs = "mhc and mlp use different checkpoint mechanisms; recompute one of them",
     .fix =
         [](F f) {
           return std::vector<Patch>{{Assign(K::recompute_modules, Without(f.value(K::recompute_modules), {"mlp"}))}};
         }},
    {.id = "mhc.recompute-layer-num",
     .area = "mhc",
     TRANSFORMER_CONFIG(2041),
     .core = {.since = kMain},
     .reads = {K::mhc_recompute_layer_num},
     .when = BadLayerNumber,
     .needs = "mhc_recompute_layer_num is a positive whole number or unset",
     .fixes = {{{K::mhc_recompute_layer_num, kUnset}}}},
    {.id = "mhc.recompute-vs-offload",
     .area = "mhc",
     TRANSFORMER_CONFIG(2046),
     .core = {.since = kMain},
     .reads = {K::recompute_modules, K::fine_grained_activation_offloading},
     .when = [](F f) { return Recomputed(f) && Offloads(f); },
     .needs = "recomputing mhc does not work with fine-grained activation offloading yet",
     .fixes = {{{K::fine_grained_activation_offloading, false}}}},
    {.id = "mhc.recompute-hint",
     .area = "mhc",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(2056),
     .core = {.since = kMain},
     .reads = {K::enable_mhc_connections, K::recompute_granularity, K::recompute_modules},
     .when = [](F f) { return f.on(K::enable_mhc_connections) && !Recomputed(f); },
     .needs = "selective recompute with 'mhc' saves the activation memory of the extra streams"},
    {.id = "mhc.no-mtp",
     .area = "mhc",
     TRANSFORMER_CONFIG(2064),
     .core = {.since = kMain},
     .reads = {K::enable_mhc_connections, K::mtp_num_layers},
     .when = [](F f) { return f.on(K::enable_mhc_connections) && f.set(K::mtp_num_layers); },
     .needs = "hyper-connections do not work with multi-token prediction",
     .fixes = {{{K::mtp_num_layers, kUnset}}}},
    {.id = "mhc.no-full-recompute",
     .area = "mhc",
     TRANSFORMER_CONFIG(2070),
     .core = {.since = kMain},
     .reads = {K::enable_mhc_connections, K::recompute_granularity},
     .when = [](F f) { return f.on(K::enable_mhc_connections) && f.is(K::recompute_granularity, "full"); },
     .needs = "hyper-connections work with selective recompute only",
     .fix =
         [](F f) {
           const Value& group = f.value(K::mhc_recompute_layer_num);
           const bool mhc = !f.on(K::fine_grained_activation_offloading) &&
                            (group.is_none() || (group.is_int() && group.integer() >= 1));
           return std::vector<Patch>{{Assign(K::recompute_granularity, "selective"),
                                      Assign(K::recompute_modules, Value(Value::List{mhc ? "mhc" : "core_attn"})),
                                      Assign(K::recompute_method, Value()), Assign(K::recompute_num_layers, Value())}};
         }},
    {.id = "mhc.no-pp",
     .area = "mhc",
     TRANSFORMER_CONFIG(2093),
     .core = {.since = kMain},
     .reads = {K::enable_mhc_connections, K::pipeline_model_parallel_size},
     .when = [](F f) { return f.on(K::enable_mhc_connections) && f.num(K::pipeline_model_parallel_size) > 1; },
     .needs = "hyper-connections have no pipeline support yet: the messages between stages are sized for one stream",
     .fixes = {{{K::pipeline_model_parallel_size, 1},
                {K::virtual_pipeline_model_parallel_size, kUnset},
                {K::pipeline_model_parallel_layout, kUnset}}}},
    {.id = "mhc.no-fp32-residual",
     .area = "mhc",
     TRANSFORMER_CONFIG(2104),
     .core = {.since = kMain},
     .reads = {K::enable_mhc_connections, K::fp32_residual_connection},
     .when = [](F f) { return f.on(K::enable_mhc_connections) && f.on(K::fp32_residual_connection); },
     .needs = "the streams of hyper-connections keep the dtype of the activations",
     .fixes = {{{K::fp32_residual_connection, false}}}},
    {.id = "mhc.sinkhorn-min",
     .area = "mhc",
     TRANSFORMER_CONFIG(2115),
     .core = {.since = kMain},
     .reads = {K::enable_mhc_connections, K::mhc_sinkhorn_iterations},
     .when = [](F f) { return f.on(K::enable_mhc_connections) && f.num(K::mhc_sinkhorn_iterations) < 1; },
     .needs = "at least one Sinkhorn iteration; without it the gradient is silently wrong",
     .fixes = {{{K::mhc_sinkhorn_iterations, 20}}, {{K::mhc_sinkhorn_iterations, 1}}}},
    {.id = "mhc.gating-nonneg",
     .area = "mhc",
     TRANSFORMER_CONFIG(2122),
     .core = {.since = kMain},
     .reads = {K::enable_mhc_connections, K::mhc_init_gating_factor},
     .when = [](F f) { return f.on(K::enable_mhc_connections) && f.real(K::mhc_init_gating_factor) < 0; },
     .needs = "mhc_init_gating_factor is not negative",
     .fixes = {{{K::mhc_init_gating_factor, 0}}}},
    {.id = "build.mhc-not-in-gpt",
     .area = "mhc",
     .at = {Phase::kBuild, 552},
     .source = "Megatron-LM:megatron/core/transformer/transformer_layer.py:552",
     .core = {.since = kMain},
     .reads = {K::enable_mhc_connections, K::hybrid_layer_pattern, K::spec},
     .when =
         [](F f) {
           return f.command_line() && !f.fork() && f.on(K::enable_mhc_connections) && !IsHybridModel(f) &&
                  f.none(K::spec);
         },
     .needs = "the command line's GPT builds no layers with hyper-connections, and those have no MoE",
     .fix =
         [](F f) {
           Patch patch = {Assign(K::enable_mhc_connections, false)};
           if (Recomputed(f)) patch.push_back(DropFromRecompute(f)[0][0]);
           return std::vector<Patch>{patch};
         }},
};

}  // namespace

RuleList CoreMhcRules() { return kRules; }

}  // namespace flightplan
