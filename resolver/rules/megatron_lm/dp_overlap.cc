// Data-parallel overlap: gradient reduce and parameter gather.
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

const Rule kRules[] = {
    {.id = "mlm.opg-needs-distopt",
     .area = "dp-overlap",
     .at = {Phase::kCliValidate, 1025},
     .source = "Megatron-LM:megatron/training/arguments.py:1025",
     .reads = {K::overlap_param_gather, K::use_distributed_optimizer, K::use_megatron_fsdp, K::optimizer},
     .when =
         [](F f) {
           return f.on(K::overlap_param_gather) && !f.on(K::use_distributed_optimizer) && !f.on(K::use_megatron_fsdp) &&
                  !(f.core(17) && f.is(K::optimizer, "dist_muon"));
         },
     .needs = "overlap_param_gather needs use_distributed_optimizer (or Megatron-FSDP)",
     .fixes = {{{K::use_distributed_optimizer, true}}, {{K::overlap_param_gather, false}}}},
    {.id = "mlm.opg-needs-ogr",
     .area = "dp-overlap",
     .at = {Phase::kCliValidate, 1028},
     .source = "Megatron-LM:megatron/training/arguments.py:1028",
     .reads = {K::overlap_param_gather, K::overlap_grad_reduce},
     .when = [](F f) { return f.on(K::overlap_param_gather) && !f.on(K::overlap_grad_reduce); },
     .needs = "overlap_param_gather needs overlap_grad_reduce",
     .fixes = {{{K::overlap_grad_reduce, true}}, {{K::overlap_param_gather, false}}}},
    {.id = "mlm.opgos-needs-distopt",
     .area = "dp-overlap",
     .at = {Phase::kCliValidate, 1067},
     .source = "Megatron-LM:megatron/training/arguments.py:1067",
     .reads = {K::overlap_param_gather_with_optimizer_step, K::use_distributed_optimizer},
     .when =
         [](F f) { return f.on(K::overlap_param_gather_with_optimizer_step) && !f.on(K::use_distributed_optimizer); },
     .needs = "overlap_param_gather_with_optimizer_step needs use_distributed_optimizer",
     .fixes = {{{K::overlap_param_gather_with_optimizer_step, false}}, {{K::use_distributed_optimizer, true}}}},
    {.id = "mlm.opgos-needs-opg",
     .area = "dp-overlap",
     .at = {Phase::kCliValidate, 1069},
     .source = "Megatron-LM:megatron/training/arguments.py:1069",
     .reads = {K::overlap_param_gather_with_optimizer_step, K::overlap_param_gather},
     .when = [](F f) { return f.on(K::overlap_param_gather_with_optimizer_step) && !f.on(K::overlap_param_gather); },
     .needs = "overlap_param_gather_with_optimizer_step needs overlap_param_gather",
     .fixes = {{{K::overlap_param_gather_with_optimizer_step, false}},
               {{K::overlap_param_gather, true},
                {K::overlap_grad_reduce, true},
                {K::use_distributed_optimizer, true}}}},
    {.id = "mlm.opgos-needs-vpp",
     .area = "dp-overlap",
     .at = {Phase::kCliValidate, 1071},
     .source = "Megatron-LM:megatron/training/arguments.py:1071",
     .reads = {K::overlap_param_gather_with_optimizer_step, K::virtual_pipeline_model_parallel_size},
     .when =
         [](F f) {
           return f.on(K::overlap_param_gather_with_optimizer_step) && f.none(K::virtual_pipeline_model_parallel_size);
         },
     .needs = "overlap_param_gather_with_optimizer_step needs the interleaved schedule",
     .fixes = {{{K::overlap_param_gather_with_optimizer_step, false}}}},
    {.id = "mlm.opgos-no-dist-ckpt",
     .area = "dp-overlap",
     .at = {Phase::kCliValidate, 1073},
     .source = "Megatron-LM:megatron/training/arguments.py:1073",
     .reads = {K::overlap_param_gather_with_optimizer_step, K::ckpt_format},
     .when = [](F f) { return f.on(K::overlap_param_gather_with_optimizer_step) && UsesDistCkpt(f); },
     .needs = "overlap_param_gather_with_optimizer_step needs ckpt_format torch",
     .fixes = {{{K::overlap_param_gather_with_optimizer_step, false}}, {{K::ckpt_format, "torch"}}}},
};

}  // namespace

RuleList MegatronLmDpOverlapRules() { return kRules; }

}  // namespace flightplan
