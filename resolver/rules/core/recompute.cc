// Activation recompute: what TransformerConfig.__post_init__ checks and changes.
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/core/te_attention_util.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// Names in the order in which releases learnt them.
constexpr absl::string_view kModules[] = {"core_attn",      "moe_act",      "layernorm",   "mla_up_proj", "mlp", "moe",
                                          "shared_experts", "gdn_norm_out", "gdp_in_proj", "gdp_qkv",     "mhc"};

absl::Span<const absl::string_view> KnownModules(F f) {
  const size_t count = f.core(kMain) ? 11 : f.core(19) ? 8 : 7;
  return absl::MakeSpan(kModules).subspan(0, count);
}

bool QuantizedSmallModules(F f) {
  return Selective(f) && f.on(K::fp8) && HasAny(f, K::recompute_modules, {"moe_act", "layernorm"});
}

Patch Drop(F f, std::initializer_list<absl::string_view> modules) {
  return {Assign(K::recompute_modules, Without(f.value(K::recompute_modules), modules))};
}

void ApplyMoeLayerRecompute(Editor& e) {
  const Facts& f = e.facts();
  if (!f.on(K::moe_layer_recompute) || f.is(K::recompute_granularity, "full")) return;
  e.Set(K::recompute_granularity, "selective");
  if (!f.has(K::recompute_modules, "moe")) e.Set(K::recompute_modules, With(f.value(K::recompute_modules), "moe"));
}

