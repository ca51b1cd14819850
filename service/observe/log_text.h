// Decides how much of an error the log shows. A request may hold secrets (environment values, tokens in a command
// line), and an error message may quote it, so a message is logged only if its whole text is our own.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace flightplan::service {

struct LogText {
  std::string message;  // empty: it may quote the request
  std::string reason;   // "REQUEST_INVALID"
  std::string fields;   // the first few fields that are wrong, as proto paths without map keys: "parallelism.tp, gpus"
};

LogText LogTextOf(const absl::Status& status);

// Quoted parts of `text` become '***'; apostrophes quote nothing. In doubt, such as a quote that is never closed, more
// is masked than is quoted.
std::string MaskQuoted(absl::string_view text);

}  // namespace flightplan::service
