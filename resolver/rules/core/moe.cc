// Mixture of experts: number and size of experts, shared experts, bias.
#include "resolver/base/integers.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// A model with dense and MoE layers builds its dense layers with num_moe_experts unset.
bool MixedLayers(F f) {
  const Value& freq = f.value(K::moe_layer_freq);
  return (freq.is_list() && ListHasNumber(freq, 0)) || (freq.is_int() && freq.integer() > 1);
}

bool SizeWithoutExperts(F f) { return f.none(K::num_moe_experts) && f.set(K::moe_ffn_hidden_size); }
bool SizeMissing(F f) { return f.set(K::num_moe_experts) && f.none(K::moe_ffn_hidden_size); }

const Rule kRules[] = {
    {.id = "moe.experts-positive",
     .area = "moe",
     TRANSFORMER_CONFIG(1683),
     .reads = {K::num_moe_experts},
     .when = [](F f) { return f.set(K::num_moe_experts) && f.num(K::num_moe_experts) <= 0; },
     .needs = "num_moe_experts is positive; unset means a dense model",
     .fixes = {{{K::num_moe_experts, kUnset}, {K::moe_ffn_hidden_size, kUnset}, {K::expert_model_parallel_size, 1}}}},
    {.id = "moe.ffn-default-warn",
     .area = "moe",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(1685),
     .reads = {K::num_moe_experts, K::moe_ffn_hidden_size, K::ffn_hidden_size},
     .when = SizeMissing,
     .needs = "an expert gets the size of the dense feed-forward layer; say moe_ffn_hidden_size if that is not meant",
     .fix = [](F f) -> std::vector<Patch> {
       if (f.num(K::ffn_hidden_size) > 0) return {{Assign(K::moe_ffn_hidden_size, f.value(K::ffn_hidden_size))}};
       // The size of a dense layer where nothing is said.
       const std::optional<int64_t> usual = Product({4, f.num(K::hidden_size)});
       if (!usual.has_value() || *usual <= 0) return {};
       return {{Assign(K::moe_ffn_hidden_size, *usual)}};
     }},
    {.id = "moe.ffn-default",
     .area = "moe",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(1686),
     .reads = {K::num_moe_experts, K::moe_ffn_hidden_size, K::ffn_hidden_size},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (SizeMissing(f)) e.Set(K::moe_ffn_hidden_size, f.value(K::ffn_hidden_size));
         }},
    {.id = "moe.ffn-dropped-mixed",
     .area = "moe",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(1694),
     .core = {.since = 18},
     .reads = {K::num_moe_experts, K::moe_ffn_hidden_size, K::moe_layer_freq},
     .when = [](F f) { return SizeWithoutExperts(f) && MixedLayers(f); },
     .needs = "moe_ffn_hidden_size is dropped for a dense layer"},
    {.id = "moe.ffn-dropped",
     .area = "moe",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(1700),
     .core = {.since = 18},
     .reads = {K::num_moe_experts, K::moe_ffn_hidden_size, K::moe_layer_freq},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (SizeWithoutExperts(f) && MixedLayers(f)) e.Set(K::moe_ffn_hidden_size, Value());
         }},
    {.id = "moe.ffn-without-experts",
     .area = "moe",
     TRANSFORMER_CONFIG(1702),
     .reads = {K::num_moe_experts, K::moe_ffn_hidden_size},
     // Up to core 0.17 the size without experts was refused for mixed models too.
     .when = [](F f) { return SizeWithoutExperts(f) && !(f.core(18) && MixedLayers(f)); },
     .needs = "moe_ffn_hidden_size needs experts: num_moe_experts",
     .fixes = {{{K::moe_ffn_hidden_size, kUnset}}}},
    {.id = "shared-expert.size-positive",
     .area = "shared-expert",
     TRANSFORMER_CONFIG(1815),
     .reads = {K::moe_shared_expert_intermediate_size},
     .when =
         [](F f) {
           return f.set(K::moe_shared_expert_intermediate_size) && f.num(K::moe_shared_expert_intermediate_size) <= 0;
         },
     .needs = "moe_shared_expert_intermediate_size is the number of shared experts times their size",
     .fixes = {{{K::moe_shared_expert_intermediate_size, kUnset}}}},
    {.id = "shared-expert.overlap-dispatcher",
     .area = "shared-expert",
     TRANSFORMER_CONFIG(1824),
     .reads = {K::moe_shared_expert_overlap, K::moe_token_dispatcher_type},
     .when =
         [](F f) {
           const bool overlaps = f.is(K::moe_token_dispatcher_type, "alltoall") ||
                                 (f.core(18) && f.is(K::moe_token_dispatcher_type, "flex"));
           return f.set(K::moe_shared_expert_intermediate_size) && f.on(K::moe_shared_expert_overlap) && !overlaps;
         },
     .needs = "shared experts overlap with the alltoall dispatcher, from core 0.18 with flex too",
     .fixes = {{{K::moe_shared_expert_overlap, false}}, {{K::moe_token_dispatcher_type, "alltoall"}}}},
    {.id = "moe.bias-needs-etp1",
     .area = "moe",
     TRANSFORMER_CONFIG(2613),
     .reads = {K::num_moe_experts, K::add_bias_linear, K::expert_tensor_parallel_size},
     .when =
         [](F f) {
           return f.set(K::num_moe_experts) && f.on(K::add_bias_linear) && f.num(K::expert_tensor_parallel_size) != 1;
         },
     .needs = "experts with a bias cannot be split by expert tensor parallelism (add_bias_linear is on by default)",
     .fixes = {{{K::expert_tensor_parallel_size, 1}}, {{K::add_bias_linear, false}}}},
    {.id = "router.fp32-hint",
     .area = "router",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(3124),
     .reads = {K::num_moe_experts, K::moe_router_dtype},
     .when =
         [](F f) { return f.set(K::num_moe_experts) && f.num(K::num_moe_experts) >= 32 && !f.on(K::moe_router_dtype); },
     .needs = "routing over 32 experts or more is more stable with moe_router_dtype=fp32"},
};

}  // namespace

RuleList CoreMoeRules() { return kRules; }

}  // namespace flightplan
