// Python's + and * of lists, of at most kMaxListItems items. Internal to the readers of expressions.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "resolver/plan/value.h"

namespace flightplan {

absl::StatusOr<Value> JoinedLists(const Value& a, const Value& b);
absl::StatusOr<Value> RepeatedList(const Value& list, int64_t times);

}  // namespace flightplan
