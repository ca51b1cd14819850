// What a case wants of the facts of an answer.
#pragma once

#include <string>
#include <vector>

#include "tests/conformance/conformance.pb.h"
#include "tests/conformance/cpp/facts.h"

namespace flightplan::conformance {

// One text for each condition that does not hold: "outcome: is OUTCOME_RESOLVED: got [OUTCOME_INFEASIBLE]".
std::vector<std::string> Violations(const google::protobuf::RepeatedPtrField<Check>& checks, const Facts& facts);

}  // namespace flightplan::conformance
