// What the numbers, names and texts of a request may be (each bound has a test at it and one above).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_field.h"
#include "resolver/normalize/violations.h"

namespace flightplan {

inline constexpr int64_t kMaxGpus = 1 << 20;
inline constexpr int64_t kMaxGpusPerNode = 1024;
inline constexpr int64_t kMaxSeqLength = 1 << 24;
inline constexpr int64_t kMaxParallelSize = 1 << 20;
inline constexpr int64_t kMaxBatchSize = 1 << 30;
// Of variables, and of packages.
inline constexpr int kMaxEnvVars = 1024;
// Of all of them together, names and values.
inline constexpr size_t kMaxEnvBytes = size_t{256} * 1024;
inline constexpr size_t kMaxNameBytes = 128;
// Of a package's version, which may be an address, and of a file's path.
inline constexpr size_t kMaxVersionBytes = 1024, kMaxPathBytes = 4096;
// Of lists of names out of a short table, and of sentences that are kept and not read.
inline constexpr int kMaxChoices = 64, kMaxNotes = 4096;
inline constexpr size_t kMaxNotesBytes = size_t{256} * 1024;
// Of a variable's value, and of a pipeline layout.
inline constexpr size_t kMaxValueBytes = size_t{64} * 1024;

// Adds a violation if `value` is not within 1..high.
void CheckRange(absl::string_view field, int64_t value, int64_t high, Violations* violations);
// Of a text of `bytes`, or of a list of `entries`.
void CheckLength(absl::string_view field, size_t bytes, size_t most, Violations* violations);
void CheckCount(absl::string_view field, int entries, int most, Violations* violations);
void CheckNotes(absl::string_view field, const google::protobuf::RepeatedPtrField<std::string>& notes,
                Violations* violations);

}  // namespace flightplan
