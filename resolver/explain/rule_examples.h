// One example of each rule, from the tables beside the rules.
#pragma once

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flightplan {

// A configuration that fires the rule, and its nearest neighbour that does not.
struct RuleExample {
  absl::string_view id;
  absl::string_view fires;   // "megatron-lm, num_layers=4, env.te=2.9"
  absl::string_view passes;  // only what differs; empty where the table has none
  absl::string_view writes;  // of a change: "ffn_hidden_size=256"
};

absl::Span<const RuleExample> RuleExamples();  // by id
// Null: the tables have no example of the id.
const RuleExample* FindRuleExample(absl::string_view id);

}  // namespace flightplan
