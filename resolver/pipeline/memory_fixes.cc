#include "resolver/pipeline/memory_fixes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "resolver/derive/candidate.h"

namespace flightplan {
namespace {

using K = Knob;

int64_t SizeIn(const Config& config, Knob knob) { return std::max<int64_t>(1, config.Get(knob).integer()); }

Assignment Set(Knob knob, Value value) { return {knob, "", std::move(value)}; }

// Modules that are cheap to compute again, cheapest first; the model must have them.
std::vector<absl::string_view> LightModules(const Config& c) {
  std::vector<absl::string_view> modules;
  const bool moe = c.Get(K::num_moe_experts).integer() > 0;
  if (moe) modules.push_back("moe_act");
  modules.push_back("layernorm");
  if (c.Get(K::multi_latent_attention).truthy()) modules.push_back("mla_up_proj");
  if (moe && c.Get(K::moe_shared_expert_intermediate_size).integer() > 0) modules.push_back("shared_experts");
  modules.push_back("mlp");
  return modules;
}

// The set with what is computed again already; empty where it adds nothing.
Patch Selective(const Config& c, const std::vector<absl::string_view>& added) {
  std::vector<Value> modules;
  if (c.Get(K::recompute_granularity).text() == "selective") {
    for (const Value& module : c.Get(K::recompute_modules).list()) modules.push_back(module);
  }
  const size_t before = modules.size();
  for (const absl::string_view name : added) {
    const bool known = std::any_of(modules.begin(), modules.end(),
                                   [name](const Value& module) { return module.is_text() && module.text() == name; });
    if (!known) modules.emplace_back(name);
  }
  if (modules.size() == before) return {};
  return {Set(K::recompute_granularity, Value("selective")), Set(K::recompute_modules, Value(std::move(modules)))};
}

void AddSelective(const Config& c, std::vector<Patch>* out) {
  const std::vector<absl::string_view> light = LightModules(c);
  std::vector<std::vector<absl::string_view>> sets;
  for (size_t i = 0; i < light.size(); ++i) sets.push_back({light[i]});
  for (size_t i = 0; i < light.size(); ++i) {
    for (size_t k = i + 1; k < light.size(); ++k) sets.push_back({light[i], light[k]});
  }
  if (light.size() > 2) sets.push_back(light);
  for (const char* heavy : {"core_attn", "moe"}) {
    if (absl::string_view(heavy) == "moe" && c.Get(K::num_moe_experts).integer() <= 0) continue;
    if (absl::string_view(heavy) == "moe" && c.Get(K::overlap_moe_expert_parallel_comm).truthy()) continue;
    sets.push_back({heavy});
    sets.push_back(light);
    sets.back().push_back(heavy);
  }
  for (const auto& set : sets) {
    Patch patch = Selective(c, set);
    if (!patch.empty() && std::none_of(out->begin(), out->end(),
                                       [&](const Patch& known) { return known.back().value == patch.back().value; })) {
      out->push_back(std::move(patch));
    }
  }
}

// Half of the optimizer's state on the host, or all of it, with what lets its copies run beside the step.
void AddOptimizerOffload(const Config& c, std::vector<Patch>* out) {
  if (c.origin(K::optimizer_cpu_offload) == Origin::kAbsent || c.Get(K::optimizer_cpu_offload).truthy()) return;
  for (const double fraction : {0.5, 1.0}) {
    Patch patch = {Set(K::optimizer_cpu_offload, Value(true)), Set(K::optimizer_offload_fraction, Value(fraction))};
    for (const Knob companion : kOffloadCompanions) {
      if (c.origin(companion) != Origin::kAbsent && !c.Get(companion).truthy()) {
        patch.push_back(Set(companion, Value(true)));
      }
    }
    out->push_back(std::move(patch));
  }
}

void AddExecution(const Config& c, std::vector<Patch>* out) {
  const bool full = c.Get(K::recompute_granularity).text() == "full";
  const bool overlap = c.Get(K::overlap_moe_expert_parallel_comm).truthy();
  if (!full) AddSelective(c, out);
  if (!c.Get(K::use_distributed_optimizer).truthy()) out->push_back({Set(K::use_distributed_optimizer, Value(true))});
  if (!full && !overlap) {
    out->push_back({Set(K::recompute_granularity, Value("full")), Set(K::recompute_method, Value("uniform")),
                    Set(K::recompute_num_layers, Value(1))});
  }
  if (const int64_t batch = SizeIn(c, K::micro_batch_size); batch % 2 == 0) {
    out->push_back({Set(K::micro_batch_size, Value(batch / 2))});
  }
  AddOptimizerOffload(c, out);
}

void AddLayouts(const Config& c, std::vector<Patch>* out) {
  const int64_t pp = SizeIn(c, K::pipeline_model_parallel_size), tp = SizeIn(c, K::tensor_model_parallel_size);
  const int64_t ep = SizeIn(c, K::expert_model_parallel_size), experts = c.Get(K::num_moe_experts).integer();
  const Value& vpp = c.Get(K::virtual_pipeline_model_parallel_size);
  const bool own_layout = !c.Get(K::pipeline_model_parallel_layout).is_none();
  if (ep > 0 && experts > 0 && experts % (2 * ep) == 0) {
    out->push_back({Set(K::expert_model_parallel_size, Value(2 * ep))});
  }
  if (!own_layout) {
    out->push_back({Set(K::pipeline_model_parallel_size, Value(2 * pp))});
    if (vpp.integer() > 1) {
      const Value half = vpp.integer() > 2 && vpp.integer() % 2 == 0 ? Value(vpp.integer() / 2) : Value();
      out->push_back(
          {Set(K::pipeline_model_parallel_size, Value(2 * pp)), Set(K::virtual_pipeline_model_parallel_size, half)});
    }
  }
  out->push_back({Set(K::tensor_model_parallel_size, Value(2 * tp)), Set(K::sequence_parallel, Value(true))});
  if (ep > 1 && ep % 2 == 0 && !own_layout) {  // the grid that more stages need
    out->push_back(
        {Set(K::pipeline_model_parallel_size, Value(2 * pp)), Set(K::expert_model_parallel_size, Value(ep / 2))});
  }
}

}  // namespace

MemoryFixes MemoryFixesOf(const Config& config) {
  MemoryFixes fixes;
  AddExecution(config, &fixes.execution);
  AddLayouts(config, &fixes.layout);
  return fixes;
}

}  // namespace flightplan
