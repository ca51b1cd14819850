#include "service/handlers/report_measurement.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "flightplan/v1/evidence_service.pb.h"
#include "resolver/base/digest.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "resolver/evidence/plausible.h"
#include "resolver/normalize/canonical_bytes.h"
#include "resolver/normalize/violations.h"
#include "service/wire/raw_message.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

void ClearWhatTheServerAdds(v1::Measurement* report) {
  report->clear_tenant();
  report->clear_trust();
  report->clear_trust_reason();
  report->clear_revision();
  report->clear_receive_time();
}

// Of what was reported, with the names as they were written. Two tenants that say the same say it independently: whose
// it is belongs to the content.
std::string DigestOf(const v1::Measurement& report, const std::string& tenant) {
  return Sha256Hex(absl::StrCat(CanonicalBytes(report), tenant));
}

void SetReceiveTime(absl::Time now, v1::Measurement* report) {
  const int64_t us = absl::ToUnixMicros(now);
  report->mutable_receive_time()->set_seconds(us / 1'000'000);
  report->mutable_receive_time()->set_nanos(static_cast<int32_t>(us % 1'000'000) * 1000);
}

EvidenceRecord Finished(const v1::Measurement& report, const std::string& digest, const Measurement& read) {
  EvidenceRecord record;
  record.id = report.id();
  record.digest = digest;
  record.gpu = read.run->gpu;
  record.model = read.run->model;
  record.metric = report.metric();
  record.tenant = report.tenant();
  record.received_us = report.receive_time().seconds() * 1'000'000 + report.receive_time().nanos() / 1000;
  record.content = CanonicalBytes(report);
  return record;
}

absl::Status Conflict(const std::string& id) {
  return WithReason(absl::AlreadyExistsError(absl::StrCat("measurement ", id, " is there with another content; ",
                                                          "measurements are never changed, report it under a new id")),
                    "EVIDENCE_CONFLICT");
}

absl::Status Respond(const absl::StatusOr<std::pair<EvidenceRecord, AddOutcome>>& stored,
                     const EvidenceSnapshot& evidence, grpc::ByteBuffer* buffer) {
  if (!stored.ok()) return stored.status();
  const auto& [record, outcome] = *stored;
  if (outcome.result == AddResult::kConflict) return Conflict(record.id);
  v1::ReportMeasurementResponse response;
  response.set_revision(outcome.revision);
  // Reported before: as it was stored then.
  const EvidenceSnapshot::Entry* entry = evidence.Find(record.id);
  const std::string& content = entry == nullptr ? record.content : entry->content;
  if (!response.mutable_measurement()->ParseFromString(content)) return absl::InternalError("stored measurement");
  response.mutable_measurement()->set_revision(outcome.revision);
  *buffer = BufferOf(response);
  return absl::OkStatus();
}

absl::Status Parse(const grpc::ByteBuffer& buffer, v1::ReportMeasurementRequest* request) {
  const RequestBytes bytes(buffer);
  if (!request->ParseFromArray(bytes.view().data(), static_cast<int>(bytes.view().size()))) {
    return MalformedRequest(request->GetTypeName());
  }
  return absl::OkStatus();
}

// Before it is queued, where a thousand reports may wait.
absl::Status CheckSize(const grpc::ByteBuffer& buffer) {
  if (buffer.Length() <= kMaxReportBytes) return absl::OkStatus();
  v1::ReportMeasurementRequest request;
  FLIGHTPLAN_RETURN_IF_ERROR(Parse(buffer, &request));
  request.DiscardUnknownFields();
  ClearWhatTheServerAdds(request.mutable_measurement());
  FLIGHTPLAN_RETURN_IF_ERROR(CheckReportSize(request.measurement()));
  // What is too much is what nobody reads.
  Violations violations;
  if (buffer.Length() > 2 * kMaxReportBytes) {
    violations.Add("measurement", absl::StrCat("fills ", buffer.Length(), " bytes as it is encoded, ",
                                               request.measurement().ByteSizeLong(), " of them with its fields"));
  }
  return violations.ToStatus();
}

