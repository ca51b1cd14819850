#include "service/log_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/base/reason.h"
#include "resolver/resolver.h"

namespace flightplan::service {
namespace {

constexpr int kShownFields = 5;

enum class Shown { kAll, kMasked, kNothing };

// The allow-list: errors that are made here, of the server's own state and of names from its own files.
Shown ShownOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return Shown::kAll;
    case absl::StatusCode::kInternal:  // our bug: without its message nobody can mend it
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDataLoss:
      return Shown::kMasked;
    case absl::StatusCode::kOk:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kDoNotUseReservedForFutureExpansionUseDefaultInSwitchInstead_:
      break;
  }
  return Shown::kNothing;
}

bool IsPathCharacter(char c) {
  return absl::ascii_islower(static_cast<unsigned char>(c)) || absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
         c == '_' || c == '.';
}

std::string FieldsOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kBadRequestPayload);
  google::rpc::BadRequest details;
  std::string fields;
  if (!payload.has_value() || !details.ParseFromString(std::string(*payload))) return fields;
  for (int i = 0; i < std::min(kShownFields, details.field_violations_size()); ++i) {
    const std::string& field = details.field_violations(i).field();
    const auto end = std::find_if_not(field.begin(), field.end(), IsPathCharacter);
    absl::StrAppend(&fields, i > 0 ? ", " : "",
                    absl::string_view(field).substr(0, static_cast<size_t>(end - field.begin())));
  }
  return fields;
}

}  // namespace

std::string MaskQuoted(absl::string_view text) {
  std::string masked;
  while (!text.empty()) {
    const size_t open = text.find_first_of("'\"`");
    absl::StrAppend(&masked, text.substr(0, open));
    if (open == absl::string_view::npos) break;
    absl::StrAppend(&masked, "'***'");
    const size_t close = text.find(text[open], open + 1);
    if (close == absl::string_view::npos) break;  // what is never closed is masked to its end
    text.remove_prefix(close + 1);
  }
  return masked;
}

LogText LogTextOf(const absl::Status& status) {
  LogText text;
  text.reason = ReasonOf(status);
  text.fields = FieldsOf(status);
  switch (ShownOf(status.code())) {
    case Shown::kAll:
      text.message = std::string(status.message());
      break;
    case Shown::kMasked:
      text.message = MaskQuoted(status.message());
      break;
    case Shown::kNothing:
      break;
  }
  return text;
}

}  // namespace flightplan::service
