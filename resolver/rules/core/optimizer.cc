// OptimizerConfig.__post_init__: what the optimizer config class checks and changes. Megatron-LM builds it from the
// command line, Bridge finalizes it before the model.
// Lines are those of NVIDIA/Megatron-LM@d98e8a64dd megatron/core/optimizer/optimizer_config.py.
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// Without the precision-aware optimizer every state of the optimizer stays in FP32.
bool PlainWith(F f, K dtype) { return !PrecisionAware(f) && !f.is(dtype, "fp32"); }

constexpr absl::string_view kPlainNeeds = "optimizer states can only leave fp32 with the precision-aware optimizer";

std::vector<Patch> WithDistributed(F f) {
  if (!f.is(K::optimizer, "adam")) return {};  // others cannot have either
  return {{Assign(K::use_distributed_optimizer, true), Assign(K::optimizer_use_distributed_optimizer, true)}};
}

// As Bridge's recipe has it (training/mixed_precision.py). Before core 0.18 it is NaN where gradients and parameters do
// not travel beside the compute (field.mxfp8-gather-without-overlap).
std::vector<Patch> InGradientBuffer(F f) {
  Patch patch = {Assign(K::fp8_param_gather, true), Assign(K::optimizer_reuse_grad_buf_for_mxfp8_param_ag, true)};
  for (const K overlap : {K::overlap_grad_reduce, K::overlap_param_gather}) {
    if (f.core(0, 17) && !f.on(overlap)) patch.push_back(Assign(overlap, true));
  }
  return {patch};
}

