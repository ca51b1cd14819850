// The machine-readable reason of an error, carried beside the message: "MODEL_UNKNOWN". The edge turns it into
// google.rpc.ErrorInfo; here it is plain text, so that no room needs protobuf for it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace flightplan {

inline constexpr char kReasonPayload[] = "flightplan/reason";

inline absl::Status WithReason(absl::Status status, absl::string_view reason) {
  status.SetPayload(kReasonPayload, absl::Cord(reason));
  return status;
}

// Empty when none was given.
inline std::string ReasonOf(const absl::Status& status) {
  const auto payload = status.GetPayload(kReasonPayload);
  return payload.has_value() ? std::string(*payload) : std::string();
}

}  // namespace flightplan
