// Limits the size of a report and the number of reports that a tenant may keep.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "resolver/evidence/snapshot.h"

namespace flightplan {
namespace v1 {
class Measurement;
}

namespace service {

// Who reports.
struct Reporter {
  std::string tenant;        // empty: no credentials are asked for
  bool is_operator = false;  // runs this service; what it says is not doubted
};

// INVALID_ARGUMENT names the field that is the largest, when the report is larger than kMaxReportBytes.
absl::Status CheckReportSize(const v1::Measurement& report);

// RESOURCE_EXHAUSTED: the store is full (EVIDENCE_FULL), or the reporter's tenant has its share (QUOTA_EXCEEDED).
absl::Status CheckRoom(const EvidenceSnapshot& evidence, const Reporter& reporter);

}  // namespace service
}  // namespace flightplan
