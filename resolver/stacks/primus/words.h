// Words of Primus' command line.
#pragma once

#include "absl/strings/string_view.h"

namespace flightplan {

// Whether the word gives the experiment's file: --config or --exp, alone or with "=FILE".
inline bool NamesExperiment(absl::string_view word) {
  const absl::string_view name = word.substr(0, word.find('='));
  return name == "--config" || name == "--exp";
}

}  // namespace flightplan
