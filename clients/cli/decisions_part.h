// What was decided, and why.
#pragma once

#include <string>
#include <vector>

#include "clients/cli/terminal.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

// Open questions first, then knobs that had another candidate, then those that evidence or an estimate chose, the other
// knobs, the variables; the caller's own words last, for she knows them. Within a rank the resolver's order, by topic.
std::vector<const v1::Decision*> ByImportance(const v1::ResolveConfigResponse& response);

// `all`: else the most important ones, each cut to a few lines. `verbose`: with the other candidates and the citations.
std::string DecisionsPart(const v1::ResolveConfigResponse& response, bool all, bool verbose, const Terminal& terminal);

}  // namespace flightplan::cli
