#include "resolver/shell/model_script.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/work.h"

namespace flightplan {

std::string ModelScriptNamed(absl::string_view name) {
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_';
  });
  return plain ? absl::StrCat("scripts/models/", name, ".py") : "";
}

std::optional<std::string> FlagsOfModelScript(absl::string_view python) {
  Work::Spend(python.size());
  std::string flags;
  bool inside = false;
  for (absl::string_view line : absl::StrSplit(python, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!inside) {
      inside = line == "return (";
      continue;
    }
    if (line == ")") return flags;
    if (line.empty() || line[0] == '#') continue;
    const bool text = absl::ConsumePrefix(&line, "\"") && absl::ConsumeSuffix(&line, "\"");
    if (!text || line.find_first_of("\"\\") != absl::string_view::npos) return std::nullopt;
    flags.append(line.data(), line.size());
  }
  return std::nullopt;
}

}  // namespace flightplan
