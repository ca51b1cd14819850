# The CUDA side: target flightplan_probe_device, with kernels where an nvcc is found, else with its two answers alone.
# nvcc is called directly: CMake's own CUDA support of this version does not find the layout of the Python wheels.
set(cuda_wheels "$ENV{XDG_CACHE_HOME}")
if(NOT cuda_wheels)
  set(cuda_wheels "$ENV{HOME}/.cache")
endif()
set(cuda_wheels "${cuda_wheels}/flightplan/cuda-13.0/nvidia/cu13")
option(FLIGHTPLAN_CUDA "Build the probe's CUDA device where an nvcc is found" ON)
if(FLIGHTPLAN_NVCC AND NOT EXISTS "${FLIGHTPLAN_NVCC}")  # found once, taken away since
  unset(FLIGHTPLAN_NVCC CACHE)
endif()
find_program(FLIGHTPLAN_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin" /usr/local/cuda/bin "${cuda_wheels}/bin"
  DOC "CUDA compiler, 12.4 or newer")

# Blackwell is known from CUDA 12.8 on; an older nvcc builds for what came before.
set(cuda_architectures 80 90a 100)
if(FLIGHTPLAN_CUDA AND FLIGHTPLAN_NVCC)
  execute_process(COMMAND "${FLIGHTPLAN_NVCC}" --version OUTPUT_VARIABLE cuda_says ERROR_QUIET)
  if(cuda_says MATCHES "release ([0-9.]+)" AND CMAKE_MATCH_1 VERSION_LESS 12.8)
    list(REMOVE_ITEM cuda_architectures 100)
  endif()
endif()
set(FLIGHTPLAN_CUDA_ARCHITECTURES "${cuda_architectures}" CACHE STRING "GPU architectures; PTX of the last one is added")

# A toolkit of which a part is missing (no headers, no ptxas, a host compiler that is too new for it) counts as none: it
# has to compile, once, what every kernel needs. The answer is kept until nvcc changes; a refusal is not kept.
set(cuda_refusal "no nvcc")
if(FLIGHTPLAN_CUDA AND FLIGHTPLAN_NVCC)
  get_filename_component(cuda_home "${FLIGHTPLAN_NVCC}" REALPATH)
  get_filename_component(cuda_home "${cuda_home}" DIRECTORY)
  get_filename_component(cuda_home "${cuda_home}" DIRECTORY)
  set(cuda_homes "${cuda_home}" "$ENV{CUDA_HOME}" /usr/local/cuda)  # nvcc may be a script that stands elsewhere
  list(REMOVE_ITEM cuda_homes "")
  find_path(cuda_include cuda_runtime.h PATHS ${cuda_homes} PATH_SUFFIXES include targets/x86_64-linux/include
    targets/sbsa-linux/include NO_DEFAULT_PATH NO_CACHE)
  find_file(cuda_runtime_library libcudart_static.a PATHS ${cuda_homes} PATH_SUFFIXES lib64 lib
    targets/x86_64-linux/lib targets/sbsa-linux/lib NO_DEFAULT_PATH NO_CACHE)
  file(TIMESTAMP "${FLIGHTPLAN_NVCC}" cuda_key)
  set(cuda_key "${FLIGHTPLAN_NVCC} ${cuda_key} ${CMAKE_CXX_COMPILER} ${FLIGHTPLAN_CUDA_ARCHITECTURES}")
  if(NOT cuda_include OR NOT cuda_runtime_library)
    set(cuda_refusal "${FLIGHTPLAN_NVCC} comes without cuda_runtime.h or libcudart_static.a")
  elseif(FLIGHTPLAN_NVCC_COMPILES STREQUAL cuda_key)
    set(cuda_refusal)
  else()
    set(cuda_trial "${CMAKE_CURRENT_BINARY_DIR}/trial.cu")
    file(WRITE "${cuda_trial}" "#include <cuda_bf16.h>\n__global__ void Trial(__nv_bfloat16* x) { *x = __float2bfloat16(1); }\n")
    list(GET FLIGHTPLAN_CUDA_ARCHITECTURES -1 architecture)
    execute_process(COMMAND "${FLIGHTPLAN_NVCC}" -std=c++20 -ccbin "${CMAKE_CXX_COMPILER}"
        -gencode "arch=compute_${architecture},code=sm_${architecture}" -c "${cuda_trial}" -o "${cuda_trial}.o"
      RESULT_VARIABLE cuda_refusal OUTPUT_VARIABLE cuda_says ERROR_VARIABLE cuda_says TIMEOUT 120)
    if(cuda_refusal EQUAL 0)
      set(cuda_refusal)
      set(FLIGHTPLAN_NVCC_COMPILES "${cuda_key}" CACHE INTERNAL "nvcc that has compiled something, and how")
    else()
      string(STRIP "${cuda_says}" cuda_says)
      set(cuda_refusal "${FLIGHTPLAN_NVCC} does not compile: ${cuda_says}")
    endif()
  endif()
