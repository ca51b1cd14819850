// What a fix has to take along so that it does not bring the next fault: older spellings that upstream would migrate
// over it, and knobs that only mean something beside the value that it removes.
#pragma once

#include <vector>

#include "resolver/plan/finding.h"
#include "resolver/rules/rule.h"

namespace flightplan {

void CompleteFixes(const Facts& f, std::vector<Patch>* fixes);

}  // namespace flightplan
