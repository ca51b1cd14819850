# Headers of libraries, and the messages' own, read once for all: they are more than half of the time a file of ours takes.
# Every target gets the largest set that its link libraries allow, so that no file sees a library of which its room may
# not know. Sources still include what they use: FLIGHTPLAN_PRECOMPILE=OFF builds the same without.
option(FLIGHTPLAN_PRECOMPILE "Precompile the headers of libraries" ON)
if(NOT FLIGHTPLAN_PRECOMPILE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  return()
endif()

set(pure_headers <algorithm> <array> <functional> <map> <memory> <optional> <set> <string> <utility> <vector>
  <absl/status/statusor.h> <absl/strings/match.h> <absl/strings/numbers.h> <absl/strings/str_cat.h> <absl/strings/str_format.h>
  <absl/strings/str_join.h> <absl/strings/str_split.h> <absl/types/span.h>)
set(messages_headers ${pure_headers} <flightplan/v1/catalog_service.pb.h> <flightplan/v1/evidence_service.pb.h>
  <flightplan/v1/probe_service.pb.h> <flightplan/v1/resolver_service.pb.h> <google/protobuf/util/json_util.h>)
set(services_headers ${messages_headers} <chrono> <thread> <absl/time/clock.h> <flightplan/v1/catalog_service.grpc.pb.h>
  <flightplan/v1/evidence_service.grpc.pb.h> <flightplan/v1/probe_service.grpc.pb.h>
  <flightplan/v1/resolver_service.grpc.pb.h> <grpcpp/grpcpp.h>)
# A target that links the first of these, at any depth, gets the set, which is compiled against all of them.
set(pure_libraries absl::strings absl::status absl::statusor absl::str_format absl::span)
set(messages_libraries flightplan_proto ${pure_libraries})
set(services_libraries flightplan_grpc ${pure_libraries})

# flightplan_reaches(<variable> <target> <library>): whether the library's headers are among what the target may include:
# it links it, or something that hands it on.
function(flightplan_reaches variable target library)
  get_target_property(todo ${target} LINK_LIBRARIES)
  set(seen "")
  while(todo)
    list(POP_FRONT todo next)
    if(next STREQUAL library)
      set(${variable} TRUE PARENT_SCOPE)
      return()
    endif()
    if(NOT TARGET "${next}" OR next IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${next})
    get_target_property(linked ${next} INTERFACE_LINK_LIBRARIES)
    if(linked)
      list(APPEND todo ${linked})
    endif()
  endwhile()
  set(${variable} FALSE PARENT_SCOPE)
endfunction()

# flightplan_targets(<variable> <folder>): the targets of the folder and those below it.
function(flightplan_targets variable folder)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  get_property(folders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    flightplan_targets(more "${below}")
    list(APPEND targets ${more})
  endforeach()
  set(${variable} ${targets} PARENT_SCOPE)
endfunction()

# flightplan_precompiled(<name> <headers> <libraries>): the target that holds one set.
function(flightplan_precompiled name headers libraries)
  file(WRITE "${CMAKE_BINARY_DIR}/gen/${name}.cc" "")
  add_library(${name} OBJECT "${CMAKE_BINARY_DIR}/gen/${name}.cc")
  target_link_libraries(${name} PRIVATE flightplan_includes ${libraries})
  target_compile_options(${name} PRIVATE -fpch-preprocess)  # for ccache
  target_precompile_headers(${name} PRIVATE ${headers})
endfunction()

set(sets services messages pure)
if(NOT FLIGHTPLAN_SERVER)
  # Two files alone speak gRPC: fewer than the set costs. They take the set below, which then wants gRPC's own flag.
  list(REMOVE_ITEM sets services)
  target_compile_options(flightplan_includes INTERFACE -pthread)
endif()
flightplan_targets(targets "${CMAKE_SOURCE_DIR}")
foreach(target IN LISTS targets)
  get_target_property(type ${target} TYPE)
  get_target_property(linked ${target} LINK_LIBRARIES)
  if(NOT type MATCHES "STATIC_LIBRARY|EXECUTABLE" OR NOT "flightplan_warnings" IN_LIST linked)
    continue()  # not ours, or nothing to compile
  endif()
  foreach(set IN LISTS sets)
    list(GET ${set}_libraries 0 library)
    flightplan_reaches(reaches ${target} ${library})
    if(reaches)
      set(holder flightplan_precompiled_${set})
      set(headers ${${set}_headers})
      set(libraries ${${set}_libraries})
      if("GTest::gtest_main" IN_LIST linked)
        string(APPEND holder _test)
        list(APPEND headers <gtest/gtest.h>)
        list(APPEND libraries GTest::gtest_main)
      endif()
      get_target_property(options ${target} COMPILE_OPTIONS)
      if(FLIGHTPLAN_SEARCH_FLAGS AND FLIGHTPLAN_SEARCH_FLAGS IN_LIST options)
        string(APPEND holder _search)  # GCC fails where a set was compiled with less optimisation than its user
      endif()
      if(NOT TARGET ${holder})
        flightplan_precompiled(${holder} "${headers}" "${libraries}")
        if(holder MATCHES "_search$")
          target_compile_options(${holder} PRIVATE ${FLIGHTPLAN_SEARCH_FLAGS})
        endif()
      endif()
      target_precompile_headers(${target} REUSE_FROM ${holder})
      target_compile_options(${target} PRIVATE -Winvalid-pch -fpch-preprocess)
      break()
    endif()
  endforeach()
endforeach()
