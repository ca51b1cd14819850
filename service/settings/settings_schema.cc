#include "service/settings/settings_schema.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "service/observe/log.h"
#include "service/settings/settings.h"

namespace flightplan::service {
namespace {

std::string Json(absl::string_view text) {
  std::string quoted;
  AppendJsonString(text, &quoted);
  return quoted;
}

// A duration or a word is written without quotes in YAML.
std::string Fallback(const SettingInfo& info) {
  const bool bare = info.kind == SettingInfo::Kind::kDuration || !info.words.empty();
  return bare && !absl::StartsWith(info.fallback, "\"") ? Json(info.fallback) : info.fallback;
}

// A value is read from its text, so that a number or a switch may stand in quotes.
std::string Shape(const SettingInfo& info) {
  if (!info.words.empty()) {
    const auto quote = [](std::string* out, absl::string_view word) { absl::StrAppend(out, Json(word)); };
    return absl::StrCat(R"("enum": [)", absl::StrJoin(info.words, ", ", quote), "]");
  }
  const std::string integer =
      absl::StrCat(R"({"type": "integer", "minimum": )", info.min, R"(, "maximum": )", info.max, "}");
  switch (info.kind) {
    case SettingInfo::Kind::kText:
      return R"("type": ["string", "number", "boolean"])";
    case SettingInfo::Kind::kTexts:
      return R"("anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}])";
    case SettingInfo::Kind::kSwitch:
      return R"("anyOf": [{"type": "boolean"}, {"enum": [0, 1]}, {"type": "string", "pattern": )"
             R"("^([Tt]([Rr][Uu][Ee])?|[Yy]([Ee][Ss])?|[Ff]([Aa][Ll][Ss][Ee])?|[Nn][Oo]?|0|1)$"}])";
    case SettingInfo::Kind::kNumber:
      return absl::StrCat(R"("anyOf": [)", integer, R"(, {"type": "string", "pattern": "^[0-9]+$"}])");
    case SettingInfo::Kind::kBytes:
      return absl::StrCat(R"("anyOf": [)", integer,
                          R"(, {"type": "string", "pattern": "^[0-9]+\\s*(B|KiB|MiB|GiB)?$"}])");
    case SettingInfo::Kind::kDuration:
      return R"("anyOf": [{"const": 0}, {"type": "string", "pattern": "^\\+?(0|([0-9]*\\.?[0-9]+(ns|us|ms|s|m|h))+)$"}])";
  }
  return "";
}

}  // namespace

std::string SettingsSchema() {
  std::vector<std::string> properties;
  for (const SettingInfo& info : SettingsTable()) {
    if (!info.in_file) continue;
    properties.push_back(absl::StrCat(Json(info.name), R"(: {"description": )", Json(info.help), R"(, "default": )",
                                      Fallback(info), ", ", Shape(info), "}"));
  }
  return absl::StrCat(R"({
"$schema": "https://json-schema.org/draft/2020-12/schema",
"title": "Configuration of flightplan serve",
"type": ["object", "null"],
"properties": {
)",
                      absl::StrJoin(properties, ",\n"), "\n},\n\"additionalProperties\": false\n}\n");
}

}  // namespace flightplan::service
