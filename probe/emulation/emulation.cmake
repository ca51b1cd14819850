# The kernels without a GPU and without nvcc: the same sources, compiled for the CPU.
file(GLOB kernel_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/kernels/*.cu")
set_source_files_properties(${kernel_sources} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS
  "-xc++;-O1;-fno-strict-aliasing;-Wno-unknown-pragmas;-Wno-uninitialized;-Wno-shadow")  # as nvcc takes them
# NCCL's interface on the emulated devices; it calls the emulation in the program that loads it.
add_library(flightplan_fake_nccl MODULE emulation/fake_nccl.cc)
target_compile_features(flightplan_fake_nccl PRIVATE cxx_std_20)
target_include_directories(flightplan_fake_nccl PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/..")
target_link_libraries(flightplan_fake_nccl PRIVATE flightplan_warnings)
set_target_properties(flightplan_fake_nccl PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
add_executable(flightplan_probe_kernels_test emulation/emulation_test.cc emulation/kernels_test.cc emulation/team_test.cc
  emulation/blocks.cc emulation/reference_blas.cc emulation/runtime.cc emulation/streams.cc emulation/threads.cc ${kernel_sources})
target_include_directories(flightplan_probe_kernels_test BEFORE PRIVATE emulation)
target_link_libraries(flightplan_probe_kernels_test PRIVATE flightplan_probe_core flightplan_fit GTest::gtest_main
  flightplan_warnings)
add_dependencies(flightplan_probe_kernels_test flightplan_fake_nccl)
target_compile_definitions(flightplan_probe_kernels_test PRIVATE
  "FLIGHTPLAN_FAKE_NCCL=\"$<TARGET_FILE:flightplan_fake_nccl>\"")
set_target_properties(flightplan_probe_kernels_test PROPERTIES ENABLE_EXPORTS ON RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
# The threads of a block in their order, and in another: a result that differs is a race.
add_test(NAME probe/kernels COMMAND flightplan_probe_kernels_test --gtest_filter=-*Shuffled:*Team*:*SeveralDevices*:Straggler*)
add_test(NAME probe/team COMMAND flightplan_probe_kernels_test --gtest_filter=*Team*:*SeveralDevices*:Straggler*)
add_test(NAME probe/kernels_shuffled COMMAND flightplan_probe_kernels_test --gtest_filter=*Shuffled)
# The emulation has to notice faults: each of some two dozen, in a copy of the kernel that it is put into.
add_test(NAME probe/mutations COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/emulation/mutations.py"
  "${CMAKE_BINARY_DIR}/compile_commands.json" "$<JOIN:$<TARGET_OBJECTS:flightplan_probe_kernels_test>,,>"
  "$<TARGET_FILE:flightplan_probe_core>,$<TARGET_FILE:flightplan_fit>,$<TARGET_FILE:GTest::gtest_main>,$<TARGET_FILE:GTest::gtest>")
set_tests_properties(probe/mutations PROPERTIES LABELS slow TIMEOUT 3600 PROCESSORS 2)
