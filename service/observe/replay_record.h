// Records in the decision log what `flightplan replay` needs: the canonical request and the digest of the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "service/observe/json_line.h"

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

// What a replay of an answer needs.
struct ReplayRecord {
  std::string answer_sha256;  // empty: nothing is recorded
  int64_t answer_bytes = 0;
  std::string request;   // its canonical bytes in base64
  std::string withheld;  // else: why the request must not stand in a log

  size_t size() const { return answer_sha256.size() + request.size() + withheld.size(); }
  // As members `answer_sha256`, `answer_bytes`, and `request` or `request_withheld`.
  void AppendTo(JsonLine* line) const;
};
ReplayRecord MakeReplayRecord(const google::protobuf::Message& request, LoggedText text, absl::string_view canonical,
                              absl::string_view answer);

// 64 lower-case hexadecimal digits; fast enough for every answer.
std::string FastSha256Hex(absl::string_view bytes);

}  // namespace flightplan::service
