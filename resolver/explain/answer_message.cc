#include "resolver/explain/answer_message.h"

#include <string>
#include <utility>

#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/wire_writer.h"
#include "resolver/normalize/canonical_bytes.h"

namespace flightplan {
namespace {

Severity SeverityOf(v1::Severity severity) {
  switch (severity) {
    case v1::SEVERITY_WARNING:
      return Severity::kWarning;
    case v1::SEVERITY_INFO:
      return Severity::kInfo;
    case v1::SEVERITY_ERROR:
    case v1::SEVERITY_UNSPECIFIED:
    case v1::Severity_INT_MIN_SENTINEL_DO_NOT_USE_:
    case v1::Severity_INT_MAX_SENTINEL_DO_NOT_USE_:
      break;
  }
  return Severity::kError;
}

template <class Response>
ConfigAnswer From(const Response& response) {
  ConfigAnswer answer;
  const std::string bytes = CanonicalBytes(response);
  WireWriter fields(bytes.size());
  fields.PutEncoded(bytes);
  answer.bytes = std::move(fields).Take();
  answer.accepted_by_stack = response.accepted_by_stack();
  answer.will_run = response.will_run();
  for (const v1::Finding& finding : response.findings()) {
    answer.findings.push_back({finding.rule_id(), SeverityOf(finding.severity())});
  }
  answer.digest = response.digest();
  answer.catalog_revision = response.catalog_revision();
  answer.target = response.target();
  return answer;
}

}  // namespace

ConfigAnswer AnswerOf(const v1::ResolveConfigResponse& response) {
  ConfigAnswer answer = From(response);
  answer.will_run = response.outcome() == v1::OUTCOME_RESOLVED;
  return answer;
}

ConfigAnswer AnswerOf(const v1::ValidateConfigResponse& response) { return From(response); }

absl::Status ReadAnswer(const ConfigAnswer& answer, google::protobuf::MessageLite* response) {
  if (response->ParseFromArray(answer.bytes.data(), static_cast<int>(answer.bytes.size()))) return absl::OkStatus();
  return absl::InternalError("the answer's bytes are no " + response->GetTypeName());
}

}  // namespace flightplan
