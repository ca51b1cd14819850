// Variables of the environment that look like settings and are none.
#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"

namespace flightplan::service {

struct UnknownVariable {
  std::string name;     // "FLIGHTPLAN_LISTENN"
  std::string instead;  // "FLIGHTPLAN_LISTEN", or the flag where the environment has none; empty: nothing is near
};

// Of these names those that begin with FLIGHTPLAN_ and that nothing of Flightplan reads: not the server, its clients,
// nor the fronts of deploy/haproxy. Kubernetes sets some for each Service called flightplan; they count as known. In
// order of the alphabet.
std::vector<UnknownVariable> UnknownVariables(absl::Span<const std::string> names);

}  // namespace flightplan::service