absl::StatusOr<EvidenceRecord> Prepare(const Call& call, const grpc::ByteBuffer& request_buffer,
                                       const Reporter& reporter, const ResolverBackend& backend,
                                       const EvidenceSnapshot& evidence) {
  FLIGHTPLAN_RETURN_IF_ERROR(call.CheckTime());  // it may have waited
  v1::ReportMeasurementRequest request;
  FLIGHTPLAN_RETURN_IF_ERROR(Parse(request_buffer, &request));
  const auto reader = [&](const v1::Measurement& message, std::optional<int64_t> now_us) {
    return backend.ReadMeasurement(message, now_us);
  };
  return RecordOf(std::move(*request.mutable_measurement()), reporter, absl::Now(), reader, evidence);
}

}  // namespace

absl::StatusOr<EvidenceRecord> RecordOf(v1::Measurement report, const Reporter& reporter, absl::Time now,
                                        const MeasurementReader& reader, const EvidenceSnapshot& evidence) {
  ClearWhatTheServerAdds(&report);
  FLIGHTPLAN_RETURN_IF_ERROR(CheckReportSize(report));
  FLIGHTPLAN_ASSIGN_OR_RETURN(Measurement read, reader(report, absl::ToUnixMicros(now)));
  if (evidence.Find(report.id()) == nullptr) FLIGHTPLAN_RETURN_IF_ERROR(CheckRoom(evidence, reporter));
  const std::string digest = DigestOf(report, reporter.tenant);
  read.tenant = reporter.tenant;
  const std::string doubt = reporter.is_operator ? std::string() : ImplausibleBecause(read, evidence);
  report.set_tenant(reporter.tenant);
  report.set_trust(reporter.is_operator ? "operator" : doubt.empty() ? "tenant" : "quarantined");
  report.set_trust_reason(doubt);
  SetReceiveTime(now, &report);
  return Finished(report, digest, read);
}

absl::StatusOr<EvidenceRecord> RecordOfExport(v1::Measurement measurement, absl::Time now,
                                              const MeasurementReader& reader) {
  if (measurement.trust().empty()) measurement.set_trust("operator");
  if (!measurement.has_receive_time()) SetReceiveTime(now, &measurement);
  v1::Measurement report = measurement;
  ClearWhatTheServerAdds(&report);
  FLIGHTPLAN_RETURN_IF_ERROR(CheckReportSize(report));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const Measurement read, reader(measurement, absl::ToUnixMicros(now)));
  const std::string digest = DigestOf(report, measurement.tenant());
  measurement.clear_revision();
  return Finished(measurement, digest, read);
}

grpc::ServerUnaryReactor* HandleReportMeasurement(const Edge& edge, const Metrics::Method& method,
                                                  const ResolverBackend* backend, EvidenceRegistry* registry,
                                                  grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* response) {
  auto* unary = new UnaryCall(edge, method, context, response);
  grpc::ServerUnaryReactor* const reactor = unary->reactor();
  Call& call = unary->call();
  absl::Status refused = call.Admit(Gated::kYes);
  if (refused.ok()) call.CountReceived();
  if (refused.ok() && registry == nullptr) {
    refused = WithReason(
        absl::FailedPreconditionError("this server keeps no evidence; it runs with --evidence_store=off"), "STORE_OFF");
  }
  if (refused.ok()) refused = CheckSize(*request);
  if (!refused.ok()) {
    unary->End(refused);
    return reactor;
  }
  const Reporter reporter{std::string(call.tenant()), call.by_operator()};
  // What waits for the store is bounded by the store's queue: a stuck store takes no places of other calls.
  call.LeaveGate();
  // The call lives until it ends, which is what `done` does.
  registry->Report(
      call.tenant(),
      [&call, request = *request, reporter, backend](const EvidenceSnapshot& evidence) {
        return Prepare(call, request, reporter, *backend, evidence);
      },
      [unary, registry, response](const absl::StatusOr<std::pair<EvidenceRecord, AddOutcome>>& stored) {
        unary->End(Respond(stored, *registry->Current(), response));
      });
  return reactor;
}

}  // namespace flightplan::service
