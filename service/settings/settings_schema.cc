#include "service/settings/settings_schema.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <initializer_list>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "service/observe/json_line.h"
#include "service/settings/settings.h"

namespace flightplan::service {
namespace {

constexpr absl::string_view kSwitchPattern =
    "^([Tt]([Rr][Uu][Ee])?|[Yy]([Ee][Ss])?|[Ff]([Aa][Ll][Ss][Ee])?|[Nn][Oo]?|0|1)$";
constexpr absl::string_view kNumberPattern = "^[0-9]+$";
constexpr absl::string_view kBytesPattern = R"(^[0-9]+\s*(B|KiB|MiB|GiB)?$)";
constexpr absl::string_view kDurationPattern = R"(^\+?(0|([0-9]*\.?[0-9]+(ns|us|ms|s|m|h))+)$)";

// A duration or a word is written without quotes in YAML.
std::string Fallback(const SettingInfo& info) {
  const bool bare = info.kind == SettingInfo::Kind::kDuration || !info.words.empty();
  return bare && !absl::StartsWith(info.fallback, "\"") ? QuotedJson(info.fallback) : info.fallback;
}

class SchemaWriter {
 public:
  SchemaWriter() : json_(buffer_) { json_.SetIndent(' ', 1); }

  std::string Write(absl::Span<const SettingInfo> settings) {
    json_.StartObject();
    Text("$schema", "https://json-schema.org/draft/2020-12/schema");
    Text("title", "Configuration of flightplan serve");
    Texts("type", {"object", "null"});
    Key("properties");
    json_.StartObject();
    for (const SettingInfo& info : settings) {
      if (info.in_file) Property(info);
    }
    json_.EndObject();
    Key("additionalProperties");
    json_.Bool(false);
    json_.EndObject();
    return absl::StrCat(absl::string_view(buffer_.GetString(), buffer_.GetSize()), "\n");
  }

 private:
  void Key(absl::string_view key) { json_.Key(key.data(), static_cast<rapidjson::SizeType>(key.size())); }
  void Word(absl::string_view text) { json_.String(text.data(), static_cast<rapidjson::SizeType>(text.size())); }
  void Text(absl::string_view key, absl::string_view text) {
    Key(key);
    Word(text);
  }
  void Texts(absl::string_view key, std::initializer_list<absl::string_view> texts) {
    Key(key);
    json_.StartArray();
    for (absl::string_view text : texts) Word(text);
    json_.EndArray();
  }

  void Property(const SettingInfo& info) {
    Key(info.name);
    json_.StartObject();
    Text("description", info.help);
    Key("default");
    const std::string fallback = Fallback(info);
    json_.RawValue(fallback.data(), fallback.size(), rapidjson::kStringType);
    Shape(info);
    json_.EndObject();
  }

  // A value is read from its text, so that a number or a switch may stand in quotes.
  void Shape(const SettingInfo& info) {
    if (!info.words.empty()) {
      Key("enum");
      json_.StartArray();
      for (absl::string_view word : info.words) Word(word);
      json_.EndArray();
      return;
    }
    if (info.kind == SettingInfo::Kind::kText) return Texts("type", {"string", "number", "boolean"});
    Key("anyOf");
    json_.StartArray();
    Alternatives(info);
    json_.EndArray();
  }

  void Alternatives(const SettingInfo& info) {
    switch (info.kind) {
      case SettingInfo::Kind::kText:
        return;
      case SettingInfo::Kind::kTexts:
        Type("string");
        json_.StartObject();
        Text("type", "array");
        Key("items");
        Type("string");
        json_.EndObject();
        return;
      case SettingInfo::Kind::kSwitch:
        Type("boolean");
        json_.StartObject();
        Key("enum");
        json_.StartArray();
        json_.Int(0);
        json_.Int(1);
        json_.EndArray();
        json_.EndObject();
        return Pattern(kSwitchPattern);
      case SettingInfo::Kind::kNumber:
        Integer(info);
        return Pattern(kNumberPattern);
      case SettingInfo::Kind::kBytes:
        Integer(info);
        return Pattern(kBytesPattern);
      case SettingInfo::Kind::kDuration:
        json_.StartObject();
        Key("const");
        json_.Int(0);
        json_.EndObject();
        return Pattern(kDurationPattern);
    }
  }

  void Type(absl::string_view type) {
    json_.StartObject();
    Text("type", type);
    json_.EndObject();
  }
  void Integer(const SettingInfo& info) {
    json_.StartObject();
    Text("type", "integer");
    Key("minimum");
    json_.Int64(info.min);
    Key("maximum");
    json_.Int64(info.max);
    json_.EndObject();
  }
  void Pattern(absl::string_view pattern) {
    json_.StartObject();
    Text("type", "string");
    Text("pattern", pattern);
    json_.EndObject();
  }

  rapidjson::StringBuffer buffer_;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json_;
};

}  // namespace

std::string SettingsSchema() { return SchemaWriter().Write(SettingsTable()); }

}  // namespace flightplan::service
