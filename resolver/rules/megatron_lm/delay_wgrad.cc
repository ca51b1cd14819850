// Delayed weight-gradient computation.
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Delays(F f) { return f.on(K::delay_wgrad_compute); }
bool DelaysWithReduce(F f) { return Delays(f) && f.on(K::overlap_grad_reduce); }
// Whether a captured region holds weight gradients that are computed later.
bool WgradInGraph(F f) {
  const bool router_with_shared =
      GraphHas(f, "moe_router") && f.set(K::moe_shared_expert_intermediate_size) && !f.on(K::moe_shared_expert_overlap);
  return GraphHas(f, "attn") || router_with_shared;
}

std::vector<Patch> NoModules(F f) {
  return {{Assign(f.core(18) ? K::cuda_graph_modules : K::cuda_graph_scope, Value(Value::List{}))}};
}

const Rule kRules[] = {
    {.id = "mlm.wgrad-te",
     .area = "delay-wgrad",
     .at = {Phase::kCliValidate, 1904},
     .source = "Megatron-LM:megatron/training/arguments.py:1904",
     .reads = {K::delay_wgrad_compute, K::transformer_impl},
     .when = [](F f) { return Delays(f) && !f.is(K::transformer_impl, "transformer_engine"); },
     .needs = "delay_wgrad_compute needs transformer_impl transformer_engine",
     .fixes = {{{K::delay_wgrad_compute, false}}}},
    {.id = "mlm.wgrad-ogr-te",
     .area = "delay-wgrad",
     .at = {Phase::kCliValidate, 1907},
     .source = "Megatron-LM:megatron/training/arguments.py:1907",
     .reads = {K::delay_wgrad_compute, K::overlap_grad_reduce},
     .reads_env = {"te"},
     .when = [](F f) { return DelaysWithReduce(f) && !f.te_at_least("2.8.0"); },
     .needs = "delay_wgrad_compute with overlap_grad_reduce needs Transformer Engine 2.8.0",
     .fixes = {{{K::delay_wgrad_compute, false}}}},
    {.id = "mlm.wgrad-cg-te",
     .area = "delay-wgrad",
     .at = {Phase::kCliValidate, 1916},
     .source = "Megatron-LM:megatron/training/arguments.py:1916",
     .core = {17, kMain},
     .reads = {K::delay_wgrad_compute, K::cuda_graph_modules},
     .reads_env = {"te"},
     .when = [](F f) { return DelaysWithReduce(f) && WgradInGraph(f) && !f.te_at_least("2.12.0"); },
     .needs = "delay_wgrad_compute inside CUDA graphs needs Transformer Engine 2.12.0",
     .fixes = {{{K::delay_wgrad_compute, false}}},
     .fix = NoModules},
    {.id = "mlm.wgrad-cg-gaf",
     .area = "delay-wgrad",
     .at = {Phase::kCliValidate, 1919},
     .source = "Megatron-LM:megatron/training/arguments.py:1919",
     .core = {17, kMain},
     .reads = {K::delay_wgrad_compute, K::cuda_graph_modules, K::gradient_accumulation_fusion},
     .when = [](F f) { return DelaysWithReduce(f) && WgradInGraph(f) && !f.on(K::gradient_accumulation_fusion); },
     .needs = "delay_wgrad_compute inside CUDA graphs needs gradient_accumulation_fusion",
     .fixes = {{{K::gradient_accumulation_fusion, true}}, {{K::delay_wgrad_compute, false}}}},
    {.id = "mlm.wgrad-cg-bias",
     .area = "delay-wgrad",
     .at = {Phase::kCliValidate, 1925},
     .source = "Megatron-LM:megatron/training/arguments.py:1925",
     .core = {17, kMain},
     .reads = {K::delay_wgrad_compute, K::cuda_graph_modules, K::add_bias_linear, K::add_qkv_bias},
     .when =
         [](F f) {
           return DelaysWithReduce(f) && GraphHas(f, "attn") && (f.on(K::add_bias_linear) || f.on(K::add_qkv_bias));
         },
     .needs = "delay_wgrad_compute with attention in CUDA graphs excludes biases",
     .fixes = {{{K::delay_wgrad_compute, false}}}},
    {.id = "mlm.wgrad-nogaf-te",
     .area = "delay-wgrad",
     .at = {Phase::kCliValidate, 1930},
     .source = "Megatron-LM:megatron/training/arguments.py:1930",
     .reads = {K::delay_wgrad_compute, K::gradient_accumulation_fusion},
     .reads_env = {"te"},
     .when = [](F f) { return Delays(f) && !f.on(K::gradient_accumulation_fusion) && !f.te_at_least("2.7.0"); },
     .needs = "delay_wgrad_compute without gradient_accumulation_fusion needs Transformer Engine 2.7.0",
     .fixes = {{{K::delay_wgrad_compute, false}}}},
};

}  // namespace

RuleList MegatronLmDelayWgradRules() { return kRules; }

}  // namespace flightplan
