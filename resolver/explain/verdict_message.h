// Which of the two verdicts a rule speaks to, as a message.
#pragma once

#include "flightplan/v1/finding.pb.h"
#include "resolver/plan/finding.h"

namespace flightplan {

v1::VerdictKind ToMessage(Verdict verdict);

}  // namespace flightplan
