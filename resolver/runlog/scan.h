// Small steps through a line of output, shared by the readers of this room.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace flightplan {

// A step or a timer that took longer than a week is a misread line.
inline constexpr double kLongestMs = 7 * 24 * 3600 * 1e3;

// A number at the beginning of the text, after spaces: 12, 5444.9, 1.8E+00, nan. Takes it off. What follows it does not
// matter: lines of several ranks run into each other.
std::optional<double> TakeNumber(absl::string_view* text);
// The same for digits alone, below 2^53.
std::optional<int64_t> TakeInteger(absl::string_view* text);
// The number behind the first `name` in the text.
std::optional<double> NumberAfter(absl::string_view text, absl::string_view name);

// A line without what launchers and loggers put in front of it.
struct Tagged {
  absl::string_view tag;   // "12", "default3": whose line it is; empty: not said
  absl::string_view text;  // the program's own line
};
// Knows `12: ` of srun, `[default3]:` of torchrun, `[rank3]:`, `[1,3]<stdout>:` of mpirun, `job/0 ` of NeMo-Run and the
// time stamps of container logs.
Tagged WithoutTag(absl::string_view line);

}  // namespace flightplan
