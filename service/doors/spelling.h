// Spells a fix the way the user would type it in the launch.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::doors {

using Findings = google::protobuf::RepeatedPtrField<v1::Finding>;
using Entries = google::protobuf::RepeatedPtrField<v1::ConfigEntry>;

// What a person types back: true, 8, a,b; "none" for None.
std::string ValueText(const v1::KnobValue& value);

// How the assignments of a fix are written where the person will mend them.
struct Spelling {
  std::function<std::string(const std::string& name, const v1::KnobValue& value)> knob;
  absl::string_view variable;  // goes before NAME=VALUE
};

// The target's own spelling, as the answer's config has it; for a knob that it lacks, by the knob table. `target` is
// the answer's: "megatron-lm main".
Spelling TargetSpelling(const Entries& config, absl::string_view target);

std::string FixText(const v1::Fix& fix, const Spelling& spelling);
// Of the first `limit` fixes that differ: what differs only in a value that is there already is written alike.
std::vector<std::string> FixTexts(const google::protobuf::RepeatedPtrField<v1::Fix>& fixes, const Spelling& spelling,
                                  size_t limit);
// The same of a step of a repair, which may be one of the text itself.
std::string StepText(const v1::RepairStep& step, const Spelling& spelling);

}  // namespace flightplan::doors
