// Parses --evidence_store, the location of the evidence.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resolver/evidence/store.h"
#include "service/evidence/if_missing.h"

namespace flightplan::service {

inline constexpr char kEvidenceFolder[] = "/var/lib/flightplan";

// OK: "off", "auto", "sqlite:/PATH" or "postgresql://..." .
absl::Status CheckEvidenceLocation(absl::string_view location);

// "auto" is the usual file where its folder exists and can be written, and "off" elsewhere; others as they are.
std::string ResolveEvidenceLocation(const std::string& location);

// Whether a password stands in it: in the user's part or among the parameters.
bool HasPassword(absl::string_view location);

// The same without a password or parameters, for logs and people.
std::string ShownEvidenceLocation(absl::string_view location);

// FAILED_PRECONDITION: this machine has no library for a store of this kind, so that waiting would not help.
absl::Status CanOpenEvidence(absl::string_view location);

// Not for "off". UNAVAILABLE, FAILED_PRECONDITION: see EvidenceStore and IfMissing.
absl::StatusOr<std::unique_ptr<EvidenceStore>> OpenEvidenceStore(const std::string& location,
                                                                 IfMissing missing = IfMissing::kMake);

}  // namespace flightplan::service
