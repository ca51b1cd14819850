# The worker for systems with an older glibc than this one: the same objects, linked against the symbols of glibc 2.28
# (RHEL 8) by the linker that probe/toolkit.sh --older-glibc fetches. It goes where no other program stands:
# bin/older-glibc/flightplan-probe.
set(older_glibc 2.28)
set(older_glibc_cache "$ENV{XDG_CACHE_HOME}")
if(NOT older_glibc_cache)
  set(older_glibc_cache "$ENV{HOME}/.cache")
endif()
if(FLIGHTPLAN_ZIG AND NOT EXISTS "${FLIGHTPLAN_ZIG}")  # found once, taken away since
  unset(FLIGHTPLAN_ZIG CACHE)
endif()
find_program(FLIGHTPLAN_ZIG zig PATHS "${older_glibc_cache}/flightplan/older-glibc/ziglang" NO_DEFAULT_PATH
  DOC "links a worker for glibc ${older_glibc}")
if(NOT FLIGHTPLAN_ZIG OR FLIGHTPLAN_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  if(FLIGHTPLAN_TESTS)
    add_test(NAME probe/older_glibc COMMAND sh -c
      "echo 'skipped: needs gcc and the linker of probe/toolkit.sh --older-glibc'; exit 77")
    set_tests_properties(probe/older_glibc PROPERTIES SKIP_RETURN_CODE 77)
  endif()
  return()
endif()

foreach(library stdc++ gcc_eh)
  execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=lib${library}.a OUTPUT_VARIABLE file
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  list(APPEND older_glibc_libraries "${file}")
endforeach()
add_library(flightplan_newer_functions OBJECT older_glibc/newer_functions.cc)
target_compile_features(flightplan_newer_functions PRIVATE cxx_std_20)
if(TARGET flightplan_warnings)
  target_link_libraries(flightplan_newer_functions PRIVATE flightplan_warnings)
endif()

# Links FILE of objects and archives; the target is built with all others.
function(add_for_older_glibc target file)
  get_filename_component(folder "${file}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(OUTPUT "${file}"
    COMMAND "${CMAKE_COMMAND}" -E env "ZIG_GLOBAL_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/older_glibc" "${FLIGHTPLAN_ZIG}"
      cc -target "${CMAKE_SYSTEM_PROCESSOR}-linux-gnu.${older_glibc}" -nostdlib++ -o "${file}" ${ARGN}
      $<TARGET_OBJECTS:flightplan_newer_functions> ${older_glibc_libraries} -ldl -lrt -lpthread -lm
    DEPENDS ${ARGN} flightplan_newer_functions $<TARGET_OBJECTS:flightplan_newer_functions>
    COMMENT "Linking ${file} for glibc ${older_glibc}" COMMAND_EXPAND_LISTS VERBATIM)
  add_custom_target(${target} ALL DEPENDS "${file}")
endfunction()

set(older_cuda)
if(cuda_objects)
  set(older_cuda "${cuda_runtime_library}")
endif()
set(older_worker "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/older-glibc/flightplan-probe")
add_for_older_glibc(flightplan_probe_older_glibc "${older_worker}" $<TARGET_OBJECTS:flightplan-probe>
  $<TARGET_FILE:flightplan_probe_core> $<TARGET_FILE:flightplan_probe_device> $<TARGET_FILE:flightplan_probe_core>
  $<TARGET_FILE:flightplan_fit> ${older_cuda})
if(FLIGHTPLAN_TESTS)
  add_library(flightplan_older_glibc_test OBJECT older_glibc/older_glibc_test.cc)
  target_compile_features(flightplan_older_glibc_test PRIVATE cxx_std_20)
  target_link_libraries(flightplan_older_glibc_test PRIVATE flightplan_warnings)
  set(older_test "${CMAKE_BINARY_DIR}/tests/flightplan_older_glibc_test")
  add_for_older_glibc(flightplan_older_glibc_test_program "${older_test}" $<TARGET_OBJECTS:flightplan_older_glibc_test>)
  add_test(NAME probe/older_glibc COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/older_glibc/older_glibc_test.py"
    ${older_glibc} "${older_worker}" $<TARGET_FILE:flightplan-probe> "${older_test}"
    "${CMAKE_CURRENT_SOURCE_DIR}/testdata/synthetic.json")
endif()
