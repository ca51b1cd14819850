#include "resolver/shell/launcher_flag.h"

#include "absl/strings/strip.h"

namespace flightplan {

std::optional<LauncherFlag> LauncherFlagAt(WordSpan words, absl::Span<const absl::string_view> names) {
  for (const absl::string_view name : names) {
    absl::string_view text = words[0].value.text;
    if (name.empty() || !absl::ConsumePrefix(&text, name)) continue;
    if (absl::ConsumePrefix(&text, "=")) return LauncherFlag{text, &words[0].value};
    if (!text.empty() || words.size() == 1) continue;
    const TracedText& next = words[1].value;
    return LauncherFlag{next.text, &next};
  }
  return std::nullopt;
}

std::optional<LauncherFlag> FindLauncherFlag(WordSpan words, std::initializer_list<absl::string_view> names) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (const std::optional<LauncherFlag> flag = LauncherFlagAt(words.subspan(i), names); flag.has_value()) return flag;
  }
  return std::nullopt;
}

}  // namespace flightplan