const Rule kRules[] = {
    {.id = "recompute.granularity-known",
     .area = "recompute",
     TRANSFORMER_CONFIG(1903),
     .reads = {K::recompute_granularity},
     .when =
         [](F f) {
           return f.set(K::recompute_granularity) && !f.in(K::recompute_granularity, {"full", "selective"});
         },
     .needs = "recompute_granularity is 'full', 'selective' or unset",
     .fixes = {{{K::recompute_granularity, kUnset}}, {{K::recompute_granularity, "selective"}}}},
    {.id = "recompute.method-known",
     .area = "recompute",
     TRANSFORMER_CONFIG(1910),
     .reads = {K::recompute_method},
     .when =
         [](F f) {
           return f.set(K::recompute_granularity) && f.set(K::recompute_method) &&
                  !f.in(K::recompute_method, {"block", "uniform"});
         },
     .needs = "recompute_method is 'block' or 'uniform'",
     .fixes = {{{K::recompute_method, "uniform"}}, {{K::recompute_method, "block"}}}},
    {.id = "recompute.full-needs-method",
     .area = "recompute",
     TRANSFORMER_CONFIG(1914),
     .reads = {K::recompute_granularity, K::recompute_method},
     .when = [](F f) { return f.set(K::recompute_granularity) && !Selective(f) && f.none(K::recompute_method); },
     .needs = "full recompute needs recompute_method 'uniform' or 'block'",
     .fixes = {{{K::recompute_method, "uniform"}}, {{K::recompute_method, "block"}}}},
    {.id = "recompute.full-needs-num-layers",
     .area = "recompute",
     TRANSFORMER_CONFIG(1920),
     .reads = {K::recompute_granularity, K::recompute_num_layers},
     .when =
         [](F f) {
           // LoongForge's fork may have a list with a number for each stage instead.
           const bool listed = f.fork() && f.set(K::custom_pipeline_recompute_layers);
           return f.set(K::recompute_granularity) && !Selective(f) && f.none(K::recompute_num_layers) && !listed;
         },
     .needs = "full recompute needs recompute_num_layers, at most the layers of one pipeline rank",
     .fixes = {{{K::recompute_num_layers, 1}}}},
    {.id = "recompute.selective-no-num-layers",
     .area = "recompute",
     TRANSFORMER_CONFIG(1929),
     .reads = {K::recompute_granularity, K::recompute_num_layers},
     .when = [](F f) { return Selective(f) && f.set(K::recompute_num_layers); },
     .needs = "selective recompute takes modules, not a number of layers",
     .fixes = {{{K::recompute_num_layers, kUnset}}}},
    {.id = "recompute.distribute-vs-sp",
     .area = "recompute",
     TRANSFORMER_CONFIG(1935),
     .reads = {K::distribute_saved_activations, K::sequence_parallel},
     .when =
         [](F f) {
           return f.set(K::recompute_granularity) && f.on(K::distribute_saved_activations) &&
                  f.on(K::sequence_parallel);
         },
     .needs = "sequence parallelism already splits the saved activations",
     .fixes = {{{K::distribute_saved_activations, false}}}},
    {.id = "recompute.modules-default",
     .area = "recompute",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(1941),
     .reads = {K::recompute_modules},
     .change =
         [](Editor& e) {
           if (e.facts().none(K::recompute_modules)) e.Set(K::recompute_modules, Value::List{"core_attn"});
         }},
    {.id = "recompute.modules-known",
     .area = "recompute",
     TRANSFORMER_CONFIG(1959),
     .reads = {K::recompute_modules},
     .when = [](F f) { return !f.fork() && Selective(f) && HasOther(f, K::recompute_modules, KnownModules(f)); },
     .needs = "recompute_modules knows core_attn, moe_act, layernorm, mla_up_proj, mlp, moe, shared_experts; core 0.19 "
              "adds gdn_norm_out, main adds gdp_in_proj, gdp_qkv, mhc",
     .fix =
         [](F f) {
           return std::vector<Patch>{
               {Assign(K::recompute_modules, Only(f.value(K::recompute_modules), KnownModules(f)))}};
         }},
    {.id = "recompute.moe-act-needs-gg",
     .area = "recompute",
     TRANSFORMER_CONFIG(1965),
     .reads = {K::recompute_modules, K::moe_grouped_gemm},
     .when = [](F f) { return Recomputes(f, "moe_act") && !f.on(K::moe_grouped_gemm); },
     .needs = "recomputing moe_act needs moe_grouped_gemm",
     .fix =
         [](F f) {
           return std::vector<Patch>{{Assign(K::moe_grouped_gemm, true)}, Drop(f, {"moe_act"})};
         }},
    {.id = "recompute.mla-up-proj-needs-mla",
     .area = "recompute",
     TRANSFORMER_CONFIG(1970),
     .reads = {K::recompute_modules, K::multi_latent_attention},
     .when = [](F f) { return Recomputes(f, "mla_up_proj") && !f.on(K::multi_latent_attention); },
     .needs = "only multi-latent attention has an mla_up_proj to recompute",
     .fix = [](F f) { return std::vector<Patch>{Drop(f, {"mla_up_proj"})}; }},
    {.id = "recompute.gdn-norm-needs-gdn",
     .area = "recompute",
     TRANSFORMER_CONFIG(1978),
     .core = {.since = 19},
     .reads = {K::recompute_modules, K::experimental_attention_variant},
     .when = [](F f) { return Recomputes(f, "gdn_norm_out") && !GatedDeltaNet(f); },
     .needs = "only gated delta net layers have a gdn_norm_out to recompute",
     .fix = [](F f) { return std::vector<Patch>{Drop(f, {"gdn_norm_out"})}; }},
    {.id = "recompute.core-attn-fused-hint",
     .area = "recompute",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(1984),
     .reads = {K::recompute_granularity, K::recompute_modules},
     .when = [](F f) { return Recomputes(f, "core_attn"); },
     .needs = "fused attention recomputes itself; core_attn is useful with unfused attention only"},
    {.id = "recompute.shared-experts-vs-overlap",
     .area = "recompute",
     TRANSFORMER_CONFIG(1996),
     .reads = {K::recompute_modules, K::moe_shared_expert_overlap},
     .when =
         [](F f) {
           return Recomputes(f, "shared_experts") && f.set(K::moe_shared_expert_intermediate_size) &&
                  f.on(K::moe_shared_expert_overlap);
         },
     .needs = "shared experts are either recomputed or overlapped",
     .fix =
         [](F f) {
           return std::vector<Patch>{Drop(f, {"shared_experts"}), {Assign(K::moe_shared_expert_overlap, false)}};
         }},
    {.id = "recompute.fp8-delayed",
     .area = "recompute",
     TRANSFORMER_CONFIG(2003),
     .reads = {K::recompute_modules, K::fp8_recipe},
     .when = [](F f) { return QuantizedSmallModules(f) && f.is(K::fp8_recipe, "delayed"); },
     .needs = "delayed scaling cannot recompute moe_act or layernorm in FP8",
     .fix =
         [](F f) {
           return std::vector<Patch>{Drop(f, {"moe_act", "layernorm"})};
         }},
    {.id = "recompute.fp8-te-2.6",
     .area = "version-gate",
     TRANSFORMER_CONFIG(2008),
     .reads = {K::recompute_modules, K::fp8},
     .reads_env = {"te"},
     .when = [](F f) { return QuantizedSmallModules(f) && !f.te_at_least("2.6.0dev0"); },
     .needs = "recomputing moe_act or layernorm in FP8 needs Transformer Engine 2.6.0",
     .fix =
         [](F f) {
           return std::vector<Patch>{Drop(f, {"moe_act", "layernorm"})};
         }},
    {.id = "recompute.moe-layer-recompute-deprecated",
     .area = "recompute",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(2015),
     .reads = {K::moe_layer_recompute},
     .when = [](F f) { return f.on(K::moe_layer_recompute); },
     .needs = "write recompute_granularity=selective with 'moe' in recompute_modules"},
    {.id = "recompute.moe-layer-recompute-vs-full",
     .area = "recompute",
     TRANSFORMER_CONFIG(2020),
     .reads = {K::moe_layer_recompute, K::recompute_granularity},
     .when = [](F f) { return f.on(K::moe_layer_recompute) && f.is(K::recompute_granularity, "full"); },
     .needs = "full recompute covers the MoE layer already",
     .fixes = {{{K::moe_layer_recompute, false}}}},
    {.id = "recompute.moe-layer-recompute-applied",
     .area = "recompute",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(2023),
     .reads = {K::moe_layer_recompute, K::recompute_granularity, K::recompute_modules},
     .change = ApplyMoeLayerRecompute},
};

}  // namespace

RuleList CoreRecomputeRules() { return kRules; }

}  // namespace flightplan
