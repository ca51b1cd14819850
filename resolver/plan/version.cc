#include "resolver/plan/version.h"

#include <cctype>

#include "absl/strings/strip.h"

namespace flightplan {

std::optional<Version> Version::Parse(absl::string_view text) {
  Version version;
  version.text = std::string(text);
  absl::ConsumePrefix(&text, "v");
  size_t at = 0;
  size_t part = 0;
  while (part < version.parts.size() && at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]))) {
    int number = 0;
    while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at]))) {
      if (number > 100'000'000) return std::nullopt;
      number = number * 10 + (text[at++] - '0');
    }
    version.parts[part++] = number;
    if (at >= text.size() || text[at] != '.') break;
    ++at;
  }
  if (part == 0) return std::nullopt;
  const absl::string_view rest = text.substr(at);
  version.prerelease = !rest.empty() && (rest[0] == 'a' || rest[0] == 'b' || rest[0] == 'r' || rest[0] == 'd');
  return version;
}

int Compare(const Version& a, const Version& b) {
  for (size_t i = 0; i < a.parts.size(); ++i) {
    if (a.parts[i] != b.parts[i]) return a.parts[i] < b.parts[i] ? -1 : 1;
  }
  if (a.prerelease != b.prerelease) return a.prerelease ? -1 : 1;
  return 0;
}

bool AtLeast(const std::optional<Version>& have, absl::string_view want) {
  if (!have.has_value()) return false;
  const std::optional<Version> wanted = Version::Parse(want);
  return wanted.has_value() && Compare(*have, *wanted) >= 0;
}

}  // namespace flightplan
