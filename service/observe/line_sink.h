// Writes lines to a file or descriptor from any thread without waiting for it: a bounded queue and one writer. A full
// queue drops the line and counts it; lines that cannot be written are counted too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace flightplan::service {

class LineSink {
 public:
  static constexpr size_t kQueuedBytes = size_t{1} << 20;
  // Lines were lost since the last call: so many, and why (an errno). 0 lines: they are written again. From the
  // writer's thread, which must not write to this sink.
  using OnLost = std::function<void(uint64_t lines, int error)>;

  // Does not own `fd`, which must outlive the sink.
  explicit LineSink(int fd, size_t max_queued_bytes = kQueuedBytes);
  // Appends to a file, which is made for its owner and group. It is opened again when the name stands for another file
  // (looked at once a second while lines come) and at Reopen. FAILED_PRECONDITION: it cannot be opened.
  static absl::StatusOr<std::unique_ptr<LineSink>> Append(const std::string& path, OnLost on_lost);
  // What Append would say, without making a file.
  static absl::Status CheckAppend(const std::string& path);
  // Writes what is queued.
  ~LineSink();
  LineSink(const LineSink&) = delete;
  LineSink& operator=(const LineSink&) = delete;

  // Before the first line.
  void SetOnLost(OnLost on_lost) { on_lost_ = std::move(on_lost); }

  // Queues `line` and a newline. False: dropped.
  bool Write(absl::string_view line);
  // Returns once everything queued before the call has been handed to the descriptor, or lost. False: not within
  // `at_most`, as of a file on a server that has gone.
  bool Flush(absl::Duration at_most);
  // A file is opened again, for all that is not written yet. A new one that cannot be opened changes nothing.
  void Reopen();

  uint64_t written() const { return written_.load(std::memory_order_relaxed); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }
  // Queued, and not written.
  uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  LineSink(int fd, std::string path, OnLost on_lost);

  void Run();
  void WriteLines(absl::string_view lines);
  void OpenAgain();
  bool IsAnotherFile() const;

  int fd_;
  const std::string path_;  // empty: a descriptor of somebody else's
  const size_t max_queued_bytes_;
  OnLost on_lost_;
  bool failing_ = false;     // of the writer: the last lines were lost
  bool torn_ = false;        // of the writer: half a line stands at the end
  int64_t looked_at_s_ = 0;  // of the writer: when the file's name was looked up
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> dropped_{0};
  std::atomic<uint64_t> lost_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::string queued_;  // lines not yet taken by the writer
  uint64_t asked_ = 0;  // times that something was queued, and of them
  uint64_t done_ = 0;   // those that the writer is through with
  bool reopen_ = false;
  bool stopping_ = false;
  std::thread writer_;  // last: it uses the members above
};

}  // namespace flightplan::service
