// What FlagScale reads before it starts its fork of Megatron-LM (flagos-ai/FlagScale@16a2dd5b5). The reader finds it,
// which sees all files (stacks/flagscale/dialect.cc). And what it has no program for.
#include <vector>

#include "resolver/catalog/bridge_fields.h"
#include "resolver/rules/core/hybrid_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// What its adapters were not tried with, made so.
Patch AdaptersAlone(F f) {
  Patch patch;
  if (!AdaptersConfigured(f.config())) return patch;
  for (const K recompute : {K::recompute_granularity, K::recompute_method, K::recompute_num_layers}) {
    if (f.set(recompute)) patch.push_back(Assign(recompute, Value()));
  }
  if (!f.is(K::transformer_impl, "transformer_engine")) {
    patch.push_back(Assign(K::transformer_impl, "transformer_engine"));
  }
  if (!f.is(K::ckpt_format, "torch")) patch.push_back(Assign(K::ckpt_format, "torch"));
  return patch;
}

const Rule kRules[] = {
    {.id = "flagscale.settings",
     .area = "cli",
     .at = {Phase::kParse, 1},
     .source = "FlagScale:flagscale/runner/runner_train.py:29",
     .when = FoundByReader,
     .needs = "YAML files that can be read, and overrides in Hydra's grammar"},
    {.id = "flagscale.one-kind-of-layers",
     .area = "hybrid",
     .kind = Kind::kWarning,
     .spoils = true,
     .at = {Phase::kBuild, 249},
     .source = "FlagScale:flagscale/train/train_gpt.py:249",
     .reads = {K::hybrid_layer_pattern, K::hybrid_override_pattern},
     .when = HasPattern,
     .needs =
         "FlagScale has no program for the layers of a pattern: train_gpt.py trains a model of one kind of layers"},
    {.id = "flagscale.adapters-alone",
     .area = "adapters",
     .at = {Phase::kCliValidate, 90267},
     .source = "FlagScale:flagscale/backends/Megatron-LM/megatron/training/arguments.py.patch:267",
     .reads = {K::peft_scheme, K::recompute_granularity, K::recompute_method, K::recompute_num_layers,
               K::transformer_impl, K::ckpt_format},
     .when = [](F f) { return !AdaptersAlone(f).empty(); },
     .needs = "adapters are of Transformer Engine's layers, without recompute, and kept with ckpt_format=torch",
     .fix = [](F f) -> std::vector<Patch> { return {AdaptersAlone(f)}; }},
    {.id = "flagscale.adapters-dense",
     .area = "adapters",
     .at = {Phase::kCliValidate, 90273},
     .source = "FlagScale:flagscale/backends/Megatron-LM/megatron/training/arguments.py.patch:273",
     .reads = {K::peft_scheme, K::num_moe_experts},
     .when = [](F f) { return AdaptersConfigured(f.config()) && f.set(K::num_moe_experts); },
     .needs = "adapters are of dense models alone",
     .fixes = {{{K::peft_scheme, "none"}}}},
};

}  // namespace

RuleList FlagscaleSettingsRules() { return kRules; }

}  // namespace flightplan
