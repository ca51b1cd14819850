// What `flightplan diff` prints.
#pragma once

#include <string>

#include "clients/cli/comparison.h"
#include "clients/cli/terminal.h"

namespace flightplan::cli {

// `all`: with the values that the stack derives, every note, and every reason.
std::string RenderDiffPage(const Side& a, const Side& b, const Comparison& comparison, bool all,
                           const Terminal& terminal);

// {"a": {"name", "target", "digest", "accepted_by_stack", "will_run", "fit", "verdict", "not_said"}, "b": {...},
//  "values": [{"name", "a", "b", "why_a", "why_b", "by_stack"}], unwritten values null, "written_once": [name],
//  "memory": {"unit": "bytes", "total": {"a", "b", "change"}, "parts": [{"name", "a", "b", "change"}]},
//  "time": {"unit": "us", ..., "step_ratio": {"value", "low", "high"}, "needs_ab"},
//  "findings": [{"in": "a"|"b", "finding": {...}}], "common_findings"}; memory and time null where not known.
std::string DiffJson(const Side& a, const Side& b, const Comparison& comparison);

}  // namespace flightplan::cli
