#include "resolver/rules/bridge/graph_modules_util.h"

#include <algorithm>

#include "absl/strings/str_split.h"

namespace flightplan {
namespace {

// "CudaGraphModule.attn" and "attn" name the same module.
std::string MemberName(absl::string_view name) {
  const size_t dot = name.rfind('.');
  return std::string(dot == absl::string_view::npos ? name : name.substr(dot + 1));
}

bool Contains(const Value& value, absl::string_view module) {
  const std::vector<std::string> names = GraphModuleNames(value);
  return std::find(names.begin(), names.end(), module) != names.end();
}

}  // namespace

std::vector<std::string> GraphModuleNames(const Value& value) {
  std::vector<std::string> names;
  if (value.is_text()) {
    if (value.text().empty() || value.text() == "full") return names;
    for (absl::string_view name : absl::StrSplit(value.text(), ',')) names.push_back(MemberName(name));
  }
  for (const Value& item : value.list()) names.push_back(MemberName(item.text()));
  return names;
}

bool HasGraphModule(const Facts& f, absl::string_view module) {
  return Contains(f.value(Knob::cuda_graph_modules), module) || Contains(f.value(Knob::cuda_graph_scope), module);
}

bool AnyPerLayerGraphModule(const Facts& f) {
  for (Knob knob : {Knob::cuda_graph_modules, Knob::cuda_graph_scope}) {
    for (const std::string& name : GraphModuleNames(f.value(knob))) {
      if (name != "full_iteration" && name != "full_iteration_inference" && name != "full") return true;
    }
  }
  return false;
}

bool FullIterationGraph(const Facts& f) {
  if (f.is(Knob::cuda_graph_impl, "full_iteration")) return true;
  return f.is(Knob::cuda_graph_impl, "local") && HasGraphModule(f, "full_iteration");
}

}  // namespace flightplan
