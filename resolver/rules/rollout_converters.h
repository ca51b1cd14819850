// Which models slime and its forks hand to their rollout engines: by parts of the name of the model's configuration.
#pragma once

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flightplan {

// Whether the model's type, which is that name, has none of these parts, which are in lower case and without "_" and
// "-". An unknown type has a converter.
inline bool HasNoRolloutConverter(absl::string_view model_type, absl::Span<const absl::string_view> families) {
  const std::string name = absl::StrReplaceAll(model_type, {{"_", ""}, {"-", ""}});
  return !name.empty() && std::none_of(families.begin(), families.end(),
                                       [&name](absl::string_view family) { return absl::StrContains(name, family); });
}

}  // namespace flightplan
