// Counts the microbatches that a pipeline rank keeps at once, by chunk: upstream's 1F1B and interleaved orders
// (Megatron-LM megatron/core/pipeline_parallel/schedules.py) in closed form.
#pragma once

#include <cstdint>

namespace flightplan {

// Above any that somebody ran by far: no search goes beyond it, since the pipelines of a deep model are quadratic in
// its layers, and more than these are judged as if neighbours were one.
inline constexpr int kMostVirtualStages = 128;

struct Schedule {
  int pp = 1, vpp = 1;  // vpp at most kMostVirtualStages
  int64_t microbatches = 1;
  int64_t group = 1;           // microbatch_group_size_per_vp_stage; pp where it is not set
  bool extra_forward = false;  // EP overlap runs one more warm-up forward so that forward and backward are independent
};

// The largest sum of `bytes` over the chunk passes that are kept at one time by rank `rank`; `bytes` has one entry per
// virtual stage: what one microbatch of that chunk keeps. With `at_last`, the largest sum at a time when a backward of
// the last chunk is about to start, which is when the loss is in memory.
double MostKept(const Schedule& schedule, int rank, const double* bytes, bool at_last = false);

// Forward passes of rank `rank` before its first backward.
int64_t WarmUpPasses(const Schedule& schedule, int rank);

}  // namespace flightplan
