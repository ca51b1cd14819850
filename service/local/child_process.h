// Runs another program to its end and contains it: it dies with this process, is killed when its time is over or nobody
// waits for it any more, and its output is bounded. It gets a process group of its own, so that nothing it started
// outlives it.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace flightplan::service {

// Ends a RunChild from another thread. One for each run.
class StopSwitch {
 public:
  StopSwitch();
  ~StopSwitch();
  StopSwitch(const StopSwitch&) = delete;
  StopSwitch& operator=(const StopSwitch&) = delete;

  void Stop();
  bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  int fd() const { return fd_; }  // readable once stopped

 private:
  std::atomic<bool> stopped_{false};
  int fd_;
};

struct ChildLimits {
  absl::Duration run;                              // from the start on; then it is killed
  absl::Duration grace = absl::Milliseconds(300);  // between SIGTERM and SIGKILL
  absl::Duration reap = absl::Milliseconds(500);   // for the kernel to end it after SIGKILL
  size_t line_bytes = size_t{1} << 20;             // of one line on standard output
  size_t output_bytes = size_t{8} << 20;           // of standard output in all
  size_t stderr_bytes = size_t{1} << 20;           // in all; more is taken for a fault
};

struct ChildEnd {
  enum class Why {
    kExited,      // by itself; `code` is its exit code
    kSignalled,   // by a signal that was not ours; `code` is its number
    kTimeOver,    // killed: limits.run
    kStopped,     // killed: the switch
    kTooMuch,     // killed: a line, the output or the messages were too long
    kRefused,     // killed: on_line said no
    kNotStarted,  // `detail` says why
  };
  Why why = Why::kNotStarted;
  int code = 0;
  std::string detail;
  std::string last_words;  // the end of standard error, at most 2 KiB
  bool torn_line = false;  // output ended inside a line
  // Not even SIGKILL ended it in time: it hangs in the driver. Its process id; 0: it is gone.
  int stuck_pid = 0;
};

// Blocks until the child is gone (or stuck). `on_line` gets whole lines without their ends; false ends the child.
// `argv[0]` is a path. Of our environment the child sees only what a program on a GPU needs.
ChildEnd RunChild(const std::vector<std::string>& argv, const ChildLimits& limits, const StopSwitch& stop,
                  const std::function<bool(absl::string_view line)>& on_line);

}  // namespace flightplan::service
