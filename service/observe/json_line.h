// JSON on one line, written by RapidJSON: lines of the logs, small pages.
#pragma once

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"

namespace flightplan::service {

struct LogField {
  absl::string_view key;
  std::variant<absl::string_view, int64_t, double> value;
};

// `text` as a JSON string, quotes included. Bytes that are no UTF-8 become U+FFFD, and every control character is
// escaped, also those that JSON takes as they are and terminals obey.
std::string QuotedJson(absl::string_view text);

// One object, its members in the order of the calls.
class JsonLine {
 public:
  JsonLine() : json_(buffer_) { json_.StartObject(); }
  void Text(absl::string_view key, absl::string_view value);
  void Number(absl::string_view key, int64_t value);
  // Six significant digits; null for what is no finite number.
  void Number(absl::string_view key, double value);
  // Every field but texts that are empty.
  void Fields(std::initializer_list<LogField> fields);
  template <class Texts>
  void List(absl::string_view key, const Texts& values) {
    Key(key);
    json_.StartArray();
    for (const auto& value : values) Quote(value);
    json_.EndArray();
  }
  // The whole text, without a line's end. Nothing is written after it.
  std::string Take();

 private:
  void Key(absl::string_view key) { json_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size())); }
  void Quote(absl::string_view text);

  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> json_;
};

}  // namespace flightplan::service
