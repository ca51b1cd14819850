#include "resolver/shell/launcher_flag.h"

#include "absl/strings/strip.h"

namespace flightplan {

std::optional<LauncherFlag> FindLauncherFlag(WordSpan words, std::initializer_list<absl::string_view> names) {
  for (size_t i = 0; i < words.size(); ++i) {
    for (const absl::string_view name : names) {
      absl::string_view text = words[i].value.text;
      if (!absl::ConsumePrefix(&text, name)) continue;
      if (absl::ConsumePrefix(&text, "=")) return LauncherFlag{text, &words[i].value};
      if (!text.empty() || i + 1 == words.size()) continue;
      const TracedText& next = words[i + 1].value;
      return LauncherFlag{next.text, &next};
    }
  }
  return std::nullopt;
}

}  // namespace flightplan
