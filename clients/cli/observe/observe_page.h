// What `flightplan observe` prints: for a person, and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clients/cli/observe/next_knob.h"
#include "clients/cli/observe/observation.h"
#include "clients/cli/terminal.h"

namespace flightplan::cli {

struct ObservePage {
  const Observation& observation;
  std::string input;   // what was read: "run.log", "logs/ (12 files)"
  std::string launch;  // what it is compared with: "pretrain.sh", "the arguments that it printed"; empty: nothing
  std::optional<NextKnob> next;
  std::string why_no_next;          // empty where there is one, or nothing was compared
  std::vector<std::string> faults;  // of the files
  bool verbose = false;
};

std::string RenderObservePage(const ObservePage& page, const Terminal& terminal);

// One object; its fields are those of README.md, "The run itself". A field that is not known is left out.
std::string RenderObserveJson(const ObservePage& page);

}  // namespace flightplan::cli
