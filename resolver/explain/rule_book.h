// The rule book as a page: what RULES.md in the repository is, generated from the records and their examples.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace flightplan {

// One row of a *.cases.yaml: a configuration that fires the rule, and its nearest neighbour that does not.
struct RuleExample {
  std::string id;
  std::string fires;
  std::string passes;  // only what differs; empty where the table has none
};

// `file` is a name for messages.
absl::StatusOr<std::vector<RuleExample>> ReadRuleExamples(absl::string_view file, absl::string_view text);

// Every rule once, by area and id, with the first of its examples. Same input, same bytes.
std::string RuleBook(const std::vector<RuleExample>& examples);

}  // namespace flightplan
