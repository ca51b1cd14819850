// What the CUDA-graph rules share. The list of captured modules is cuda_graph_modules from core 0.18 on and
// cuda_graph_scope before, where whole-iteration capture is one of its names and not an implementation.
#pragma once

#include <initializer_list>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/rules/rule.h"

namespace flightplan {

inline constexpr absl::string_view kGraphModules[] = {"attn", "mlp", "moe", "moe_router", "moe_preprocess", "mamba"};
bool IsGraphModule(absl::string_view name);

Knob GraphModulesKnob(const Facts& f);
// After normalisation: the module is captured.
bool Captures(const Facts& f, absl::string_view module);
bool GraphsOn(const Facts& f);
bool GraphImpl(const Facts& f, absl::string_view impl);
// Capture by layer, as opposed to whole-iteration capture.
bool PerLayerGraphs(const Facts& f);
// Whole-layer or whole-iteration capture: everything is inside the graph.
bool CapturesEverything(const Facts& f);

// Expert inputs of a size that does not depend on the routing.
bool FixedExpertShapes(const Facts& f);

// The patch that captures these modules no longer; no module left means no graphs, because an empty list would mean the
// whole layer.
Patch DropGraphModules(const Facts& f, std::initializer_list<absl::string_view> modules);
// The patch that switches graphs off, whichever knob switched them on.
Patch GraphsOff(const Facts& f);

// Calls `use(name)` for every name of a raw value: a list, or text separated by commas.
template <typename Use>
void ForEachGraphName(const Value& raw, Use use) {
  for (const Value& item : raw.list()) use(item.text());
  if (!raw.is_text()) return;
  absl::string_view text = raw.text();
  while (true) {
    const size_t comma = text.find(',');
    use(text.substr(0, comma));
    if (comma == absl::string_view::npos) return;
    text.remove_prefix(comma + 1);
  }
}
bool HasGraphName(const Value& raw, absl::string_view name);

}  // namespace flightplan
