// Evidence in PostgreSQL, for replicas that share it: they hear of each other's reports by LISTEN/NOTIFY.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "resolver/evidence/store.h"

namespace flightplan::service {

// `url`: postgresql://USER@HOST:PORT/DATABASE?sslmode=verify-full ...; the password comes from PGPASSFILE or
// PGPASSWORD. Brings the schema up to date. The role needs to own its tables, nothing more.
absl::StatusOr<std::unique_ptr<EvidenceStore>> OpenPostgresEvidenceStore(const std::string& url);

}  // namespace flightplan::service
