// One fault that several places of a stack check is one finding.
#pragma once

#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/finding.h"

namespace flightplan {

// Whether `rule` says of a configuration what `other` says of it too.
bool Repeats(absl::string_view rule, absl::string_view other);

// Drops what another finding says as well, whose fixes it leaves to that one. What is more certain than the other
// stays: call this when it is known which findings stand, in upstream's order.
void DropRepeats(std::vector<Finding>* findings);

}  // namespace flightplan
