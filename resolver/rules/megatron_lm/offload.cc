// Activation offloading on the command line.
#include "resolver/plan/version.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    {.id = "mlm.fgo-te-impl",
     .area = "offload",
     .at = {Phase::kCliValidate, 1936},
     .source = "Megatron-LM:megatron/training/arguments.py:1936",
     .reads = {K::fine_grained_activation_offloading, K::transformer_impl},
     .when =
         [](F f) {
           return f.on(K::fine_grained_activation_offloading) && !f.is(K::transformer_impl, "transformer_engine");
         },
     .needs = "fine-grained activation offloading needs transformer_impl transformer_engine",
     .fixes = {{{K::transformer_impl, "transformer_engine"}}, {{K::fine_grained_activation_offloading, false}}}},
    {.id = "mlm.fgo-nvte-v1",
     .area = "env",
     .at = {Phase::kCliValidate, 1939},
     .source = "Megatron-LM:megatron/training/arguments.py:1939",
     .reads = {K::fine_grained_activation_offloading},
     .reads_env = {"te", "NVTE_CPU_OFFLOAD_V1"},
     .when =
         [](F f) {
           // Of a release that nobody named the image's own is known.
           const bool recent = f.env().te.has_value() ? AtLeast(f.env().te, "2.10.0") : f.te_at_least("2.10.0");
           return f.on(K::fine_grained_activation_offloading) && recent && f.var("NVTE_CPU_OFFLOAD_V1") != "1";
         },
     .needs = "fine-grained activation offloading with Transformer Engine 2.10.0 or newer needs NVTE_CPU_OFFLOAD_V1=1",
     .fixes = {{{{}, "1", "NVTE_CPU_OFFLOAD_V1"}}}},
    {.id = "mlm.cpu-offloading-on",
     .area = "offload",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1950},
     .source = "Megatron-LM:megatron/training/arguments.py:1950",
     .reads = {K::cpu_offloading_num_layers, K::cpu_offloading},
     .change =
         [](Editor& e) {
           if (e.facts().num(K::cpu_offloading_num_layers) > 0) e.Set(K::cpu_offloading, true);
         }},
};

}  // namespace

RuleList MegatronLmOffloadRules() { return kRules; }

}  // namespace flightplan
