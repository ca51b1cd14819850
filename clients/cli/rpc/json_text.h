// Writes JSON, from the inside out: values are texts that are put together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "rapidjson/document.h"

namespace flightplan::cli {

// A JSON string, quotes included. Bytes that are no UTF-8 become U+FFFD.
std::string JsonString(absl::string_view text);
// The shortest text that reads back as the same number; null for what is no finite number.
std::string JsonNumber(double value);
// "[a,b]" of JSON texts.
std::string JsonList(const std::vector<std::string>& values);
std::string JsonStrings(const std::vector<std::string>& texts);
// A value as it was read, on one line.
std::string JsonOf(const rapidjson::Value& value);

// One object, its members in the order of the calls.
class JsonObject {
 public:
  JsonObject& Raw(absl::string_view key, absl::string_view json);
  JsonObject& Text(absl::string_view key, absl::string_view value) { return Raw(key, JsonString(value)); }
  JsonObject& Number(absl::string_view key, double value) { return Raw(key, JsonNumber(value)); }
  JsonObject& Integer(absl::string_view key, int64_t value);
  JsonObject& Bool(absl::string_view key, bool value) { return Raw(key, value ? "true" : "false"); }
  bool empty() const { return members_.empty(); }
  // The whole text.
  std::string Json() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

// ---- reading, by name and type; null or the fallback where it is not there or something else

const rapidjson::Value* JsonMember(const rapidjson::Value& object, const char* name);
const rapidjson::Value* JsonObjectMember(const rapidjson::Value& object, const char* name);
const rapidjson::Value* JsonArrayMember(const rapidjson::Value& object, const char* name);
absl::string_view JsonTextMember(const rapidjson::Value& object, const char* name);
absl::string_view JsonTextOf(const rapidjson::Value& string);

}  // namespace flightplan::cli
