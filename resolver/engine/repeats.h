// One fault that several places of a stack check is one finding.
#pragma once

#include <vector>

#include "resolver/plan/finding.h"

namespace flightplan {

// Drops what another finding says as well, whose fixes it leaves to that one. What is more certain than the other
// stays: call this when it is known which findings stand, in upstream's order.
void DropRepeats(std::vector<Finding>* findings);

}  // namespace flightplan
