#include "resolver/rules/core/graph_util.h"

#include <algorithm>

#include "resolver/rules/core/lists_util.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

// A deprecated spelling that the caller used would be migrated again over the patch.
void ClearDeprecated(F f, Patch* patch) {
  for (Knob flag : {K::enable_cuda_graph, K::external_cuda_graph}) {
    if (f.on(flag)) patch->push_back(Assign(flag, false));
  }
  if (f.core(18) && f.origin(K::cuda_graph_scope) == Origin::kUpstream) {
    patch->push_back(Assign(K::cuda_graph_scope, Value()));
  }
}

}  // namespace

bool IsGraphModule(absl::string_view name) {
  return std::find(std::begin(kGraphModules), std::end(kGraphModules), name) != std::end(kGraphModules);
}

Knob GraphModulesKnob(F f) { return f.core(18) ? K::cuda_graph_modules : K::cuda_graph_scope; }

bool Captures(F f, absl::string_view module) { return f.has(GraphModulesKnob(f), module); }

bool GraphsOn(F f) { return !f.is(K::cuda_graph_impl, "none"); }

bool GraphImpl(F f, absl::string_view impl) { return f.is(K::cuda_graph_impl, impl); }

bool PerLayerGraphs(F f) {
  if (f.core(18)) return f.in(K::cuda_graph_impl, {"local", "transformer_engine"});
  return f.core(16) && GraphsOn(f);
}

bool CapturesEverything(F f) {
  if (f.value(GraphModulesKnob(f)).list().empty()) return true;
  return f.core(18) ? GraphImpl(f, "full_iteration") : Captures(f, "full_iteration");
}

bool FixedExpertShapes(F f) {
  return f.on(K::moe_pad_expert_input_to_capacity) || f.on(K::moe_expert_rank_capacity_factor) ||
         f.on(K::moe_ncclep_static_shape);
}

Patch DropGraphModules(F f, std::initializer_list<absl::string_view> modules) {
  const Value kept = Without(f.value(GraphModulesKnob(f)), modules);
  if (kept.list().empty()) return GraphsOff(f);
  Patch patch = {Assign(GraphModulesKnob(f), kept)};
  if (f.core(18) && f.origin(K::cuda_graph_scope) == Origin::kUpstream) {
    patch.push_back(Assign(K::cuda_graph_scope, Value()));
  }
  return patch;
}

Patch GraphsOff(F f) {
  Patch patch = {Assign(K::cuda_graph_impl, "none"), Assign(GraphModulesKnob(f), Value(Value::List{}))};
  if (f.core(18)) patch.push_back(Assign(K::inference_cuda_graph_scope, Value()));
  ClearDeprecated(f, &patch);
  return patch;
}

bool HasGraphName(const Value& raw, absl::string_view name) {
  bool found = false;
  ForEachGraphName(raw, [&](absl::string_view n) { found = found || n == name; });
  return found;
}

}  // namespace flightplan
