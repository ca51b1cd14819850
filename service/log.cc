#include "service/log.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

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

// Length of the UTF-8 sequence that starts `text`, 0 when there is none. Overlong forms and surrogates are none.
size_t SequenceLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t length = lead < 0x80                   ? 1
                        : lead >= 0xc2 && lead < 0xe0 ? 2
                        : lead >= 0xe0 && lead < 0xf0 ? 3
                        : lead >= 0xf0 && lead < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) >= 0xa0) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) >= 0x90) return 0;
  return length;
}

}  // namespace

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  while (!text.empty()) {
    const size_t length = SequenceLength(text);
    const char c = text[0];
    if (length == 0) {
      out->append("\\ufffd");
    } else if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (length == 1 && static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(out, "\\u%04x", c);
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

void Log::Write(LogLevel level, absl::string_view message, std::initializer_list<LogField> fields) {
  if (!Enabled(level)) return;
  std::string line = absl::StrCat("{\"ts\":\"", Timestamp(), "\",\"level\":\"", LevelName(level), "\",\"msg\":");
  AppendJsonString(message, &line);
  AppendJsonFields(fields, &line);
  line.push_back('}');
  sink_->Write(line);
}

}  // namespace flightplan::service
