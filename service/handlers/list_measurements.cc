#include "service/handlers/list_measurements.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/evidence_service.pb.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/violations.h"

namespace flightplan::service {
namespace {

constexpr int kDefaultPage = 100;
constexpr int kMaxPage = 1000;
// A page ends before it outgrows what a client takes.
constexpr size_t kMaxPageBytes = size_t{3} << 20;

absl::Status Fill(const EvidenceSnapshot::Entry& entry, v1::Measurement* out) {
  if (!out->ParseFromString(entry.content)) return absl::InternalError(absl::StrCat("stored measurement ", entry.id()));
  out->set_revision(entry.revision());
  return absl::OkStatus();
}

}  // namespace

absl::Status FindMeasurement(const EvidenceSnapshot& evidence, const v1::GetMeasurementRequest& request,
                             v1::Measurement* response) {
  const EvidenceSnapshot::Entry* entry = evidence.Find(request.id());
  if (entry != nullptr) return Fill(*entry, response);
  return WithReason(absl::NotFoundError(absl::StrCat("no measurement ", Utf8Prefix(request.id(), 128), " at revision ",
                                                     evidence.revision())),
                    "MEASUREMENT_UNKNOWN");
}

absl::Status PageOfMeasurements(const EvidenceSnapshot& evidence, const v1::ListMeasurementsRequest& request,
                                v1::ListMeasurementsResponse* response) {
  Violations violations;
  if (request.page_size() < 0 || request.page_size() > kMaxPage) {
    violations.Add("page_size", absl::StrCat("must be 0..", kMaxPage, ", not ", request.page_size()));
  }
  // The token is the revision of the last entry of the page before.
  int64_t after = request.has_after_revision() ? request.after_revision() : 0;
  if (after < 0) violations.Add("after_revision", "must not be negative");
  int64_t token = 0;
  if (!request.page_token().empty() && (!absl::SimpleAtoi(request.page_token(), &token) || token < 0)) {
    violations.Add("page_token", "is none of ours; pass on the next_page_token of the answer before");
  }
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  if (after > evidence.revision()) {
    return WithReason(absl::FailedPreconditionError(
                          absl::StrCat("revision ", after, " is not reached; this server has ", evidence.revision())),
                      "REVISION_BEHIND");
  }
  after = std::max(after, token);
  const int page = request.page_size() == 0 ? kDefaultPage : request.page_size();
  const auto& entries = evidence.entries();
  auto at = std::upper_bound(entries.begin(), entries.end(), after,
                             [](int64_t revision, const auto& entry) { return revision < entry->revision(); });
  size_t bytes = 0;
  for (; at != entries.end(); ++at) {
    const EvidenceSnapshot::Entry& entry = **at;
    if (!request.gpu().empty() && entry.report.run->gpu != request.gpu()) continue;
    if (!request.model().empty() && entry.report.run->model != request.model()) continue;
    if (response->measurements_size() == page || bytes > kMaxPageBytes) {
      response->set_next_page_token(absl::StrCat(response->measurements().rbegin()->revision()));
      break;
    }
    FLIGHTPLAN_RETURN_IF_ERROR(Fill(entry, response->add_measurements()));
    bytes += entry.content.size();
  }
  response->set_revision(evidence.revision());
  return absl::OkStatus();
}

}  // namespace flightplan::service
