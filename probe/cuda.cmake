# The CUDA side: target flightplan_probe_device, with kernels where an nvcc is found, else with its two answers alone.
# nvcc is called directly: CMake's own CUDA support of this version does not find the layout of the Python wheels.
set(cuda_wheels "$ENV{XDG_CACHE_HOME}")
if(NOT cuda_wheels)
  set(cuda_wheels "$ENV{HOME}/.cache")
endif()
set(cuda_wheels "${cuda_wheels}/flightplan/cuda-13.0/nvidia/cu13")
option(FLIGHTPLAN_CUDA "Build the probe's CUDA device where an nvcc is found" ON)
find_program(FLIGHTPLAN_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin" /usr/local/cuda/bin "${cuda_wheels}/bin"
  DOC "CUDA compiler, 12.8 or newer")

file(GLOB cuda_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/kernels/*.cu" "${CMAKE_CURRENT_SOURCE_DIR}/device/*.cu")
if(NOT FLIGHTPLAN_CUDA OR NOT FLIGHTPLAN_NVCC OR NOT cuda_sources)
  message(STATUS "flightplan-probe: built without CUDA (no nvcc); probe/toolkit.sh fetches one")
  add_library(flightplan_probe_device STATIC device/no_cuda.cc)
  target_link_libraries(flightplan_probe_device PUBLIC flightplan_probe_core)
  return()
endif()
