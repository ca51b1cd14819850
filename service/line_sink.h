// Lines to a file descriptor from any thread, without ever waiting for it: a bounded queue and one writer. A full queue
// drops the line and counts it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "absl/strings/string_view.h"

namespace flightplan::service {

class LineSink {
 public:
  // Does not own `fd`, which must outlive the sink.
  explicit LineSink(int fd, size_t max_queued_bytes = size_t{1} << 20);
  // Writes what is queued.
  ~LineSink();
  LineSink(const LineSink&) = delete;
  LineSink& operator=(const LineSink&) = delete;

  // Queues `line` and a newline. False: dropped.
  bool Write(absl::string_view line);
  // Returns once everything queued before the call has been handed to the descriptor.
  void Flush();

  uint64_t written() const { return written_.load(std::memory_order_relaxed); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  void Run();

  const int fd_;
  const size_t max_queued_bytes_;
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> dropped_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::string queued_;    // lines not yet taken by the writer
  bool writing_ = false;  // the writer holds lines
  bool stopping_ = false;
  std::thread writer_;  // last: it uses the members above
};

}  // namespace flightplan::service
