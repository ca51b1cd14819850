# Lays a program's code out by what runs (llvm-bolt): what is hot together, what is cold out of the way. An answer touches
# 2 MB of code that is spread over 16, and waits for instructions much of the time; laid out it takes 0.63 of the time
# (resolve_benchmark, medians of three). It costs a minute of CPU time and 3.5 GB of memory after each linking, so that it
# is a target of its own, for what is shipped as a server: the image.
file(GLOB bolt_folders /usr/lib/llvm-*/bin)  # beside its runtime library, which it looks for at its own path
find_program(LLVM_BOLT llvm-bolt PATHS ${bolt_folders} NO_DEFAULT_PATH)
set(bolt_folder "${CMAKE_CURRENT_LIST_DIR}")

# flightplan_lay_out(<target> [COUNT]): a target <target>_laid_out, of the same sources and libraries, not part of `all`.
# COUNT: it is a server, which is asked what its users ask while it counts what runs; another one is laid out by those
# counts, which hold for every function that both have.
function(flightplan_lay_out target)
  if(NOT LLVM_BOLT OR FLIGHTPLAN_SANITIZE OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  set(laid_out ${target}_laid_out)
  add_executable(${laid_out} EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(${laid_out} PRIVATE ${libraries})
  target_link_options(${laid_out} PRIVATE -fuse-ld=bfd -Wl,--emit-relocs)  # of mold's PLT bolt 16 reads some and not others
  set(training "")
  if("COUNT" IN_LIST ARGN)
    set(training "${Python3_EXECUTABLE}" "${bolt_folder}/train.py")
  else()
    add_dependencies(${laid_out} flightplan_laid_out)
  endif()
  set_property(TARGET ${laid_out} APPEND PROPERTY LINK_DEPENDS "${bolt_folder}/lay_out.sh" "${bolt_folder}/train.py")
  add_custom_command(TARGET ${laid_out} POST_BUILD VERBATIM
    COMMAND "${bolt_folder}/lay_out.sh" "${LLVM_BOLT}" "$<TARGET_FILE:${laid_out}>" "${CMAKE_BINARY_DIR}/flightplan.fdata" ${training})
endfunction()