const Rule kRules[] = {
    {.id = "opt.mxfp8-memory-hint",
     .cli_id = "opt.mxfp8-memory",
     .area = "fp8",
     .kind = Kind::kWarning,
     .at = {Phase::kOptimizer, 420},
     .source = "Megatron-LM:megatron/core/optimizer/optimizer_config.py:420",
     .reads = {K::optimizer_fp8_recipe, K::optimizer_reuse_grad_buf_for_mxfp8_param_ag},
     .when =
         [](F f) {
           return f.is(K::optimizer_fp8_recipe, "mxfp8") && !f.on(K::optimizer_reuse_grad_buf_for_mxfp8_param_ag);
         },
     .needs = "MXFP8 keeps a second copy of the parameters unless the gradient buffer is reused for the all-gather",
     .fix = InGradientBuffer},
    {.id = "opt.reuse-grad-buf-vs-step-overlap",
     .cli_id = "opt.opgos-vs-mxfp8-reuse",
     .area = "dp-overlap",
     .at = {Phase::kOptimizer, 428},
     .source = "Megatron-LM:megatron/core/optimizer/optimizer_config.py:428",
     .core = {.since = 19},
     .reads = {K::optimizer_reuse_grad_buf_for_mxfp8_param_ag, K::overlap_param_gather_with_optimizer_step},
     .when =
         [](F f) {
           return f.on(K::optimizer_reuse_grad_buf_for_mxfp8_param_ag) &&
                  f.on(K::overlap_param_gather_with_optimizer_step);
         },
     .needs = "the parameter gather cannot overlap the optimizer step while it borrows the gradient buffer",
     .fixes = {{{K::overlap_param_gather_with_optimizer_step, false}}}},
    {.id = "opt.precision-aware-adam",
     .cli_id = "opt.pao-adam",
     .area = "distributed-optimizer",
     .at = {Phase::kOptimizer, 434},
     .source = "Megatron-LM:megatron/core/optimizer/optimizer_config.py:434",
     .reads = {K::use_precision_aware_optimizer, K::optimizer},
     .when =
         [](F f) {
           if (f.fork() && f.is(K::optimizer, "muon")) return false;  // the fork's has it
           return PrecisionAware(f) && !f.is(K::optimizer, "adam");
         },
     .needs = "the precision-aware optimizer exists for adam only",
     .fixes = {{{K::use_precision_aware_optimizer, false}}}},
    {.id = "opt.precision-aware-needs-distopt",
     .area = "distributed-optimizer",
     .at = {Phase::kOptimizer, 435},
     .source = "Megatron-LM 0.19.0:megatron/core/optimizer/optimizer_config.py:434",
     .core = {.until = 19},
     .reads = {K::use_precision_aware_optimizer, K::optimizer_use_distributed_optimizer},
     .when = [](F f) { return PrecisionAware(f) && !f.on(K::optimizer_use_distributed_optimizer); },
     .needs = "up to 0.19 the precision-aware optimizer needs the distributed optimizer",
     .fixes = {{{K::use_precision_aware_optimizer, false}}},
     .fix = WithDistributed},
    // Main asks when it builds the optimizer; Megatron-FSDP 2 has none to ask for.
    {.id = "opt.precision-aware-needs-distopt",
     .area = "distributed-optimizer",
     .at = {Phase::kBuild, 11058},
     .source = "Megatron-LM:megatron/core/optimizer/__init__.py:1058",
     .core = {.since = kMain},
     .reads = {K::use_precision_aware_optimizer, K::optimizer_use_distributed_optimizer, K::use_megatron_fsdp,
               K::megatron_fsdp_version},
     .when =
         [](F f) {
           const bool second = f.on(K::use_megatron_fsdp) && f.num(K::megatron_fsdp_version) == 2;
           return PrecisionAware(f) && !second && !f.on(K::optimizer_use_distributed_optimizer);
         },
     .needs = "the precision-aware optimizer needs the distributed optimizer",
     .fixes = {{{K::use_precision_aware_optimizer, false}}},
     .fix = WithDistributed},
    {.id = "opt.no-param-remainders",
     .area = "version-gate",
     .kind = Kind::kChange,
     .at = {Phase::kOptimizer, 438},
     .source = "Megatron-LM:megatron/core/optimizer/optimizer_config.py:438",
     .reads = {K::use_precision_aware_optimizer, K::store_param_remainders},
     .reads_env = {"te"},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (PrecisionAware(f) && !f.te_at_least("2.1.0")) e.Set(K::store_param_remainders, false);
         }},
    {.id = "opt.precision-aware-needs-te",
     .cli_id = "opt.pao-te",
     .area = "version-gate",
     .at = {Phase::kOptimizer, 464},
     .source = "Megatron-LM:megatron/core/optimizer/optimizer_config.py:464",
     .reads = {K::use_precision_aware_optimizer, K::optimizer_cpu_offload},
     .reads_env = {"te"},
     .when = [](F f) { return PrecisionAware(f) && !f.on(K::optimizer_cpu_offload) && !f.te_at_least("1.13.0"); },
     .needs = "the precision-aware optimizer needs the FusedAdam of Transformer Engine 1.13.0",
     .fixes = {{{K::use_precision_aware_optimizer, false}}}},
    {.id = "opt.main-grads-dtype-fp32",
     .cli_id = "opt.main-grads-fp32",
     .area = "distributed-optimizer",
     .at = {Phase::kOptimizer, 469},
     .source = "Megatron-LM:megatron/core/optimizer/optimizer_config.py:469",
     .reads = {K::use_precision_aware_optimizer, K::main_grads_dtype},
     .when = [](F f) { return PlainWith(f, K::main_grads_dtype); },
     .needs = kPlainNeeds,
     .fixes = {{{K::main_grads_dtype, "fp32"}}, {{K::use_precision_aware_optimizer, true}}}},
    {.id = "opt.main-params-dtype-fp32",
     .cli_id = "opt.main-params-fp32",
     .area = "distributed-optimizer",
     .at = {Phase::kOptimizer, 472},
     .source = "Megatron-LM:megatron/core/optimizer/optimizer_config.py:472",
     .reads = {K::use_precision_aware_optimizer, K::main_params_dtype},
     .when = [](F f) { return PlainWith(f, K::main_params_dtype); },
     .needs = kPlainNeeds,
     .fixes = {{{K::main_params_dtype, "fp32"}}, {{K::use_precision_aware_optimizer, true}}}},
    {.id = "opt.exp-avg-dtype-fp32",
     .cli_id = "opt.exp-avg-fp32",
     .area = "distributed-optimizer",
     .at = {Phase::kOptimizer, 475},
     .source = "Megatron-LM:megatron/core/optimizer/optimizer_config.py:475",
     .reads = {K::use_precision_aware_optimizer, K::exp_avg_dtype},
     .when = [](F f) { return PlainWith(f, K::exp_avg_dtype); },
     .needs = kPlainNeeds,
     .fixes = {{{K::exp_avg_dtype, "fp32"}}, {{K::use_precision_aware_optimizer, true}}}},
    {.id = "opt.exp-avg-sq-dtype-fp32",
     .cli_id = "opt.exp-avg-sq-fp32",
     .area = "distributed-optimizer",
     .at = {Phase::kOptimizer, 478},
     .source = "Megatron-LM:megatron/core/optimizer/optimizer_config.py:478",
     .reads = {K::use_precision_aware_optimizer, K::exp_avg_sq_dtype},
     .when = [](F f) { return PlainWith(f, K::exp_avg_sq_dtype); },
     .needs = kPlainNeeds,
     .fixes = {{{K::exp_avg_sq_dtype, "fp32"}}, {{K::use_precision_aware_optimizer, true}}}},
    {.id = "opt.offload-fraction-unused",
     .area = "distributed-optimizer",
     .kind = Kind::kWarning,
     .at = {Phase::kAdvice, 460},
     .source = "Megatron-LM:megatron/core/optimizer/__init__.py:504",
     .reads = {K::optimizer_offload_fraction, K::optimizer_cpu_offload},
     .when =
         [](F f) {
           return f.origin(K::optimizer_offload_fraction) == Origin::kCaller &&
                  f.real(K::optimizer_offload_fraction) > 0 && !f.on(K::optimizer_cpu_offload);
         },
     .needs = "without optimizer_cpu_offload the optimizer stays on the GPU, whatever the fraction says",
     .fixes = {{{K::optimizer_cpu_offload, true}}, {{K::optimizer_offload_fraction, kUnset}}}},
};

}  // namespace

RuleList CoreOptimizerRules() { return kRules; }

}  // namespace flightplan
