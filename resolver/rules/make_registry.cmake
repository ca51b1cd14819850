# cmake -DOUT=registry.cc -DFILES="a;b" -P make_registry.cmake
# rules/core/cuda_graph.cc must define `RuleList CoreCudaGraphRules()` in namespace flightplan.
include("${CMAKE_CURRENT_LIST_DIR}/../camel_case.cmake")

set(declarations "")
set(calls "")
string(REPLACE "," ";" FILES "${FILES}")
foreach(file IN LISTS FILES)
  get_filename_component(topic "${file}" NAME_WE)
  get_filename_component(dir "${file}" DIRECTORY)
  get_filename_component(room "${dir}" NAME)
  camel_case("${room}_${topic}" name)
  string(APPEND declarations "RuleList ${name}Rules();\n")
  string(APPEND calls "    ${name}Rules(),\n")
endforeach()
file(WRITE "${OUT}" "// Generated from the file list of resolver/rules. Do not edit.
#include \"resolver/rules/registry.h\"

#include \"absl/container/flat_hash_map.h\"

namespace flightplan {

${declarations}
const std::vector<const Rule*>& AllRules() {
  static const auto* const kAll = [] {
    auto* all = new std::vector<const Rule*>();
    for (const RuleList& list : std::initializer_list<RuleList>{
${calls}    }) {
      for (const Rule& rule : list) all->push_back(&rule);
    }
    return all;
  }();
  return *kAll;
}

const Rule* FindRule(absl::string_view id) {
  static const auto* const kById = [] {
    auto* map = new absl::flat_hash_map<absl::string_view, const Rule*>();
    // A rule's own id goes before that which another one has on the command line.
    for (const Rule* rule : AllRules()) map->emplace(rule->id, rule);
    for (const Rule* rule : AllRules()) {
      if (!rule->cli_id.empty()) map->emplace(rule->cli_id, rule);
    }
    return map;
  }();
  auto it = kById->find(id);
  return it == kById->end() ? nullptr : it->second;
}

}  // namespace flightplan
")
