#include "service/observe/json_line.h"

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/base/utf8.h"

namespace flightplan::service {

std::string QuotedJson(absl::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const size_t length = Utf8CharacterBytes(text);
    const char c = text[0];
    if (length == 0) {
      out.append("\\ufffd");
    } else if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (length == 1 && absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppendFormat(&out, "\\u%04x", c);
    } else if (length == 2 && c == '\xc2' && static_cast<unsigned char>(text[1]) < 0xa0) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned char>(text[1]));  // U+009B is ESC [ to some terminals
    } else {
      out.append(text.data(), length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out.push_back('"');
  return out;
}

void JsonLine::Quote(absl::string_view text) {
  const std::string quoted = QuotedJson(text);
  json_.RawValue(quoted.data(), quoted.size(), rapidjson::kStringType);
}

void JsonLine::Text(absl::string_view key, absl::string_view value) {
  Key(key);
  Quote(value);
}

void JsonLine::Number(absl::string_view key, int64_t value) {
  Key(key);
  json_.Int64(value);
}

void JsonLine::Number(absl::string_view key, double value) {
  Key(key);
  const std::string text = std::isfinite(value) ? absl::StrFormat("%.6g", value) : "null";
  json_.RawValue(text.data(), text.size(), rapidjson::kNumberType);
}

void JsonLine::Fields(std::initializer_list<LogField> fields) {
  for (const LogField& field : fields) {
    if (const auto* text = std::get_if<absl::string_view>(&field.value)) {
      if (!text->empty()) Text(field.key, *text);
    } else if (const auto* integer = std::get_if<int64_t>(&field.value)) {
      Number(field.key, *integer);
    } else {
      Number(field.key, std::get<double>(field.value));
    }
  }
}

std::string JsonLine::Take() {
  json_.EndObject();
  return {buffer_.GetString(), buffer_.GetSize()};
}

}  // namespace flightplan::service
