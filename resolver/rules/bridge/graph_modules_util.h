// The CUDA-graph questions that Bridge asks on a config that may still use the deprecated spellings.
// From NVIDIA-NeMo/Megatron-Bridge@067f987df src/megatron/bridge/utils/cuda_graph.py.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/rules/rule.h"

namespace flightplan {

// Names in cuda_graph_modules or cuda_graph_scope, which may be a list, "a,b", "full" (no names) or unset.
std::vector<std::string> GraphModuleNames(const Value& value);
// `module` stands in cuda_graph_modules or in the deprecated cuda_graph_scope.
bool HasGraphModule(const Facts& f, absl::string_view module);
// Per-layer modules, without the deprecated names of whole-iteration capture.
bool AnyPerLayerGraphModule(const Facts& f);
bool FullIterationGraph(const Facts& f);

}  // namespace flightplan
