// gzip (RFC 1952), with a bound on what comes out.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace flightplan::service {

// Whether gzip is among the codings of an Accept-Encoding, "gzip;q=1.0, br", and not with weight 0.
bool TakesGzip(absl::string_view accepted);

// INVALID_ARGUMENT: not gzip, cut short, or with bytes behind its end; RESOURCE_EXHAUSTED: more than `max_bytes` come
// out. At most `max_bytes` and one block are held, whatever the ratio.
absl::StatusOr<std::string> Gunzip(absl::string_view bytes, size_t max_bytes);
std::string Gzip(absl::string_view bytes);

}  // namespace flightplan::service
