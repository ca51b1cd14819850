#include "resolver/shell/runtime_env.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rapidjson/document.h"
#include "resolver/base/json.h"
#include "resolver/base/work.h"

namespace flightplan {
namespace {

constexpr absl::string_view kFlag = "--runtime-env-json";

constexpr absl::string_view kUnknown = "$";
constexpr size_t kJsonByteCosts = 16;  // in units of base/work.h: the parser counts nothing

// With a mark in place of what only a run would know, whose spelling may be no JSON.
std::string Known(const TracedText& word, size_t begin) {
  std::string text;
  for (const TracedText::Part& part : word.unknown_parts) {
    if (part.begin < begin) continue;
    absl::StrAppend(&text, word.text.substr(begin, part.begin - begin), kUnknown);
    begin = part.end;
  }
  return absl::StrCat(text, word.text.substr(begin));
}

std::optional<std::string> ValueOf(absl::Span<const ShellWord> words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const absl::string_view text = words[i].value.text;
    if (absl::StartsWith(text, absl::StrCat(kFlag, "="))) return Known(words[i].value, kFlag.size() + 1);
    if (text == kFlag && i + 1 < words.size()) return Known(words[i + 1].value, 0);
  }
  return std::nullopt;
}

}  // namespace

std::optional<EnvVars> ReadRuntimeEnv(absl::Span<const ShellWord> launcher) {
  EnvVars vars;
  const std::optional<std::string> text = ValueOf(launcher);
  if (!text.has_value()) return vars;
  Work::Spend(kJsonByteCosts * text->size());
  rapidjson::Document document;
  if (ReadJson(*text, JsonNumbers::kFinite, &document).has_value() || !document.IsObject()) return std::nullopt;
  const auto env = document.FindMember("env_vars");
  if (env == document.MemberEnd()) return vars;
  if (!env->value.IsObject()) return std::nullopt;
  for (const auto& member : env->value.GetObject()) {
    Work::Spend(2 * kShellVariableCosts);  // as a value of JSON, and in the map
    if (Work::Spent()) break;
    if (!member.value.IsString() || absl::StrContains(member.value.GetString(), kUnknown)) continue;
    vars.insert_or_assign(member.name.GetString(), member.value.GetString());
  }
  return vars;
}

}  // namespace flightplan
