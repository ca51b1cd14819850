// Activation recompute: what TransformerConfig.__post_init__ checks and changes.
// Lines are those of NVIDIA/Megatron-LM@d98e8a64dd megatron/core/transformer/transformer_config.py.
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    {.id = "recompute.full-needs-method",
     .area = "recompute",
     .at = {Phase::kModel, 1914},
     .source = "Megatron-LM:megatron/core/transformer/transformer_config.py:1914",
     .reads = {K::recompute_granularity, K::recompute_method},
     .when = [](F f) { return f.is(K::recompute_granularity, "full") && f.none(K::recompute_method); },
     .needs = "full recompute needs recompute_method 'uniform' or 'block'",
     .fixes = {{{K::recompute_method, "uniform"}}, {{K::recompute_method, "block"}}}},
    {.id = "recompute.modules-default",
     .area = "recompute",
     .kind = Kind::kChange,
     .at = {Phase::kModel, 1941},
     .source = "Megatron-LM:megatron/core/transformer/transformer_config.py:1941",
     .reads = {K::recompute_modules},
     .change =
         [](Editor& e) {
           if (e.facts().none(K::recompute_modules)) e.Set(K::recompute_modules, Value::List{"core_attn"});
         }},
};

}  // namespace

RuleList CoreRecomputeRules() { return kRules; }

}  // namespace flightplan
