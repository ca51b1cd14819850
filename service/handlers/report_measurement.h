// ReportMeasurement: checked, weighed and stored on the registry's writer, so that no poller waits for a disk.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "service/backend/resolver_backend.h"
#include "service/call/call.h"
#include "service/evidence/evidence_registry.h"
#include "service/evidence/evidence_snapshot.h"
#include "service/evidence/report_limits.h"

namespace flightplan {
namespace v1 {
class Measurement;
}

namespace service {

// The record of a report: names as the catalogue has them, what the server adds, and whether it is to be believed.
// INVALID_ARGUMENT: see CheckReportSize and Resolver::ReadMeasurement. RESOURCE_EXHAUSTED: see CheckRoom.
absl::StatusOr<EvidenceRecord> RecordOf(v1::Measurement report, const Reporter& reporter, absl::Time now,
                                        const MeasurementReader& reader, const EvidenceSnapshot& evidence);

// The record of an exported measurement, as it was: with its tenant, its trust and the time it was received. What has
// none of these is an operator's own report of now.
absl::StatusOr<EvidenceRecord> RecordOfExport(v1::Measurement measurement, absl::Time now,
                                              const MeasurementReader& reader);

grpc::ServerUnaryReactor* HandleReportMeasurement(const Edge& edge, const Metrics::Method& method,
                                                  const ResolverBackend* backend, EvidenceRegistry* registry,
                                                  grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response);

}  // namespace service
}  // namespace flightplan
