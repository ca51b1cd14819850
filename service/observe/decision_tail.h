// The end of a decision log, read back: what was decided of late. Only fields that say who asked, when, what for and
// what came of it are taken; neither requests nor names of objects and users.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace flightplan {
namespace v1 {  // generated from proto/flightplan/v1
class SummarizeDecisionsRequest;
class SummarizeDecisionsResponse;
}  // namespace v1

namespace service {

// Bytes of a log that one call reads at most.
inline constexpr size_t kMaxTailBytes = size_t{8} << 20;

// Reads at most `max_bytes` of the end of the file at `path`. INVALID_ARGUMENT: a field out of range.
// FAILED_PRECONDITION: the file cannot be read. CANCELLED: the budget of work is spent (base/work.h).
absl::Status SummarizeDecisions(const std::string& path, const v1::SummarizeDecisionsRequest& request,
                                v1::SummarizeDecisionsResponse* response, size_t max_bytes = kMaxTailBytes);

}  // namespace service
}  // namespace flightplan
