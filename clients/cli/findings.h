// Findings and silent changes as text, for resolve and validate alike.
#pragma once

#include <functional>
#include <string>

#include "clients/cli/terminal.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

// What a person types back: true, 8, a,b; "none" for None.
std::string ValueText(const v1::KnobValue& value);

// How the assignments of a fix are written where the person will mend them.
struct Spelling {
  std::function<std::string(const std::string& name, const v1::KnobValue& value)> knob;
  absl::string_view variable;  // goes before NAME=VALUE
};
// For resolve: --tp 4, --set recompute_method=uniform, --unset KNOB, --env NAME=VALUE.
Spelling FlagSpelling();

using Findings = google::protobuf::RepeatedPtrField<v1::Finding>;
using Changes = google::protobuf::RepeatedPtrField<v1::EffectiveChange>;
using Entries = google::protobuf::RepeatedPtrField<v1::ConfigEntry>;

// For validate: the target's own spelling, as the answer's config has it; for a knob that it lacks, by the knob table.
Spelling TargetSpelling(const Entries& config, absl::string_view target);

std::string FixText(const v1::Fix& fix, const Spelling& spelling);

// "2 errors, 1 warning, 3 silent changes"; "no findings".
std::string CountText(const Findings& findings, int silent_changes);
bool HasError(const Findings& findings);

// Errors and warnings in full; of the advice the first few, unless verbose, which also shows every source.
std::string FindingsText(const Findings& findings, const Spelling& spelling, bool verbose, const Terminal& terminal);

// What the stack changes without asking: the caller's own values first and always, the others only when verbose.
std::string ChangesText(const Changes& changes, bool verbose, const Terminal& terminal);

}  // namespace flightplan::cli
