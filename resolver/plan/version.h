// Versions of libraries, compared like PEP 440 release numbers: 2.9 < 2.10.0, and 2.8.0rc1 < 2.8.0.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace flightplan {

struct Version {
  std::array<int, 4> parts = {0, 0, 0, 0};
  bool prerelease = false;  // a, b, rc, dev: before the release of the same number
  std::string text;

  // Reads "2.12.0", "v2.9", "2.8.0a0+5d2b"; empty when it does not start with a number.
  static std::optional<Version> Parse(absl::string_view text);
};

// Negative, zero or positive as a is older than, equal to or newer than b.
int Compare(const Version& a, const Version& b);
// True when `have` is known and at least `want` ("2.9.0").
bool AtLeast(const std::optional<Version>& have, absl::string_view want);

}  // namespace flightplan
