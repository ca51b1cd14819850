// What an answer about one launch of a script says of the others.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/reading.h"
#include "resolver/shell/launches.h"

namespace flightplan {

// A launch, and what became of it.
struct ToldLaunch {
  const LaunchCommand* command = nullptr;
  int number = 0;       // among the script's, from 1
  std::string outcome;  // "accepted", "refused by the stack, 2 errors": those with the same are told together
  std::string first;    // what the first error has seen; empty: there is none
  std::string needs;    // and what it needs
  bool judged = true;
  bool refused = false;      // or not judged
  std::set<int> knob_words;  // of its words those that set a knob
};

// One finding for each outcome. `all`: how many launches there are.
std::vector<ParseFinding> TellLaunches(absl::Span<const ToldLaunch> others, const ToldLaunch& judged, int all);

// What a launch has that the other one has not: "--lr 1e-4", "without --sequence-parallel"; empty: nothing. Knobs come
// before paths and names.
std::string DifferenceOf(const ToldLaunch& launch, const ToldLaunch& from);

}  // namespace flightplan
