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
  DOC "CUDA compiler, 12.8 or newer")

file(GLOB cuda_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/kernels/*.cu" "${CMAKE_CURRENT_SOURCE_DIR}/device/*.cu")
if(NOT FLIGHTPLAN_CUDA OR NOT FLIGHTPLAN_NVCC OR NOT cuda_sources)
  message(STATUS "flightplan-probe: built without CUDA (no nvcc); probe/toolkit.sh fetches one")
  add_library(flightplan_probe_device STATIC device/no_cuda.cc)
  target_link_libraries(flightplan_probe_device PUBLIC flightplan_probe_core)
  add_test(NAME probe/cuda COMMAND sh -c "echo 'skipped: no nvcc'; exit 77")
  set_tests_properties(probe/cuda PROPERTIES SKIP_RETURN_CODE 77)
  return()
endif()

set(FLIGHTPLAN_CUDA_ARCHITECTURES "80;90a;100" CACHE STRING "GPU architectures; PTX of the last one is added")
get_filename_component(cuda_home "${FLIGHTPLAN_NVCC}" REALPATH)
get_filename_component(cuda_home "${cuda_home}" DIRECTORY)
get_filename_component(cuda_home "${cuda_home}" DIRECTORY)
find_path(cuda_include cuda_runtime.h PATHS "${cuda_home}/include" "${cuda_home}/targets/x86_64-linux/include"
  "${cuda_home}/targets/sbsa-linux/include" NO_DEFAULT_PATH NO_CACHE REQUIRED)
find_file(cuda_runtime_library libcudart_static.a PATHS "${cuda_home}/lib64" "${cuda_home}/lib"
  "${cuda_home}/targets/x86_64-linux/lib" "${cuda_home}/targets/sbsa-linux/lib" NO_DEFAULT_PATH NO_CACHE REQUIRED)
message(STATUS "flightplan-probe: CUDA by ${FLIGHTPLAN_NVCC}")

set(cuda_flags -std=c++20 -O3 -lineinfo --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra -Werror=all-warnings -diag-suppress=2810
  "-I${CMAKE_CURRENT_SOURCE_DIR}/.." -ccbin "${CMAKE_CXX_COMPILER}")
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
if(TARGET flightplan_warnings)
  string(REPLACE ";" "," cuda_test_architectures "${FLIGHTPLAN_CUDA_ARCHITECTURES}")
  add_test(NAME probe/cuda COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/architectures_test.py"
    "${cuda_test_architectures}" ${cuda_objects})
endif()
