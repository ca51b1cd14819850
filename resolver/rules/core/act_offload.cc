// Fine-grained activation offloading and the paged stash of expert activations.
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// Names in the order in which releases learnt them.
constexpr absl::string_view kModules[] = {"core_attn", "attn_proj",  "expert_fc1",      "moe_act", "attn_norm",
                                          "mlp_norm",  "qkv_linear", "fused_group_mlp", "gdp_qkv"};

absl::Span<const absl::string_view> KnownModules(F f) {
  const size_t count = f.core(kMain) ? 9 : f.core(19) ? 8 : 7;
  return absl::MakeSpan(kModules).subspan(0, count);
}

bool Offloads(F f, absl::string_view module) { return Offloads(f) && f.has(K::offload_modules, module); }

Patch Drop(F f, std::initializer_list<absl::string_view> modules) {
  const Value kept = Without(f.value(K::offload_modules), modules);
  Patch patch = {Assign(K::offload_modules, kept)};
  // Nothing left to offload is an error of its own.
  if (kept.list().empty()) patch.push_back(Assign(K::fine_grained_activation_offloading, false));
  return patch;
}

bool StashCoversOffload(F f) {
  if (!f.on(K::moe_paged_stash)) return false;
  if (HasAny(f, K::offload_modules, {"expert_fc1", "moe_act"})) return true;
  return f.core(19) && f.has(K::offload_modules, "fused_group_mlp");
}

