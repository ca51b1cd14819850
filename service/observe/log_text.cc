#include "service/observe/log_text.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "resolver/base/reason.h"
#include "resolver/normalize/violations.h"
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

constexpr absl::string_view kQuotes = "'\"`";
constexpr absl::string_view kMask = "'***'";
constexpr absl::string_view kContractions[] = {"t", "s", "re", "ve", "ll", "d", "m"};

bool IsQuote(char c) { return absl::StrContains(kQuotes, c); }

bool IsWord(absl::string_view text, size_t at) {
  return at < text.size() && (absl::ascii_isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
}

// Letters right before `at`.
size_t LettersBefore(absl::string_view text, size_t at) {
  size_t count = 0;
  while (count < at && absl::ascii_isalpha(static_cast<unsigned char>(text[at - count - 1]))) ++count;
  return count;
}

// As in "don't" and "users' keys", but not in b'...' and KEY='...'.
bool IsApostrophe(absl::string_view text, size_t at) {
  const size_t letters = LettersBefore(text, at);
  if (text[at] != '\'' || letters == 0 || (letters == 1 && text[at - 1] != 'I')) return false;
  size_t end = at + 1;
  while (IsWord(text, end)) ++end;
  const absl::string_view rest = text.substr(at + 1, end - at - 1);
  if (rest.empty()) return text[at - 1] == 's' && (end == text.size() || text[end] == ' ');
  return std::find(std::begin(kContractions), std::end(kContractions), rest) != std::end(kContractions);
}

// Whether the quote at `at` has something that it could begin, and nothing that it could end.
bool Begins(absl::string_view text, size_t at) {
  if (at + 1 == text.size()) return false;
  return IsWord(text, at + 1) || (text[at - 1] == ' ' && text[at + 1] != ' ');
}

// Where the quotation that begins at `open` ends; npos: nowhere. A quote before a word begins something, and one in a
// word or after a backslash belongs to it.
size_t CloserOf(absl::string_view text, size_t open) {
  for (size_t at = open + 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == text[open] && !Begins(text, at)) {
      return at;
    }
  }
  return absl::string_view::npos;
}

}  // namespace

std::string MaskQuoted(absl::string_view text) {
  std::string masked;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!IsQuote(text[at]) || IsApostrophe(text, at)) {
      masked.push_back(text[at]);
      continue;
    }
    at = CloserOf(text, at);
    // Never closed, so what was taken for the end of a quotation may have been in the middle of it.
    if (at == absl::string_view::npos) return absl::StrCat(text.substr(0, text.find_first_of(kQuotes)), kMask);
    absl::StrAppend(&masked, kMask);
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
