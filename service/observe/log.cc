#include "service/observe/log.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "resolver/base/utf8.h"
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

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  while (!text.empty()) {
    const size_t length = Utf8CharacterBytes(text);
    const char c = text[0];
    if (length == 0) {
      out->append("\\ufffd");
    } else if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (length == 1 && absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppendFormat(out, "\\u%04x", c);
    } else if (length == 2 && c == '\xc2' && static_cast<unsigned char>(text[1]) < 0xa0) {
      absl::StrAppendFormat(out, "\\u%04x", static_cast<unsigned char>(text[1]));  // U+009B is ESC [ to some terminals
    } else {
      out->append(text.data(), length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out->push_back('"');
}

void AppendJsonFields(std::initializer_list<LogField> fields, std::string* out) {
  for (const LogField& field : fields) {
    if (const auto* text = std::get_if<absl::string_view>(&field.value); text != nullptr && text->empty()) continue;
    absl::StrAppend(out, ",\"", field.key, "\":");
    if (const auto* text = std::get_if<absl::string_view>(&field.value)) {
      AppendJsonString(*text, out);
    } else if (const auto* integer = std::get_if<int64_t>(&field.value)) {
      absl::StrAppend(out, *integer);
    } else {
      const double real = std::get<double>(field.value);
      absl::StrAppend(out, std::isfinite(real) ? absl::StrFormat("%.6g", real) : "null");
    }
  }
}

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
  std::string line = absl::StrCat("{\"ts\":\"", Timestamp(), "\",\"level\":\"", LevelName(level), "\",\"msg\":");
  AppendJsonString(message, &line);
  AppendJsonFields(fields, &line);
  if (left_out > 0) AppendJsonFields({{"suppressed", left_out}}, &line);
  line.push_back('}');
  sink_->Write(line);
}

}  // namespace flightplan::service