const Rule kRules[] = {
    {.id = "act-offload.vs-cpu-offload",
     .area = "act-offload",
     TRANSFORMER_CONFIG(2128),
     .core = {.since = 16},
     .reads = {K::fine_grained_activation_offloading, K::cpu_offloading},
     .when = [](F f) { return Offloads(f) && f.on(K::cpu_offloading); },
     .needs = "fine-grained offloading replaces cpu_offloading; use one of them",
     .fixes = {{{K::cpu_offloading, false}}, {{K::fine_grained_activation_offloading, false}}}},
    {.id = "act-offload.needs-modules",
     .area = "act-offload",
     TRANSFORMER_CONFIG(2131),
     .core = {.since = 16},
     .reads = {K::fine_grained_activation_offloading, K::offload_modules},
     .when = [](F f) { return Offloads(f) && f.value(K::offload_modules).list().empty(); },
     .needs = "fine-grained offloading needs at least one entry in offload_modules",
     .fixes = {{{K::fine_grained_activation_offloading, false}}, {{K::offload_modules, Literal::List("core_attn")}}}},
    {.id = "act-offload.modules-known",
     .area = "act-offload",
     TRANSFORMER_CONFIG(2144),
     .core = {.since = 16},
     .reads = {K::offload_modules},
     .when = [](F f) { return Offloads(f) && HasOther(f, K::offload_modules, KnownModules(f)); },
     .needs =
         "offload_modules knows core_attn, attn_proj, expert_fc1, moe_act, attn_norm, mlp_norm, qkv_linear; core 0.19 "
         "adds fused_group_mlp, main adds gdp_qkv",
     .fix =
         [](F f) {
           const Value kept = Only(f.value(K::offload_modules), KnownModules(f));
           Patch patch = {Assign(K::offload_modules, kept)};
           if (kept.list().empty()) patch.push_back(Assign(K::fine_grained_activation_offloading, false));
           return std::vector<Patch>{patch};
         }},
    {.id = "act-offload.attn-proj-needs-core-attn",
     .area = "act-offload",
     TRANSFORMER_CONFIG(2149),
     .core = {.since = 16},
     .reads = {K::offload_modules},
     .when = [](F f) { return Offloads(f, "attn_proj") && !f.has(K::offload_modules, "core_attn"); },
     .needs = "attn_proj's input is core_attn's output: offload core_attn too",
     .fix =
         [](F f) {
           return std::vector<Patch>{{Assign(K::offload_modules, With(f.value(K::offload_modules), "core_attn"))},
                                     Drop(f, {"attn_proj"})};
         }},
    {.id = "act-offload.gdp-qkv-vs-recompute",
     .area = "act-offload",
     TRANSFORMER_CONFIG(2159),
     .core = {.since = kMain},
     .reads = {K::offload_modules, K::recompute_modules},
     .when = [](F f) { return Offloads(f, "gdp_qkv") && Recomputes(f, "gdp_in_proj"); },
     .needs = "gdp_in_proj recompute drops what gdp_qkv would offload; use one of them",
     .fix = [](F f) { return std::vector<Patch>{Drop(f, {"gdp_qkv"})}; }},
    {.id = "act-offload.inside-moe-recompute",
     .area = "act-offload",
     TRANSFORMER_CONFIG(2169),
     .core = {.since = 19},
     .reads = {K::offload_modules, K::recompute_modules},
     .when =
         [](F f) {
           return Offloads(f) && Recomputes(f, "moe") &&
                  HasAny(f, K::offload_modules, {"moe_act", "expert_fc1", "fused_group_mlp"});
         },
     .needs = "recomputing the whole MoE layer leaves nothing inside it to offload",
     .fix =
         [](F f) {
           return std::vector<Patch>{Drop(f, {"moe_act", "expert_fc1", "fused_group_mlp"}),
                                     {Assign(K::recompute_modules, Without(f.value(K::recompute_modules), {"moe"}))}};
         }},
    {.id = "act-offload.min-size-nonneg",
     .area = "act-offload",
     TRANSFORMER_CONFIG(2176),
     .core = {.since = 19},
     .reads = {K::min_offloaded_tensor_size},
     .when = [](F f) { return Offloads(f) && f.num(K::min_offloaded_tensor_size) < 0; },
     .needs = "min_offloaded_tensor_size is not negative",
     .fixes = {{{K::min_offloaded_tensor_size, 0}}}},
    {.id = "act-offload.fraction-range",
     .area = "act-offload",
     TRANSFORMER_CONFIG(2179),
     .core = {.since = 19},
     .reads = {K::activation_offload_fraction},
     .when =
         [](F f) {
           const double fraction = f.real(K::activation_offload_fraction);
           return Offloads(f) && !(fraction >= 0 && fraction <= 1);
         },
     .needs = "activation_offload_fraction is between 0 and 1",
     .fixes = {{{K::activation_offload_fraction, 1}}}},
    {.id = "act-offload.delta-nonneg",
     .area = "act-offload",
     TRANSFORMER_CONFIG(2182),
     .core = {.since = 19},
     .reads = {K::delta_offload_bytes_across_pp_ranks},
     .when = [](F f) { return Offloads(f) && f.num(K::delta_offload_bytes_across_pp_ranks) < 0; },
     .needs = "delta_offload_bytes_across_pp_ranks is not negative",
     .fixes = {{{K::delta_offload_bytes_across_pp_ranks, 0}}}},
    {.id = "act-offload.fused-group-mlp-needs-fuser",
     .area = "act-offload",
     TRANSFORMER_CONFIG(2188),
     .core = {.since = 19},
     .reads = {K::offload_modules, K::use_transformer_engine_op_fuser},
     .when = [](F f) { return Offloads(f, "fused_group_mlp") && !f.on(K::use_transformer_engine_op_fuser); },
     .needs = "fused_group_mlp exists only with use_transformer_engine_op_fuser",
     .fix = [](F f) { return std::vector<Patch>{Drop(f, {"fused_group_mlp"})}; }},
    {.id = "act-offload.fused-group-mlp-exclusive",
     .area = "act-offload",
     TRANSFORMER_CONFIG(2191),
     .core = {.since = 19},
     .reads = {K::offload_modules},
     .when =
         [](F f) {
           return Offloads(f, "fused_group_mlp") && HasAny(f, K::offload_modules, {"expert_fc1", "moe_act"});
         },
     .needs = "fused_group_mlp contains expert_fc1 and moe_act",
     .fix =
         [](F f) {
           return std::vector<Patch>{Drop(f, {"expert_fc1", "moe_act"})};
         }},
    {.id = "paged-stash.vs-cpu-offload",
     .area = "act-offload",
     TRANSFORMER_CONFIG(2212),
     .core = {.since = 18},
     .reads = {K::moe_paged_stash, K::cpu_offloading},
     .when = [](F f) { return f.on(K::moe_paged_stash) && f.on(K::cpu_offloading); },
     .needs = "the paged stash does not work with cpu_offloading",
     .fixes = {{{K::cpu_offloading, false}}, {{K::moe_paged_stash, false}}}},
    {.id = "paged-stash.needs-rank-capacity",
     .area = "act-offload",
     TRANSFORMER_CONFIG(2214),
     .core = {.since = 18},
     .reads = {K::moe_paged_stash, K::moe_expert_rank_capacity_factor},
     .when = [](F f) { return f.on(K::moe_paged_stash) && f.none(K::moe_expert_rank_capacity_factor); },
     .needs = "the paged stash serves buffers sized by moe_expert_rank_capacity_factor",
     .fixes = {{{K::moe_paged_stash, false}}}},
    {.id = "paged-stash.vs-offload-modules",
     .area = "act-offload",
     TRANSFORMER_CONFIG(2222),
     .core = {.since = 18},
     .reads = {K::moe_paged_stash, K::offload_modules},
     .when = StashCoversOffload,
     .needs = "the paged stash covers expert_fc1, moe_act and fused_group_mlp already",
     .fix =
         [](F f) {
           return std::vector<Patch>{Drop(f, {"expert_fc1", "moe_act", "fused_group_mlp"})};
         }},
};

}  // namespace

RuleList CoreActOffloadRules() { return kRules; }

}  // namespace flightplan
