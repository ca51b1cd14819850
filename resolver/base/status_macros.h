// Early return on a bad Status. Debian's Abseil 20220623 carries no such macros.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define FLIGHTPLAN_RETURN_IF_ERROR(expr)                              \
  do {                                                                \
    if (absl::Status status_ = (expr); !status_.ok()) return status_; \
  } while (false)

#define FLIGHTPLAN_CONCAT_INNER(a, b) a##b
#define FLIGHTPLAN_CONCAT(a, b) FLIGHTPLAN_CONCAT_INNER(a, b)

// `lhs` may declare a variable, so it cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define FLIGHTPLAN_ASSIGN_OR_RETURN(lhs, expr) \
  FLIGHTPLAN_ASSIGN_OR_RETURN_IMPL(FLIGHTPLAN_CONCAT(status_or_, __LINE__), lhs, expr)
#define FLIGHTPLAN_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                                     \
  if (!tmp.ok()) return std::move(tmp).status();         \
  lhs = *std::move(tmp)
// NOLINTEND(bugprone-macro-parentheses)
