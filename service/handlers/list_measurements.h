// GetMeasurement and ListMeasurements: pure functions of the snapshot.
#pragma once

#include "absl/status/status.h"
#include "resolver/evidence/snapshot.h"

namespace flightplan {

class CatalogAnswers;

namespace v1 {  // generated from proto/flightplan/v1
class GetMeasurementRequest;
class ListMeasurementsRequest;
class ListMeasurementsResponse;
class Measurement;
}  // namespace v1

namespace service {

// NOT_FOUND (MEASUREMENT_UNKNOWN).
absl::Status FindMeasurement(const EvidenceSnapshot& evidence, const v1::GetMeasurementRequest& request,
                             v1::Measurement* response);

// In the order of their revisions. Filters are names of the catalogue, or of what the evidence is of.
// FAILED_PRECONDITION (REVISION_BEHIND): after_revision is not reached yet.
absl::Status PageOfMeasurements(const CatalogAnswers& catalog, const EvidenceSnapshot& evidence,
                                const v1::ListMeasurementsRequest& request, v1::ListMeasurementsResponse* response);

}  // namespace service
}  // namespace flightplan
