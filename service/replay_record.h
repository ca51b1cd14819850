// What a line of the decision log needs for `flightplan replay`: the canonical request and the digest of the answer.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace google::protobuf {
class Message;
}

namespace flightplan::service {

// Whether a request may stand in a log, by name: environment variables only from the list of those that tune a run, and
// no text that sets something called a key, token, secret, password or credential. Empty: it may; else the name.
std::string NotForLogs(const google::protobuf::Message& request);

// JSON members, with a leading comma: `answer_sha256`, `answer_bytes`, and `request` (base64 of `canonical`) or
// `request_withheld` (why it does not stand here).
std::string ReplayFields(const google::protobuf::Message& request, absl::string_view canonical,
                         absl::string_view answer);

// 64 lower-case hexadecimal digits; fast enough for every answer.
std::string FastSha256Hex(absl::string_view bytes);

}  // namespace flightplan::service
