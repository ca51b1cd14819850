# cmake -DOUT=all_stacks.cc -DPART=stack|spelling -DFILES="a,b" -P make_registry.cmake
# stacks/megatron_lm/stack.cc must define `extern const Stack kMegatronLmStack` in namespace flightplan, and
# stacks/megatron_lm/spelling.cc `extern const StackSpelling kMegatronLmSpelling`.
include("${CMAKE_CURRENT_LIST_DIR}/../camel_case.cmake")
if(PART STREQUAL "stack")
  set(type Stack)
  set(suffix Stack)
  set(header "resolver/plan/stack.h")
  set(function RegisteredStacks)
else()
  set(type StackSpelling)
  set(suffix Spelling)
  set(header "resolver/stacks/spelling.h")
  set(function RegisteredSpellings)
endif()
set(declarations "")
set(rows "")
string(REPLACE "," ";" FILES "${FILES}")
foreach(file IN LISTS FILES)
  get_filename_component(dir "${file}" DIRECTORY)
  get_filename_component(folder "${dir}" NAME)
  camel_case("${folder}" name)
  string(APPEND declarations "extern const ${type} k${name}${suffix};\n")
  string(APPEND rows "      &k${name}${suffix},\n")
endforeach()
file(WRITE "${OUT}" "// Generated from the folders of resolver/stacks. Do not edit.
#include \"${header}\"

namespace flightplan {

${declarations}
absl::Span<const ${type}* const> ${function}() {
  static const ${type}* const kAll[] = {
${rows}  };
  return kAll;
}

}  // namespace flightplan
")
