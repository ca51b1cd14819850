// What `flightplan validate` prints for a person.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "clients/cli/terminal.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

// The two verdicts, kept apart: what the stack's own code says, and what happens after it.
struct Verdict {
  absl::string_view stack;  // "rejected by the stack"
  Style stack_style = Style::kPlain;
  absl::string_view later;  // "will run"; empty: nothing is said of it
  Style later_style = Style::kPlain;
};
Verdict VerdictOf(bool accepted, bool will_run, v1::Completeness completeness, v1::FitVerdict fit);

// `input`: what was judged, "pretrain.sh", "arguments", "knobs".
std::string RenderValidatePage(const std::string& input, const v1::ValidateConfigResponse& response, bool verbose,
                               const Terminal& terminal);

}  // namespace flightplan::cli
