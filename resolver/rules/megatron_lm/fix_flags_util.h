// A command line fills the config classes from flags, of which some have another name or meaning: a fix of a class's
// field has to be written as the flag.
#pragma once

#include <vector>

#include "resolver/plan/finding.h"
#include "resolver/rules/rule.h"

namespace flightplan {

void RedirectToFlags(const Facts& f, std::vector<Patch>* fixes);

}  // namespace flightplan
