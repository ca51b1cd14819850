// Collects everything that is wrong with a request, so that the caller can mend it in one go.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace flightplan {

// Status payload url of a serialized google.rpc.BadRequest.
inline constexpr char kBadRequestPayload[] = "type.googleapis.com/google.rpc.BadRequest";

class Violations {
 public:
  // `field` is the dotted proto path, "hardware.gpu_count"; `description` says what is wrong and what would be right.
  void Add(absl::string_view field, absl::string_view description);
  void Add(absl::string_view field, const absl::Status& status) { Add(field, status.message()); }
  bool empty() const { return items_.empty(); }
  // OK when empty; else INVALID_ARGUMENT with a google.rpc.BadRequest payload.
  absl::Status ToStatus() const;

 private:
  std::vector<std::pair<std::string, std::string>> items_;
  size_t left_out_ = 0;
};

// The error of a message that stands at `path` in the request as it was sent: "model.name" becomes "base.model.name".
// Other errors stay as they are.
absl::Status WithFieldsBelow(absl::string_view path, absl::Status status);

}  // namespace flightplan
