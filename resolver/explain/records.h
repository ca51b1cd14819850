// The ids of answers that are no rule of a stack: what is decided, and what the search, the evidence and the probe
// find.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/finding.h"

namespace flightplan {

struct Record {
  absl::string_view id;     // "decide.ep-overlap"
  absl::string_view area;   // as of rules: "overlap"
  absl::string_view kind;   // "decision", "error", "warning", "info"
  absl::string_view stage;  // "decide", "plan", "estimate"
  Verdict verdict;
  absl::string_view reads;          // knobs and environment variables that it sets or looks at, separated by spaces
  absl::string_view text;           // of a decision: what is chosen, and by what; else what must hold
  absl::string_view source;         // where that comes from
  absl::string_view formerly = "";  // an id that it had, which answers and logs of old name
};

absl::Span<const Record> Records();  // by id
// Null: no record has the id.
const Record* FindRecord(absl::string_view id);
// The id that a rule or record has today which had this one formerly; any other id as it is.
absl::string_view PresentId(absl::string_view id);

}  // namespace flightplan
