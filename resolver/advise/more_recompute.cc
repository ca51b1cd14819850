#include "resolver/advise/more_recompute.h"

#include <algorithm>
#include <utility>

namespace flightplan {
namespace {

using K = Knob;

bool On(const Config& config, Knob knob) { return config.Get(knob).truthy(); }

// The model has what the module of recompute_modules stands for.
bool HasModule(const NormalizedIntent& intent, const Config& config, absl::string_view module) {
  const ModelSpec& model = intent.model;
  if (module == "moe_act") return model.is_moe();
  if (module == "moe") return model.is_moe() && !On(config, K::overlap_moe_expert_parallel_comm);  // which excludes it
  if (module == "mla_up_proj") return model.is_mla();
  if (module == "shared_experts") return model.moe_shared_expert_intermediate_size.value_or(0) > 0;
  return true;
}

}  // namespace

std::vector<KnobChanges> MoreRecompute(const NormalizedIntent& intent, const Config& config) {
  const Origin origin = config.origin(K::recompute_granularity);
  if (origin == Origin::kCaller || origin == Origin::kAbsent) return {};
  std::vector<KnobChanges> more;
  std::vector<Value> modules;
  if (config.Get(K::recompute_granularity).text() == "selective") {
    modules.assign(config.Get(K::recompute_modules).list().begin(), config.Get(K::recompute_modules).list().end());
  }
  for (const char* module : {"moe_act", "layernorm", "mla_up_proj", "mlp", "shared_experts", "moe"}) {
    const bool there = std::find(modules.begin(), modules.end(), Value(module)) != modules.end();
    if (there || !HasModule(intent, config, module)) continue;
    modules.emplace_back(module);
    more.push_back({{K::recompute_granularity, Value("selective")}, {K::recompute_modules, Value(modules)}});
  }
  KnobChanges full = {{K::recompute_granularity, Value("full")},
                      {K::recompute_method, Value("uniform")},
                      {K::recompute_num_layers, Value(1)}};
  if (On(config, K::overlap_moe_expert_parallel_comm)) {  // excluded by it
    full.emplace_back(K::overlap_moe_expert_parallel_comm, Value(false));
    full.emplace_back(K::delay_wgrad_compute, Value(false));
  }
  more.push_back(std::move(full));
  return more;
}

}  // namespace flightplan
