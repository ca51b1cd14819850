// The rule book as a page: what RULES.md in the repository is, generated from the records and their examples.
#pragma once

#include <string>

namespace flightplan {

// Every rule once, by area and id, with the first of its examples. Same input, same bytes.
std::string RuleBook();

}  // namespace flightplan
