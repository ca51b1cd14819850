#include "service/wire/status_mapping.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/base/reason.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/violations.h"
#include "resolver/resolver.h"

namespace flightplan::service {
namespace {

constexpr absl::string_view kTypePrefix = "type.googleapis.com/google.rpc.";

bool IsOurFault(absl::StatusCode code) {
  return code == absl::StatusCode::kInternal || code == absl::StatusCode::kUnknown ||
         code == absl::StatusCode::kDataLoss;
}

// What a code means when nothing more precise was said.
absl::string_view DefaultReason(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return "REQUEST_INVALID";
    case absl::StatusCode::kNotFound:
      return "NAME_UNKNOWN";
    case absl::StatusCode::kFailedPrecondition:
      return "PRECONDITION_FAILED";
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return "EVIDENCE_CONFLICT";
    case absl::StatusCode::kUnauthenticated:
      return "TOKEN_INVALID";
    case absl::StatusCode::kPermissionDenied:
      return "ROLE_MISSING";
    case absl::StatusCode::kResourceExhausted:
      return "OVERLOADED";
    case absl::StatusCode::kUnavailable:
      return "DRAINING";
    case absl::StatusCode::kUnimplemented:
      return "NOT_BUILT";
    case absl::StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case absl::StatusCode::kCancelled:
      return "CANCELLED";
    case absl::StatusCode::kOk:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
    case absl::StatusCode::kDoNotUseReservedForFutureExpansionUseDefaultInSwitchInstead_:
      break;
  }
  return "INTERNAL";
}

google::rpc::ErrorInfo ErrorInfoOf(const absl::Status& status, absl::string_view request_id) {
  google::rpc::ErrorInfo info;
  info.set_domain(kErrorDomain);
  std::string reason = IsOurFault(status.code()) ? std::string() : ReasonOf(status);
  if (reason.empty()) reason = std::string(DefaultReason(status.code()));
  info.set_reason(reason);
  if (!request_id.empty()) (*info.mutable_metadata())["request_id"] = std::string(request_id);
  return info;
}

// Drops violations from the end until the message is small enough; says how many.
int Shorten(size_t max_bytes, google::rpc::BadRequest* details) {
  for (auto& violation : *details->mutable_field_violations()) {
    violation.set_field(Utf8Clip(violation.field(), 256));
    violation.set_description(Utf8Clip(violation.description(), 512));
  }
  int dropped = 0;
  while (details->field_violations_size() > 1 && details->ByteSizeLong() > max_bytes) {
    details->mutable_field_violations()->RemoveLast();
    ++dropped;
  }
  return dropped;
}

}  // namespace

google::rpc::Status ToRpcStatus(const absl::Status& status, absl::string_view request_id) {
  google::rpc::Status out;
  if (status.ok()) return out;
  const bool ours = IsOurFault(status.code());
  out.set_code(static_cast<int>(ours ? absl::StatusCode::kInternal : status.code()));
  out.set_message(ours ? absl::StrCat("internal error; please report it with request id ", request_id)
                       : std::string(status.message()));
  out.add_details()->PackFrom(ErrorInfoOf(status, request_id));
  if (ours) return out;
  status.ForEachPayload([&](absl::string_view type_url, const absl::Cord& payload) {
    if (!absl::StartsWith(type_url, kTypePrefix)) return;
    google::protobuf::Any* detail = out.add_details();
    detail->set_type_url(std::string(type_url));
    detail->set_value(std::string(payload));
  });
  return out;
}

grpc::Status ToGrpcStatus(const absl::Status& status, absl::string_view request_id) {
  if (status.ok()) return grpc::Status::OK;
  google::rpc::Status wire = ToRpcStatus(status, request_id);
  wire.set_message(Utf8Clip(wire.message(), kMaxMessageBytes));
  if (wire.ByteSizeLong() > kMaxDetailBytes) {
    const size_t fixed = wire.message().size() + 256;
    int dropped = 0;
    for (google::protobuf::Any& detail : *wire.mutable_details()) {
      google::rpc::BadRequest details;
      if (!detail.UnpackTo(&details)) continue;
      dropped = Shorten(kMaxDetailBytes - fixed, &details);
      detail.PackFrom(details);
    }
    google::rpc::ErrorInfo info = ErrorInfoOf(status, request_id);
    (*info.mutable_metadata())["violations_left_out"] = absl::StrCat(dropped);
    wire.mutable_details(0)->PackFrom(info);
  }
  return grpc::Status(static_cast<grpc::StatusCode>(wire.code()), wire.message(), wire.SerializeAsString());
}

absl::Status MalformedRequest(absl::string_view message_type) {
  google::rpc::BadRequest details;
  const std::string what = absl::StrCat("the bytes are not a ", message_type, " message");
  details.add_field_violations()->set_description(what);
  absl::Status status = absl::InvalidArgumentError(what);
  status.SetPayload(kBadRequestPayload, absl::Cord(details.SerializeAsString()));
  return status;
}

absl::Status OverQuota(absl::string_view tenant, absl::string_view limit) {
  google::rpc::QuotaFailure details;
  auto* violation = details.add_violations();
  violation->set_subject(absl::StrCat("tenant:", tenant));
  violation->set_description(std::string(limit));
  absl::Status status = absl::ResourceExhaustedError(absl::StrCat("over the quota of tenant ", tenant, ": ", limit));
  status.SetPayload("type.googleapis.com/google.rpc.QuotaFailure", absl::Cord(details.SerializeAsString()));
  return WithReason(std::move(status), "QUOTA_EXCEEDED");
}

}  // namespace flightplan::service
