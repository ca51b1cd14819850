# cmake -DOUT=all_stacks.cc -DFILES="a,b" -P make_registry.cmake
# stacks/megatron_lm/stack.cc must define `extern const Stack kMegatronLmStack` in namespace flightplan.
include("${CMAKE_CURRENT_LIST_DIR}/../camel_case.cmake")
set(declarations "")
set(rows "")
string(REPLACE "," ";" FILES "${FILES}")
foreach(file IN LISTS FILES)
  get_filename_component(dir "${file}" DIRECTORY)
  get_filename_component(folder "${dir}" NAME)
  camel_case("${folder}" name)
  string(APPEND declarations "extern const Stack k${name}Stack;\n")
  string(APPEND rows "      &k${name}Stack,\n")
endforeach()
file(WRITE "${OUT}" "// Generated from the folders of resolver/stacks. Do not edit.
#include <algorithm>
#include <vector>

#include \"resolver/plan/stack.h\"

namespace flightplan {

${declarations}
absl::Span<const Stack* const> AllStacks() {
  static const auto* const kAll = [] {
    auto* all = new std::vector<const Stack*>{
${rows}    };
    std::sort(all->begin(), all->end(), [](const Stack* a, const Stack* b) { return a->rank < b->rank; });
    return all;
  }();
  return *kAll;
}

}  // namespace flightplan
")
