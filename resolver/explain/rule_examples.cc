#include "resolver/explain/rule_examples.h"

#include <algorithm>

namespace flightplan {
namespace internal {

extern const RuleExample kRuleExamples[];  // generated
extern const int kRuleExampleCount;

}  // namespace internal

absl::Span<const RuleExample> RuleExamples() {
  return absl::MakeConstSpan(internal::kRuleExamples, static_cast<size_t>(internal::kRuleExampleCount));
}

const RuleExample* FindRuleExample(absl::string_view id) {
  const absl::Span<const RuleExample> all = RuleExamples();
  const auto found = std::lower_bound(all.begin(), all.end(), id,
                                      [](const RuleExample& row, absl::string_view wanted) { return row.id < wanted; });
  return found != all.end() && found->id == id ? &*found : nullptr;
}

}  // namespace flightplan
