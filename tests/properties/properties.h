// What must hold for every golden case, whatever upstream said about it.
//
//   fixes        applying the first fix of every error finding and judging again removes the finding and brings no new
//                error of its area
//   again        judging the effective configuration of an accepted case again changes nothing and accepts it
//   short run    the run that only says whether there is an error says what the whole run says
//   round trip   what is written of an accepted case is read back as it was, on each target that can take it
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/golden/golden_case.h"

namespace flightplan::properties {

// One thing that does not hold. `subject` is a rule id (fixes), a rule id or knob (again), a knob (round trip).
struct Breach {
  std::string subject;
  std::string detail;
};

std::vector<Breach> CheckFixes(const golden::GoldenCase& golden);
std::vector<Breach> CheckAgain(const golden::GoldenCase& golden);
std::vector<Breach> CheckShortRun(const golden::GoldenCase& golden);
std::vector<Breach> CheckRoundTrip(const golden::GoldenCase& golden);

// Why upstream itself does not keep a property for this subject; empty where it must hold.
absl::string_view KnownReason(absl::string_view property, absl::string_view subject);

}  // namespace flightplan::properties
