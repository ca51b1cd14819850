// Bridge copies its comm_overlap and mixed_precision sections over the other configs: a fix has to be written where it
// is not lost.
#pragma once

#include <vector>

#include "resolver/plan/config.h"
#include "resolver/plan/finding.h"

namespace flightplan {

void RedirectToBridgeSources(const Config& config, std::vector<Patch>* fixes);

}  // namespace flightplan
