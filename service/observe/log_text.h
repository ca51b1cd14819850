// What the log says of an error. A request may hold secrets (environment values, tokens inside a command line), and an
// error message may quote it: so messages stand in the log only where their text is ours alone.
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
