// Evidence in one SQLite file, the embedded default: write-ahead log, every commit synced before it is acknowledged.
// Several processes of one machine may share the file; not over a network file system.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "resolver/evidence/store.h"
#include "service/evidence/if_missing.h"

namespace flightplan::service {

// Opens the file, or makes it (mode 0600); its folder must exist. The schema is brought up to date.
// FAILED_PRECONDITION: it is not there, and is not to be made.
absl::StatusOr<std::unique_ptr<EvidenceStore>> OpenSqliteEvidenceStore(const std::string& path,
                                                                       IfMissing missing = IfMissing::kMake);

}  // namespace flightplan::service
