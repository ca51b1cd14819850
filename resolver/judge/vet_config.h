// Every fix of a judgement, tried on the configuration as it was written before it is offered (pipeline/vet_fixes.h).
#pragma once

#include "resolver/judge/judge.h"
#include "resolver/plan/judge_question.h"

namespace flightplan {

// `judged`: of this question.
void VetFixes(const JudgeQuestion& question, JudgedConfig* judged);

}  // namespace flightplan
