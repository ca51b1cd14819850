// What a GPU did over time, whoever recorded it: how long it computed, how long it only communicated, and how long it
// had nothing to do.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan {

// Of one rank's GPU, in microseconds. The span goes from its first kernel to the end of its last.
struct TraceSummary {
  int64_t kernels = 0;
  int64_t steps = 0;  // that the profiler marked; 0: none
  double span_us = 0;
  double compute_us = 0;  // a kernel computes, whatever else runs
  double exposed_us = 0;  // communication runs, and nothing computes: waiting for other ranks is in it
  double hidden_us = 0;   // communication runs beside compute
  double idle_us = 0;     // nothing runs
  // Of `exposed_us` by parallel path ("expert_parallel", "tensor_parallel" ...), as far as the trace names the groups.
  std::map<std::string, double> exposed_by_path;
  int64_t skipped_events = 0;  // too long to be read
  bool full = false;           // it has more than can be kept: the rest was not read
  bool any() const { return kernels > 0 && span_us > 0; }
};

enum class GpuWork : uint8_t { kCompute, kOther, kUnknownPath, kExpert, kTensor, kContext, kPipeline, kData };

// What a kernel does, by its name and, of a collective, its process group and its kind; the latter two may be empty.
GpuWork WorkOf(absl::string_view name, absl::string_view group, absl::string_view collective);

struct GpuSpan {
  double begin = 0, end = 0;  // us
  GpuWork work = GpuWork::kCompute;
};

// `kernels`, the times and the paths; in any order, on any streams of one GPU.
TraceSummary SummaryOf(const std::vector<GpuSpan>& kernels);

}  // namespace flightplan
