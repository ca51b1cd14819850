#include "service/handlers/list_measurements.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/evidence_service.pb.h"
#include "flightplan/v1/hardware.pb.h"
#include "flightplan/v1/model.pb.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/explain/catalog_answers.h"
#include "resolver/normalize/violations.h"
#include "service/evidence/evidence_names.h"

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

// What the catalogue calls the one that a word names.
template <class Request, class Message>
absl::StatusOr<std::string> NameOf(absl::Status (CatalogAnswers::*get)(const Request&, Message*) const,
                                   const CatalogAnswers& catalog, const std::string& word) {
  Request request;
  request.set_name(word);
  Message message;
  FLIGHTPLAN_RETURN_IF_ERROR((catalog.*get)(request, &message));
  return message.name();
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

absl::Status PageOfMeasurements(const CatalogAnswers& catalog, const EvidenceSnapshot& evidence,
                                const v1::ListMeasurementsRequest& request, v1::ListMeasurementsResponse* response) {
  Violations violations;
  if (request.page_size() < 0) violations.Add("page_size", "must not be negative");
  const auto& entries = evidence.entries();
  const auto held = [&](std::string MeasuredRun::*name) {
    return [&entries, name](const std::string& word) {
      return std::any_of(entries.begin(), entries.end(),
                         [&](const auto& entry) { return *entry->report.run.*name == word; });
    };
  };
  const auto gpu =
      NameInEvidence(NameOf(&CatalogAnswers::GetGpu, catalog, request.gpu()), request.gpu(), held(&MeasuredRun::gpu));
  if (!gpu.ok()) violations.Add("gpu", gpu.status());
  const auto model = NameInEvidence(NameOf(&CatalogAnswers::GetModel, catalog, request.model()), request.model(),
                                    held(&MeasuredRun::model));
  if (!model.ok()) violations.Add("model", model.status());
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
  const int page = request.page_size() == 0 ? kDefaultPage : std::min(request.page_size(), kMaxPage);
  auto at = std::upper_bound(entries.begin(), entries.end(), after,
                             [](int64_t revision, const auto& entry) { return revision < entry->revision(); });
  size_t bytes = 0;
  for (; at != entries.end(); ++at) {
    const EvidenceSnapshot::Entry& entry = **at;
    if (!gpu->empty() && entry.report.run->gpu != *gpu) continue;
    if (!model->empty() && entry.report.run->model != *model) continue;
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
