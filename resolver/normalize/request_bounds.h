// What the numbers, names and texts of a request may be (each bound has a test at it and one above).
#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "resolver/normalize/violations.h"

namespace flightplan {

inline constexpr int64_t kMaxGpus = 1 << 20;
inline constexpr int64_t kMaxGpusPerNode = 1024;
inline constexpr int64_t kMaxSeqLength = 1 << 24;
inline constexpr int64_t kMaxParallelSize = 1 << 20;
inline constexpr int64_t kMaxBatchSize = 1 << 30;
inline constexpr int kMaxEnvVars = 1024;
// Of all variables together, names and values.
inline constexpr size_t kMaxEnvBytes = size_t{256} * 1024;
inline constexpr size_t kMaxNameBytes = 128;
// Of a variable's value, and of a pipeline layout.
inline constexpr size_t kMaxValueBytes = size_t{64} * 1024;

// Adds a violation if `value` is not within 1..high.
void CheckRange(absl::string_view field, int64_t value, int64_t high, Violations* violations);

}  // namespace flightplan
