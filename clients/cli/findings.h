// Findings and silent changes as text, for resolve and validate alike.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "clients/cli/terminal.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "service/doors/spelling.h"

namespace flightplan::cli {

using doors::Entries;
using doors::Findings;
using doors::FixText;
using doors::Spelling;
using doors::TargetSpelling;
using doors::ValueText;
using Changes = google::protobuf::RepeatedPtrField<v1::EffectiveChange>;

// For resolve: --tp 4, --set recompute_method=uniform, --unset KNOB, --env NAME=VALUE; behind the words of the
// question. `config`: the answer's, which shows what the question says.
Spelling FlagSpelling(const Entries& config);

// "2 errors, 1 warning, 3 silent changes"; "no findings".
std::string CountText(const Findings& findings, int silent_changes);
bool HasError(const Findings& findings);

// Says whose rates a forecast rests on where nobody measured these GPUs.
inline constexpr absl::string_view kRecordedProfile = "evidence.recorded-profile";
// "GPU rates of a recorded H100 80GB HBM3, driver 580.159.04"; empty: the catalogue's, or the caller's own.
std::string RecordedRates(const Findings& findings);

// Errors and warnings in full; of the advice the first few, unless verbose, which also shows every source.
std::string FindingsText(const Findings& findings, const Spelling& spelling, bool verbose, const Terminal& terminal);

// What the stack changes without asking: the caller's own values first and always, the others only when verbose.
std::string ChangesText(const Changes& changes, bool verbose, const Terminal& terminal);

}  // namespace flightplan::cli
