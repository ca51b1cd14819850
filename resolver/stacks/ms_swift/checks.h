// What ms-swift checks of its own arguments before Megatron-Core sees them.
#pragma once

#include "resolver/plan/reading.h"
#include "resolver/stacks/ms_swift/words.h"

namespace flightplan {

// Adds findings of the rules in rules/ms_swift/arguments.cc.
void CheckMsSwift(const SwiftWords& words, ParseResult* out);

}  // namespace flightplan
