// The service's log: one JSON object a line.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "service/observe/json_line.h"
#include "service/observe/line_sink.h"

namespace flightplan::service {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// "2026-11-20T09:30:00.123456Z"
std::string Timestamp();

// How many lines about the same thing are written: kBurst at once, kPerSecond in the long run.
class LineLimiter {
 public:
  static constexpr int64_t kPerSecond = 20;
  static constexpr int64_t kBurst = 100;
  // Different things are few; all beyond this many count as one.
  static constexpr size_t kMaxSubjects = 256;

  // False: this line is left out. `now`: of a clock that only goes forward. `*left_out`: lines about it that were left
  // out since the last one that was written.
  bool Take(absl::string_view subject, absl::Duration now, int64_t* left_out);

 private:
  struct Bucket {
    absl::Duration full_at;  // the bucket as one number: when it would be full again
    int64_t left_out = 0;
  };
  std::mutex mutex_;
  absl::flat_hash_map<std::string, Bucket> buckets_;  // guarded by mutex_
};

class Log {
 public:
  // Lines below `level` are not written. The sink must outlive the log.
  Log(LineSink* sink, LogLevel level) : sink_(sink), level_(level) {}

  bool Enabled(LogLevel level) const { return level >= level_; }
  // Text fields that are empty are left out. Of many lines above debug about the same thing (the field "reason", else
  // the message) some are left out; the next one that is written counts them as "suppressed".
  void Write(LogLevel level, absl::string_view message, std::initializer_list<LogField> fields = {});
  // Lines that were left out since the last call.
  uint64_t TakeSuppressed() { return suppressed_.exchange(0, std::memory_order_relaxed); }

 private:
  LineSink* const sink_;
  const LogLevel level_;
  LineLimiter limiter_;
  std::atomic<uint64_t> suppressed_{0};
};

}  // namespace flightplan::service
