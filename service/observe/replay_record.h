// What a line of the decision log needs for `flightplan replay`: the canonical request and the digest of the answer.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace google::protobuf {
class Message;
}

namespace flightplan::service {

// What of a request may stand in a log.
enum class LoggedText {
  // What is known to be no secret: flags and knobs that the tables know with a plain value, variables that tune a run,
  // names and numbers. No scripts, files or other free text.
  kNone,
  // All text but that which sets something called a key, token, secret, password or credential.
  kAll,
};

// Why a request must not stand in a log: where it has what may be a secret ("file.text: ..."), never the text itself.
// Empty: it may.
std::string NotForLogs(const google::protobuf::Message& request, LoggedText text);

// JSON members, with a leading comma: `answer_sha256`, `answer_bytes`, and `request` (base64 of `canonical`) or
// `request_withheld` (why it does not stand here).
std::string ReplayFields(const google::protobuf::Message& request, LoggedText text, absl::string_view canonical,
                         absl::string_view answer);

// 64 lower-case hexadecimal digits; fast enough for every answer.
std::string FastSha256Hex(absl::string_view bytes);

}  // namespace flightplan::service
