// Names too many to stand in a completion script, and those that a release adds: `flightplan completion --list NAME`
// prints them when they are asked for.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/backend.h"

namespace flightplan::cli {

inline constexpr absl::string_view kModelNames = "models";
inline constexpr absl::string_view kGpuNames = "gpus";
inline constexpr absl::string_view kKnobNames = "knobs";
inline constexpr absl::string_view kKnobSettings = "settings";  // KNOB=VALUE; KNOB= where any value may follow
inline constexpr absl::string_view kRuleIds = "rules";
inline constexpr absl::string_view kRuleAreas = "areas";
inline constexpr absl::string_view kRulesAndKnobs = "explained";

// The lists by name.
std::vector<absl::string_view> NameLists();

// The names of one of them, each once, sorted. Errors are those of the backend.
absl::StatusOr<std::vector<std::string>> NamesOf(absl::string_view list, Backend& backend);

}  // namespace flightplan::cli
