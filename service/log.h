// The service's log: one JSON object a line.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "service/line_sink.h"

namespace flightplan::service {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogField {
  absl::string_view key;
  std::variant<absl::string_view, int64_t, double> value;
};

// Appends `text` as a JSON string, quotes included. Bytes that are no UTF-8 become U+FFFD.
void AppendJsonString(absl::string_view text, std::string* out);
// Appends `,"key":value` for every field whose text is not empty.
void AppendJsonFields(std::initializer_list<LogField> fields, std::string* out);
// "2026-11-20T09:30:00.123456Z"
std::string Timestamp();

class Log {
 public:
  // Lines below `level` are not written. The sink must outlive the log.
  Log(LineSink* sink, LogLevel level) : sink_(sink), level_(level) {}

  bool Enabled(LogLevel level) const { return level >= level_; }
  // Text fields that are empty are left out.
  void Write(LogLevel level, absl::string_view message, std::initializer_list<LogField> fields = {});

 private:
  LineSink* const sink_;
  const LogLevel level_;
};

}  // namespace flightplan::service
