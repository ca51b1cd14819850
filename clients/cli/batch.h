// `flightplan validate --batch`: a queue's worth of launch scripts, each judged as it would be alone.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "clients/cli/backend.h"
#include "clients/cli/request.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "service/doors/review.h"

namespace flightplan::cli {

inline constexpr size_t kMaxBatchFiles = 100'000;
inline constexpr size_t kBatchChunk = 1000;  // files read before they are asked about; the server's limit of a stream

// One file and what was said of it.
struct BatchItem {
  std::string path;
  doors::Review review;
  std::string fault = {};  // why the file could not be read; empty: it was
};

// Sorted and without repetitions, so that the output does not depend on the file system.
struct BatchFiles {
  std::vector<std::string> paths;
  std::set<std::string> named;  // of these, the files that the caller names; the others were found in folders
};

struct BatchTotals {
  size_t allowed = 0, warned = 0, refused = 0, not_judged = 0;
};
BatchTotals TotalsOf(const std::vector<BatchItem>& items);

// What is named: a script, a folder (its scripts and YAML files, at any depth, without hidden ones and without
// following links to folders), "@FILE" or "@-" (one path a line). Errors name the path.
absl::StatusOr<BatchFiles> BatchPaths(absl::Span<const std::string> named);

// Judges every file. `base`: target, machine, software and variables that hold for all, as `stack` says them; what a
// file says of itself goes under that. Without a target each launch's stack is recognised and its release taken from
// `releases`. A file that cannot be read or is no launch is "not judged". `progress` is told how many are done. Errors
// are those of the backend: no answer at all.
absl::Status ReviewBatch(const v1::ValidateConfigRequest& base, const StackOptions& stack,
                         absl::Span<const std::string> releases, const std::vector<std::string>& paths,
                         Backend& backend, const std::function<void(size_t done)>& progress,
                         std::vector<BatchItem>* items);

}  // namespace flightplan::cli
