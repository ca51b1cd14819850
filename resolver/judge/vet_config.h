// Every fix of a judgement, tried on the configuration as it was written before it is offered (pipeline/vet_fixes.h).
#pragma once

#include "resolver/judge/judge.h"
#include "resolver/plan/intent.h"

namespace flightplan {

void VetFixes(View view, JudgedConfig* judged);

}  // namespace flightplan
