// Optimizer choices on the command line.
#include "absl/strings/match.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// Optimizers with their own distributed scheme. Until 0.17 only those with muon in the name are looked at.
bool Emerging(F f) {
  if (f.fork()) return false;  // its fork has Muon in an optimizer of its own
  if (f.core(18)) return !f.in(K::optimizer, {"sgd", "adam"});
  return absl::StrContains(f.text(K::optimizer), "muon");
}
// 0.17 lets dist_muon overlap, 0.16 neither.
bool NoMuonOverlap(F f) { return f.core(17) ? f.is(K::optimizer, "muon") : Emerging(f); }

void UseLayerWise(Editor& e) {
  e.Set(K::use_layer_wise_distributed_optimizer, false);
  if (!Emerging(e.facts())) return;
  if (e.facts().is(K::optimizer, "dist_muon")) {
    e.Set(K::optimizer, "muon");
    e.Set(K::use_layer_wise_distributed_optimizer, true);
  }
  if (e.facts().on(K::use_distributed_optimizer)) {
    e.Set(K::use_layer_wise_distributed_optimizer, true);
    e.Set(K::use_distributed_optimizer, false);
  }
}

const Rule kRules[] = {
    {.id = "mlm.muon-no-ogr",
     .area = "optimizer",
     .at = {Phase::kCliValidate, 1730},
     .source = "Megatron-LM:megatron/training/arguments.py:1730",
     .core = {0, 17},
     .reads = {K::optimizer, K::overlap_grad_reduce},
     .when = [](F f) { return NoMuonOverlap(f) && f.on(K::overlap_grad_reduce); },
     .needs = "this optimizer excludes overlap_grad_reduce in this release",
     .fixes = {{{K::overlap_grad_reduce, false}, {K::overlap_param_gather, false}}}},
    {.id = "mlm.muon-no-opg",
     .area = "optimizer",
     .at = {Phase::kCliValidate, 1731},
     .source = "Megatron-LM:megatron/training/arguments.py:1731",
     .core = {0, 17},
     .reads = {K::optimizer, K::overlap_param_gather},
     .when = [](F f) { return NoMuonOverlap(f) && f.on(K::overlap_param_gather); },
     .needs = "this optimizer excludes overlap_param_gather in this release",
     .fixes = {{{K::overlap_param_gather, false}}}},
    {.id = "mlm.muon-no-distopt",
     .area = "optimizer",
     .at = {Phase::kCliValidate, 1732},
     .source = "Megatron-LM:megatron/training/arguments.py:1732",
     .core = {0, 17},
     .reads = {K::optimizer, K::use_distributed_optimizer},
     .when = [](F f) { return Emerging(f) && f.on(K::use_distributed_optimizer); },
     .needs = "this optimizer excludes use_distributed_optimizer in this release",
     .fixes = {{{K::use_distributed_optimizer, false}, {K::overlap_param_gather, false}}}},
    {.id = "mlm.muon-layerwise",
     .area = "optimizer",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1735},
     .source = "Megatron-LM:megatron/training/arguments.py:1735",
     .core = {18, kMain},
     .reads = {K::optimizer, K::use_distributed_optimizer, K::use_layer_wise_distributed_optimizer},
     .change = [](Editor& e) { UseLayerWise(e); }},
    {.id = "mlm.muon-no-fsdp2",
     .area = "optimizer",
     .at = {Phase::kCliValidate, 1739},
     .source = "Megatron-LM:megatron/training/arguments.py:1739",
     .reads = {K::optimizer, K::use_torch_fsdp2},
     .when = [](F f) { return Emerging(f) && f.on(K::use_torch_fsdp2); },
     .needs = "this optimizer excludes torch FSDP2",
     .fixes = {{{K::use_torch_fsdp2, false}}, {{K::optimizer, "adam"}}}},
    {.id = "mlm.muon-no-mfsdp",
     .area = "optimizer",
     .at = {Phase::kCliValidate, 1740},
     .source = "Megatron-LM:megatron/training/arguments.py:1740",
     .reads = {K::optimizer, K::use_megatron_fsdp},
     .when = [](F f) { return Emerging(f) && f.on(K::use_megatron_fsdp); },
     .needs = "this optimizer excludes Megatron-FSDP",
     .fixes = {{{K::use_megatron_fsdp, false}}, {{K::optimizer, "adam"}}}},
    {.id = "mlm.muon-ckpt",
     .area = "optimizer",
     .at = {Phase::kCliValidate, 1741},
     .source = "Megatron-LM:megatron/training/arguments.py:1741",
     .reads = {K::optimizer, K::ckpt_format},
     .when =
         [](F f) {
           return Emerging(f) && !f.in(K::ckpt_format, {"torch", "torch_dist"});
         },
     .needs = "this optimizer needs ckpt_format torch or torch_dist",
     .fixes = {{{K::ckpt_format, "torch_dist"}}}},
    {.id = "mlm.optimizer-not-built",
     .area = "optimizer",
     .at = {Phase::kOptimizer, 1},
     .source = "Megatron-LM:megatron/training/training.py:1",
     .core = {0, 17},
     .reads = {K::optimizer},
     .when =
         [](F f) {
           // Bridge's configuration takes any name.
           return !f.container() && !f.in(K::optimizer, {"sgd", "adam"}) &&
                  !absl::StrContains(f.text(K::optimizer), "muon");
         },
     .needs = "this release reads the name but builds no such optimizer",
     .fixes = {{{K::optimizer, "adam"}}}},
    {.id = "mlm.opt-offload-pao",
     .area = "offload",
     .at = {Phase::kCliValidate, 1885},
     .source = "Megatron-LM:megatron/training/arguments.py:1885",
     .reads = {K::optimizer_cpu_offload, K::use_precision_aware_optimizer},
     .when = [](F f) { return f.on(K::optimizer_cpu_offload) && !f.on(K::use_precision_aware_optimizer); },
     .needs = "optimizer_cpu_offload needs use_precision_aware_optimizer",
     .fixes = {{{K::optimizer_cpu_offload, false}}, {{K::use_precision_aware_optimizer, true}}}},
    {.id = "mlm.opt-offload-fp8pg",
     .area = "offload",
     .at = {Phase::kCliValidate, 1889},
     .source = "Megatron-LM:megatron/training/arguments.py:1889",
     .reads = {K::optimizer_cpu_offload, K::fp8_param_gather, K::fp8_recipe},
     .when =
         [](F f) {
           return !f.fork() && f.on(K::optimizer_cpu_offload) && f.on(K::fp8_param_gather) &&
                  !f.is(K::fp8_recipe, "delayed");
         },
     .needs = "optimizer_cpu_offload with fp8_param_gather needs fp8_recipe delayed",
     .fixes = {{{K::fp8_param_gather, false}}, {{K::optimizer_cpu_offload, false}}}},
};

}  // namespace

RuleList MegatronLmOptimizerRules() { return kRules; }

}  // namespace flightplan
