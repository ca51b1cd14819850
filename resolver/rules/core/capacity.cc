// Expert capacity: token dropping, padding to capacity, per-rank buffers.
#include <algorithm>

#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Balances(const Value& type) {
  const absl::string_view name = type.text();
  return name == "aux_loss" || name == "seq_aux_loss" || name == "global_aux_loss" || name == "none";
}

bool UnbalancedType(F f) {
  const Value& types = f.value(K::moe_router_load_balancing_type);
  if (!types.is_list()) return !Balances(types);
  if (f.fork()) return true;  // its Hydra's lists are among no names
  return !std::all_of(types.list().begin(), types.list().end(), Balances);
}

const Rule kRules[] = {
    {.id = "capacity.load-balancing-type",
     .area = "capacity",
     // Upstream sets a negative factor to None first, but stays in the branch; so does this order.
     .at = {Phase::kModel, 1836},
     .source = "Megatron-LM:megatron/core/transformer/transformer_config.py:1847",
     .reads = {K::moe_expert_capacity_factor, K::moe_router_load_balancing_type},
     .when = [](F f) { return f.set(K::moe_expert_capacity_factor) && UnbalancedType(f); },
     .needs = "a capacity factor works with aux_loss, seq_aux_loss, global_aux_loss or none",
     .fixes = {{{K::moe_expert_capacity_factor, kUnset}, {K::moe_pad_expert_input_to_capacity, false}}}},
    {.id = "capacity.negative-to-none",
     .area = "capacity",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(1838),
     .reads = {K::moe_expert_capacity_factor},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.set(K::moe_expert_capacity_factor) && f.real(K::moe_expert_capacity_factor) < 0) {
             e.Set(K::moe_expert_capacity_factor, Value());
           }
         }},
    {.id = "capacity.pad-needs-factor",
     .area = "capacity",
     TRANSFORMER_CONFIG(1864),
     .reads = {K::moe_pad_expert_input_to_capacity, K::moe_expert_capacity_factor},
     .when = [](F f) { return f.on(K::moe_pad_expert_input_to_capacity) && f.none(K::moe_expert_capacity_factor); },
     .needs = "padding to capacity needs a capacity: moe_expert_capacity_factor",
     .fixes = {{{K::moe_pad_expert_input_to_capacity, false}}}},
    {.id = "capacity.rank-factor-backend",
     .area = "capacity",
     TRANSFORMER_CONFIG(1870),
     .core = {.since = 18},
     .reads = {K::moe_expert_rank_capacity_factor, K::moe_flex_dispatcher_backend},
     .when =
         [](F f) {
           const bool sized = f.is(K::moe_flex_dispatcher_backend, "hybridep") ||
                              (f.core(19) && f.is(K::moe_flex_dispatcher_backend, "ncclep"));
           return f.set(K::moe_expert_rank_capacity_factor) && !sized;
         },
     .needs = "only the hybridep backend (from core 0.19 also ncclep) sizes its buffers by rank",
     .fixes = {{{K::moe_expert_rank_capacity_factor, kUnset}, {K::moe_paged_stash, false}}}},
    {.id = "capacity.rank-factor-hybridep-fuser",
     .area = "capacity",
     TRANSFORMER_CONFIG(1879),
     .core = {.since = 18},
     .reads = {K::moe_expert_rank_capacity_factor, K::use_transformer_engine_op_fuser, K::moe_use_grouped_tensor},
     .when =
         [](F f) {
           if (f.none(K::moe_expert_rank_capacity_factor) || f.on(K::use_transformer_engine_op_fuser)) return false;
           if (!f.core(19)) return true;  // core 0.18 asked for the op fuser before it looked at the backend
           return f.is(K::moe_flex_dispatcher_backend, "hybridep") &&
                  !(f.core(kMain) && f.on(K::moe_use_grouped_tensor));
         },
     .needs = "buffers sized by rank with hybridep need the op fuser (in main moe_use_grouped_tensor is enough)",
     .fixes = {{{K::use_transformer_engine_op_fuser, true}},
               {{K::moe_expert_rank_capacity_factor, kUnset}, {K::moe_paged_stash, false}}}},
};

}  // namespace

RuleList CoreCapacityRules() { return kRules; }

}  // namespace flightplan