endif()

file(GLOB cuda_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/kernels/*.cu" "${CMAKE_CURRENT_SOURCE_DIR}/device/*.cu")
if(cuda_refusal OR NOT FLIGHTPLAN_CUDA)
  message(STATUS "flightplan-probe: built without CUDA (${cuda_refusal}); probe/toolkit.sh fetches a compiler")
  add_library(flightplan_probe_device STATIC device/no_cuda.cc)
  target_link_libraries(flightplan_probe_device PUBLIC flightplan_probe_core)
  if(FLIGHTPLAN_TESTS)
    string(REGEX REPLACE "[\n\";$].*" "" cuda_refusal "${cuda_refusal}")  # its first line
    foreach(test probe/cuda probe/sass)
      add_test(NAME ${test} COMMAND sh -c "echo 'skipped: ${cuda_refusal}'; exit 77")
      set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77)
    endforeach()
  endif()
  return()
endif()
message(STATUS "flightplan-probe: CUDA by ${FLIGHTPLAN_NVCC}")

set(cuda_flags -std=c++20 -O3 -lineinfo --expt-relaxed-constexpr -diag-suppress=2810 "-I${CMAKE_CURRENT_SOURCE_DIR}/.."
  -ccbin "${CMAKE_CXX_COMPILER}")
if(TARGET flightplan_warnings)  # alone it builds on machines whose compilers warn of what ours do not
  list(APPEND cuda_flags -Xcompiler=-Wall,-Wextra -Werror=all-warnings)
endif()
foreach(architecture IN LISTS FLIGHTPLAN_CUDA_ARCHITECTURES)
  list(APPEND cuda_flags -gencode "arch=compute_${architecture},code=sm_${architecture}")
endforeach()
list(GET FLIGHTPLAN_CUDA_ARCHITECTURES -1 architecture)
list(APPEND cuda_flags -gencode "arch=compute_${architecture},code=compute_${architecture}")
set(cuda_objects)
foreach(source IN LISTS cuda_sources)
  file(RELATIVE_PATH name "${CMAKE_CURRENT_SOURCE_DIR}" "${source}")
  set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}.o")
  get_filename_component(folder "${object}" DIRECTORY)
  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(OUTPUT "${object}"
    COMMAND "${FLIGHTPLAN_NVCC}" ${cuda_flags} -MD -MF "${object}.d" -MT "${object}" -c "${source}" -o "${object}"
    DEPENDS "${source}" DEPFILE "${object}.d" COMMENT "Building CUDA object ${name}" VERBATIM)
  list(APPEND cuda_objects "${object}")
endforeach()
add_library(flightplan_probe_device STATIC ${cuda_objects} device/libraries.cc device/libraries_header_check.cc device/nvml.cc)
set_target_properties(flightplan_probe_device PROPERTIES LINKER_LANGUAGE CXX)
target_include_directories(flightplan_probe_device SYSTEM PRIVATE "${cuda_include}")
target_link_libraries(flightplan_probe_device PUBLIC flightplan_probe_core flightplan_fit "${cuda_runtime_library}" rt)

# Compiled for what was asked: every object carries code of every architecture.
if(FLIGHTPLAN_TESTS)
  string(REPLACE ";" "," cuda_test_architectures "${FLIGHTPLAN_CUDA_ARCHITECTURES}")
  add_test(NAME probe/cuda COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/architectures_test.py"
    "${cuda_test_architectures}" ${cuda_objects})
  get_filename_component(cuda_bin "${FLIGHTPLAN_NVCC}" DIRECTORY)
  find_program(FLIGHTPLAN_CUOBJDUMP cuobjdump HINTS "${cuda_bin}" DOC "shows what nvcc has made of the kernels")
  add_test(NAME probe/sass COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/sass_test.py"
    "${FLIGHTPLAN_CUOBJDUMP}" ${cuda_objects})
  set_tests_properties(probe/sass PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endif()
