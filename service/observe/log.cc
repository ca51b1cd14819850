#include "service/observe/log.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "service/local/steady_time.h"

namespace flightplan::service {
namespace {

constexpr absl::string_view LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "";
}

}  // namespace

std::string Timestamp() { return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E6SZ", absl::Now(), absl::UTCTimeZone()); }

bool LineLimiter::Take(absl::string_view subject, absl::Duration now, int64_t* left_out) {
  const absl::Duration interval = absl::Seconds(1) / kPerSecond;
  const std::lock_guard<std::mutex> lock(mutex_);
  auto found = buckets_.find(subject);
  if (found == buckets_.end()) {
    found = buckets_.try_emplace(buckets_.size() < kMaxSubjects ? std::string(subject) : "").first;
  }
  Bucket& bucket = found->second;
  const absl::Duration full_at = std::max(bucket.full_at, now) + interval;
  if (full_at - now > kBurst * interval) {
    ++bucket.left_out;
    return false;
  }
  bucket.full_at = full_at;
  *left_out = std::exchange(bucket.left_out, 0);
  return true;
}

void Log::Write(LogLevel level, absl::string_view message, std::initializer_list<LogField> fields) {
  if (!Enabled(level)) return;
  int64_t left_out = 0;
  if (level > LogLevel::kDebug) {
    absl::string_view subject = message;
    for (const LogField& field : fields) {
      const auto* text = std::get_if<absl::string_view>(&field.value);
      if (field.key == "reason" && text != nullptr && !text->empty()) subject = *text;
    }
    if (!limiter_.Take(subject, SteadyNow(), &left_out)) {
      suppressed_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  JsonLine line;
  line.Text("ts", Timestamp());
  line.Text("level", LevelName(level));
  line.Text("msg", message);
  line.Fields(fields);
  if (left_out > 0) line.Number("suppressed", left_out);
  sink_->Write(line.Take());
}

}  // namespace flightplan::service
