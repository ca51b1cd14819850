#include "clients/cli/rpc/json_text.h"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/base/json.h"
#include "resolver/base/utf8.h"

namespace flightplan::cli {
namespace {

constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

std::string AsUtf8(absl::string_view text) {
  std::string out;
  for (;;) {
    const size_t good = Utf8PrefixBytes(text);
    out.append(text.data(), good);
    if (good == text.size()) return out;
    out.append(kReplacement.data(), kReplacement.size());
    text.remove_prefix(good + 1);
  }
}

}  // namespace

std::string JsonString(absl::string_view text) { return JsonQuoted(AsUtf8(text)); }

std::string JsonNumber(double value) {
  if (!std::isfinite(value)) return "null";
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  writer.Double(value);
  return {buffer.GetString(), buffer.GetSize()};
}

std::string JsonList(const std::vector<std::string>& values) {
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

std::string JsonStrings(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  quoted.reserve(texts.size());
  for (const std::string& text : texts) quoted.push_back(JsonString(text));
  return JsonList(quoted);
}

std::string JsonOf(const rapidjson::Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

JsonObject& JsonObject::Raw(absl::string_view key, absl::string_view json) {
  absl::StrAppend(&members_, members_.empty() ? "" : ",", JsonString(key), ":", json);
  return *this;
}

JsonObject& JsonObject::Integer(absl::string_view key, int64_t value) { return Raw(key, absl::StrCat(value)); }

const rapidjson::Value* JsonMember(const rapidjson::Value& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto it = object.FindMember(name);
  return it == object.MemberEnd() ? nullptr : &it->value;
}

const rapidjson::Value* JsonObjectMember(const rapidjson::Value& object, const char* name) {
  const rapidjson::Value* value = JsonMember(object, name);
  return value != nullptr && value->IsObject() ? value : nullptr;
}

const rapidjson::Value* JsonArrayMember(const rapidjson::Value& object, const char* name) {
  const rapidjson::Value* value = JsonMember(object, name);
  return value != nullptr && value->IsArray() ? value : nullptr;
}

absl::string_view JsonTextMember(const rapidjson::Value& object, const char* name) {
  const rapidjson::Value* value = JsonMember(object, name);
  return value != nullptr && value->IsString() ? JsonTextOf(*value) : absl::string_view();
}

absl::string_view JsonTextOf(const rapidjson::Value& string) { return {string.GetString(), string.GetStringLength()}; }

}  // namespace flightplan::cli
