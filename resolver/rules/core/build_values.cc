// Single values that no config class looks at and that construction refuses (NVIDIA/Megatron-LM@d98e8a64dd).
#include <algorithm>

#include "resolver/derive/pipeline.h"
#include "resolver/rules/core/hybrid_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool ReadsMoeFreq(F f) { return f.num(K::num_moe_experts) > 0 && !f.fork() && !HasPattern(f); }
bool ReadsLinearFreq(F f) {
  return !f.fork() && !HasPattern(f) && f.in(K::experimental_attention_variant, {"gdn", "gdn2", "gated_delta_net"});
}

// Of a list: entries that name no kind of layer.
bool OtherKinds(const Value& freq) {
  const auto& list = freq.list();
  return std::any_of(list.begin(), list.end(),
                     [](const Value& kind) { return !(kind == Value(0)) && !(kind == Value(1)); });
}
bool IsZero(const Value& freq) { return freq.is_int() && freq.integer() == 0; }
bool OtherLength(F f, const Value& freq) {
  return freq.is_list() && f.num(K::num_layers) > 0 && static_cast<int64_t>(freq.list().size()) != f.num(K::num_layers);
}

bool BadMoeFreq(F f) {
  const Value& freq = f.value(K::moe_layer_freq);
  return ReadsMoeFreq(f) && (IsZero(freq) || OtherKinds(freq));
}
std::vector<Patch> KnownKinds(F f) {
  const Value& freq = f.value(K::moe_layer_freq);
  if (!freq.is_list()) return {{Assign(K::moe_layer_freq, 1)}};
  Value::List kinds = freq.list();
  for (Value& kind : kinds) kind = Value(kind == Value(0) ? 0 : 1);
  return {{Assign(K::moe_layer_freq, Value(std::move(kinds)))}};
}

bool BadLinearFreq(F f) {
  const Value& freq = f.value(K::linear_attention_freq);
  return ReadsLinearFreq(f) && (IsZero(freq) || OtherLength(f, freq));
}
// Layers behind the list are as its last.
std::vector<Patch> EveryLayer(F f) {
  const Value& freq = f.value(K::linear_attention_freq);
  if (!freq.is_list() || freq.list().empty()) return {{Assign(K::linear_attention_freq, 4)}};
  if (f.num(K::num_layers) > kMostLayersOfText) return {};
  Value::List layers = freq.list();
  layers.resize(static_cast<size_t>(f.num(K::num_layers)), layers.back());
  return {{Assign(K::linear_attention_freq, Value(std::move(layers)))}};
}

bool Muon(F f) { return f.core(16) && !f.fork() && f.in(K::optimizer, {"muon", "dist_muon", "adaptive_muon"}); }

const Rule kRules[] = {
    {.id = "build.value-type",
     .area = "cli",
     .at = {Phase::kBuild, 2},
     .source = "Megatron-Bridge:src/megatron/bridge/training/utils/omegaconf_utils.py:515",
     .when = FoundByReader,
     .needs =
         "a field that holds a number is given one: text, None and 4.0 for an integer pass where the configuration "
         "does not compute with it, and stop what is built of it"},
    {.id = "build.moe-layer-freq-values",
     .area = "moe",
     .at = {Phase::kBuild, 10671},
     .source = "Megatron-LM:megatron/core/models/gpt/gpt_layer_specs.py:648",
     .reads = {K::moe_layer_freq, K::num_moe_experts},
     .when = BadMoeFreq,
     .needs = "moe_layer_freq is a distance of at least 1 between MoE layers, or a list of 1 (MoE) and 0 (dense)",
     .fix = KnownKinds},
    {.id = "build.linear-attention-freq-values",
     .area = "attention",
     .at = {Phase::kBuild, 10672},
     .source = "Megatron-LM:megatron/core/models/gpt/experimental_attention_variant_module_specs.py:472",
     .core = {.since = 16},
     .reads = {K::linear_attention_freq, K::num_layers, K::experimental_attention_variant},
     .when = BadLinearFreq,
     .needs =
         "linear_attention_freq is a distance of at least 1 between layers of full attention, or a list of as many "
         "entries as num_layers",
     .fix = EveryLayer},
    {.id = "build.mla-fusion-needs-q-lora",
     .area = "attention",
     .at = {Phase::kBuild, 11271},
     .source = "Megatron-LM:megatron/core/transformer/multi_latent_attention.py:1271",
     .core = {.since = 17},
     .reads = {K::mla_down_proj_fusion, K::q_lora_rank, K::multi_latent_attention},
     .when =
         [](F f) {
           return f.on(K::multi_latent_attention) && f.on(K::mla_down_proj_fusion) && f.none(K::q_lora_rank) &&
                  !f.is(K::transformer_impl, "local") && (f.core(19) || !IsHybridModel(f));
         },
     .needs = "the fused down-projection is of queries, keys and values: queries need a q_lora_rank",
     .fixes = {{{K::mla_down_proj_fusion, false}}}},
    {.id = "build.muon-steps",
     .area = "optimizer",
     .at = {Phase::kBuild, 10780},
     .source = "Megatron-LM:megatron/core/optimizer/emerging_optimizers.py:201",
     .core = {.since = 16},
     .reads = {K::muon_num_ns_steps, K::optimizer},
     .when = [](F f) { return Muon(f) && f.set(K::muon_num_ns_steps) && f.num(K::muon_num_ns_steps) < 1; },
     .needs = "Muon takes at least one step of Newton-Schulz",
     .fixes = {{{K::muon_num_ns_steps, 5}}}},
    // The types are those of the installed emerging_optimizers, which may know more.
    {.id = "build.muon-coefficients",
     .area = "optimizer",
     .kind = Kind::kWarning,
     .at = {Phase::kBuild, 10781},
     .source = "Megatron-LM:megatron/core/optimizer/emerging_optimizers.py:75",
     .core = {.since = 17},
     .reads = {K::muon_coefficient_type, K::optimizer},
     .when =
         [](F f) {
           return Muon(f) && f.set(K::muon_coefficient_type) &&
                  !f.in(K::muon_coefficient_type, {"simple", "quintic", "polar_express", "aol", "custom"});
         },
     .needs = "emerging_optimizers must know Muon's coefficients: simple, quintic, polar_express, aol",
     .fixes = {{{K::muon_coefficient_type, "quintic"}}}},
    {.id = "build.fsdp-sharding-overlaps",
     .area = "fsdp",
     .kind = Kind::kInfo,  // the configuration keeps its values, and the model does not go by them
     .at = {Phase::kBuild, 10184},
     .source = "Megatron-LM:megatron/core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py:330",
     .core = {.since = 16},
     .reads = {K::use_megatron_fsdp, K::data_parallel_sharding_strategy, K::overlap_grad_reduce,
               K::overlap_param_gather},
     .when =
         [](F f) {
           if (!f.on(K::use_megatron_fsdp) || f.num(K::megatron_fsdp_version) == 2 || f.fork()) return false;
           const bool all = f.is(K::data_parallel_sharding_strategy, "optim_grads_params");
           const bool gradients = all || f.is(K::data_parallel_sharding_strategy, "optim_grads");
           return (all && !f.on(K::overlap_param_gather)) || (gradients && !f.on(K::overlap_grad_reduce));
         },
     .needs = "Megatron-FSDP overlaps what it shards, whatever overlap_grad_reduce and overlap_param_gather say"},
};

}  // namespace

RuleList CoreBuildValuesRules() { return kRules; }

}  // namespace flightplan
