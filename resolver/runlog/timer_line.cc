#include "resolver/runlog/timer_line.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "resolver/runlog/scan.h"

namespace flightplan {
namespace {

double Plausible(std::optional<double> ms) {
  return ms.has_value() && std::isfinite(*ms) && *ms > 0 && *ms <= kLongestMs ? *ms : 0;
}

}  // namespace

double ReadOptimizerTimer(absl::string_view text, bool complete) {
  constexpr absl::string_view kName = "optimizer ";
  absl::string_view line = absl::StripLeadingAsciiWhitespace(text);
  if (absl::StartsWith(line, "time (ms) |")) {
    return complete ? Plausible(NumberAfter(line, "| optimizer:")) : 0;
  }
  if (!absl::ConsumePrefix(&line, kName) || !absl::StartsWith(line, "...")) return 0;
  line.remove_prefix(std::min(line.find_first_not_of('.'), line.size()));
  if (!absl::ConsumePrefix(&line, ": ")) return 0;
  if (!absl::ConsumePrefix(&line, "(")) return complete ? Plausible(TakeNumber(&line)) : 0;
  if (!TakeNumber(&line).has_value() || !absl::ConsumePrefix(&line, ",")) return 0;
  const std::optional<double> slowest = TakeNumber(&line);
  return absl::StartsWith(line, ")") ? Plausible(slowest) : 0;
}

}  // namespace flightplan
