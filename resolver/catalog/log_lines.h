// How a run shows that a feature is on: lines of its log, or, where upstream prints nothing, marks in a trace.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flightplan {

struct LogLine {
  // kLog: printed where it is on; kUndone: printed where the stack took it back; kTrace: nothing is printed.
  enum class Kind : uint8_t { kLog, kUndone, kTrace };
  Kind kind = Kind::kLog;
  absl::string_view knob;
  absl::string_view value;  // of the feature; empty: any that is on
  absl::string_view stack;  // whose code it is; empty: every stack's
  absl::string_view text;
  absl::string_view source;
};
absl::Span<const LogLine> LogLines();  // log_lines.yaml

}  // namespace flightplan
