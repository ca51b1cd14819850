#include "service/evidence/report_limits.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/evidence.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "resolver/base/reason.h"
#include "resolver/normalize/violations.h"
#include "service/evidence/evidence_registry.h"
#include "service/evidence/evidence_snapshot.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct FieldSize {
  std::string path;
  size_t bytes = 0;
};

// Where most of a message is. Takes the message apart on the way.
FieldSize LargestField(Message* message) {
  const auto* reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  FieldSize largest;
  for (const FieldDescriptor* field : fields) {
    const size_t before = message->ByteSizeLong();
    FieldSize here{field->name(), 0};
    if (!field->is_repeated() && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const FieldSize inner = LargestField(reflection->MutableMessage(message, field));
      if (!inner.path.empty()) absl::StrAppend(&here.path, ".", inner.path);
    }
    reflection->ClearField(message, field);
    here.bytes = before - message->ByteSizeLong();
    if (here.bytes > largest.bytes) largest = here;
  }
  if (message->ByteSizeLong() > largest.bytes) return {"", message->ByteSizeLong()};  // fields that we do not know
  return largest;
}

// "25000 reports".
struct Limit {
  int64_t held = 0, most = 0;
  absl::string_view unit;
  bool reached() const { return held >= most; }
  std::string Text() const { return absl::StrCat(held, " of ", most, " ", unit); }
};

}  // namespace

absl::Status CheckReportSize(const v1::Measurement& report) {
  const size_t size = report.ByteSizeLong();
  if (size <= kMaxReportBytes) return absl::OkStatus();
  v1::Measurement parts = report;
  const FieldSize largest = LargestField(&parts);
  Violations violations;
  violations.Add(largest.path.empty() ? "measurement" : absl::StrCat("measurement.", largest.path),
                 absl::StrCat("has ", largest.bytes, " of the report's ", size, " bytes; a report has at most ",
                              kMaxReportBytes, ": send what the run was started with, and no more"));
  return violations.ToStatus();
}

absl::Status CheckRoom(const EvidenceSnapshot& evidence, const Reporter& reporter) {
  const auto limits = [](const EvidenceSnapshot::Held& held, int64_t share) {
    return std::vector<Limit>{{held.entries, kMaxMeasurements / share, "reports"},
                              {held.bytes, kMaxEvidenceBytes / share, "bytes"}};
  };
  for (const Limit& limit : limits(evidence.held(), 1)) {
    if (!limit.reached()) continue;
    return WithReason(absl::ResourceExhaustedError(
                          absl::StrCat("the store holds ", limit.Text(), "; flightplan evidence prune makes room")),
                      "EVIDENCE_FULL");
  }
  if (reporter.is_operator || reporter.tenant.empty()) return absl::OkStatus();
  for (const Limit& limit : limits(evidence.HeldBy(reporter.tenant), kTenantShare)) {
    if (!limit.reached()) continue;
    return OverQuota(
        reporter.tenant,
        absl::StrCat("it holds ", limit.Text(), ", its share of the evidence; an operator makes room with ",
                     "flightplan evidence prune --tenant ", reporter.tenant, " --older-than 4320h"));
  }
  return absl::OkStatus();
}

}  // namespace flightplan::service
