// The codes of the Connect protocol: their names in JSON and the HTTP status of each
// (connectrpc.com/docs/protocol#error-codes).
#pragma once

#include "absl/strings/string_view.h"

namespace flightplan::service {

struct ConnectCode {
  absl::string_view name;
  int http_status;
};

// Of a canonical code, 1 to 16; of any other number, that of UNKNOWN.
const ConnectCode& ConnectCodeOf(int code);

}  // namespace flightplan::service
