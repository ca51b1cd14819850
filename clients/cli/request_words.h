// What the flags of a question may say, for those who declare the flags and those who fill the request from them.
#pragma once

#include <cstdint>
#include <optional>

#include "clients/cli/request.h"
#include "clients/cli/words.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/plan/knob.h"

namespace flightplan::cli {

inline constexpr Word<v1::Stage> kStages[] = {
    {"bring-up", v1::STAGE_BRING_UP}, {"tune", v1::STAGE_TUNE}, {"production", v1::STAGE_PRODUCTION}};
inline constexpr Word<v1::Objective> kObjectives[] = {{"training", v1::OBJECTIVE_TRAINING},
                                                      {"benchmark", v1::OBJECTIVE_BENCHMARK}};
inline constexpr Word<v1::HostCpuClass> kHostCpus[] = {{"x86-fast", v1::HOST_CPU_CLASS_X86_FAST},
                                                       {"x86-slow", v1::HOST_CPU_CLASS_X86_SLOW},
                                                       {"arm", v1::HOST_CPU_CLASS_ARM}};
inline constexpr Word<v1::Wall> kWalls[] = {{"memory", v1::WALL_MEMORY},
                                            {"communication", v1::WALL_COMMUNICATION},
                                            {"host", v1::WALL_HOST},
                                            {"compute", v1::WALL_COMPUTE}};

// The flags of a layout's sizes, the knob that each says, and its place in a request.
struct SizeFlag {
  const char* flag;
  Knob knob;
  std::optional<int64_t> ResolveOptions::*size;
  void (v1::Layout::*set)(int32_t);
};
#define FLIGHTPLAN_SIZE_FLAG(flag, field, knob) \
  { flag, Knob::knob, &ResolveOptions::field, &v1::Layout::set_##knob }
inline constexpr SizeFlag kSizeFlags[] = {FLIGHTPLAN_SIZE_FLAG("--tp", tp, tensor_model_parallel_size),
                                          FLIGHTPLAN_SIZE_FLAG("--pp", pp, pipeline_model_parallel_size),
                                          FLIGHTPLAN_SIZE_FLAG("--vpp", vpp, virtual_pipeline_model_parallel_size),
                                          FLIGHTPLAN_SIZE_FLAG("--cp", cp, context_parallel_size),
                                          FLIGHTPLAN_SIZE_FLAG("--ep", ep, expert_model_parallel_size),
                                          FLIGHTPLAN_SIZE_FLAG("--etp", etp, expert_tensor_parallel_size),
                                          FLIGHTPLAN_SIZE_FLAG("--mbs", mbs, micro_batch_size)};
#undef FLIGHTPLAN_SIZE_FLAG

}  // namespace flightplan::cli
