// A trace of PyTorch's profiler (Chrome's JSON), read for what the GPU did: how long it computed, how long it only
// communicated, and how long it had nothing to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/runlog/gpu_work.h"

namespace flightplan {

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
  // Whether the byte completes the head of the list of events.
  bool BeginsEvents(char byte);
  void ReadEvent(absl::string_view event);

  std::string event_;  // what is read of the current one
  int depth_ = 0;      // of braces within it
  bool in_text_ = false, escaped_ = false, skip_ = false, in_events_ = false, ended_ = false;
  size_t matched_ = 0;  // bytes of the key that begins the events
  std::vector<GpuSpan> kernels_;
  int64_t steps_ = 0, skipped_ = 0;
  bool full_ = false;
};

}  // namespace flightplan
