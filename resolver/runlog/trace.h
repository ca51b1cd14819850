// A trace of PyTorch's profiler (Chrome's JSON), read for what the GPU did: how long it computed, how long it only
// communicated, and how long it had nothing to do.
#pragma once

#include <cstddef>
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
  bool full = false;           // it has more than kMostKernels: the rest was not read
  bool any() const { return kernels > 0 && span_us > 0; }
};

class TraceReader {
 public:
  static constexpr size_t kMostKernels = size_t{4} << 20;
  static constexpr size_t kMostEventBytes = size_t{64} << 10;

  // The file in pieces of any size. One that ends too early is read as far as it goes.
  void Push(absl::string_view bytes);
  TraceSummary Summary() const;
  bool full() const { return full_; }

  // Whether the beginning of a file looks like one; it wants kHeadBytes, or the whole file.
  static constexpr size_t kHeadBytes = 4096;
  static bool Recognises(absl::string_view begin);

 private:
  enum class Work : uint8_t { kCompute, kOther, kUnknownPath, kExpert, kTensor, kContext, kPipeline, kData };
  struct Kernel {
    double begin = 0, end = 0;
    Work work = Work::kCompute;
  };

  static Work WorkOf(absl::string_view name, absl::string_view group, absl::string_view collective);
  static absl::string_view PathOf(Work work);
  // Whether the byte completes the head of the list of events.
  bool BeginsEvents(char byte);
  void ReadEvent(absl::string_view event);

  std::string event_;  // what is read of the current one
  int depth_ = 0;      // of braces within it
  bool in_text_ = false, escaped_ = false, skip_ = false, in_events_ = false, ended_ = false;
  size_t matched_ = 0;  // bytes of the key that begins the events
  std::vector<Kernel> kernels_;
  int64_t steps_ = 0, skipped_ = 0;
  bool full_ = false;
};

}  // namespace flightplan
