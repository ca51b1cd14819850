#include "tests/conformance/cpp/checks.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace flightplan::conformance {
namespace {

using Values = std::vector<std::string>;

bool Has(const Values& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool HasText(const Values& values, const std::string& text) {
  return std::any_of(values.begin(), values.end(), [&](const auto& value) { return absl::StrContains(value, text); });
}

bool HasRun(const Values& values, const google::protobuf::RepeatedPtrField<std::string>& run) {
  return std::search(values.begin(), values.end(), run.begin(), run.end()) != values.end();
}

// The one value as an integer.
bool Integer(const Values& values, int64_t* number) {
  return values.size() == 1 && absl::SimpleAtoi(values[0], number);
}

bool Holds(const Check& check, const Values& values) {
  int64_t number = 0;
  switch (check.condition_case()) {
    case Check::kIs:
      return values.size() == 1 && values[0] == check.is();
    case Check::kHas:
      return Has(values, check.has());
    case Check::kLacks:
      return !Has(values, check.lacks());
    case Check::kContains:
      return HasText(values, check.contains());
    case Check::kRun:
      return check.run().values_size() > 0 && HasRun(values, check.run().values());
    case Check::kAtLeast:
      return Integer(values, &number) && number >= check.at_least();
    case Check::kAtMost:
      return Integer(values, &number) && number <= check.at_most();
    case Check::kCount:
      return values.size() == static_cast<size_t>(check.count());
    case Check::CONDITION_NOT_SET:
      break;
  }
  return false;  // a case without a condition is a mistake in the case
}

}  // namespace

std::vector<std::string> Violations(const google::protobuf::RepeatedPtrField<Check>& checks, const Facts& facts) {
  std::vector<std::string> violations;
  for (const Check& check : checks) {
    const Values& values = facts.Values(check.fact());
    if (Holds(check, values)) continue;
    violations.push_back(absl::StrCat(check.ShortDebugString(), ": got [", absl::StrJoin(values, ", "), "]"));
  }
  return violations;
}

}  // namespace flightplan::conformance
