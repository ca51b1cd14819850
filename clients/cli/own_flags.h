// Flags that a launch says of itself, in a comment among its first lines: "# flightplan: --gpu h100-sxm --gpus 64".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/request.h"

namespace flightplan::cli {

struct OwnFlags {
  size_t begin = 0, end = 0;  // of the comment in the text
  std::vector<std::string> words;
};
// Empty: there is none.
std::optional<OwnFlags> FindOwnFlags(absl::string_view text);

// Sets what the words say. INVALID_ARGUMENT: one is no flag of StackFlags, or its value is wrong.
absl::Status ApplyOwnFlags(const OwnFlags& own, StackOptions* options);

// What the text says of itself, and over it what the command line has said. INVALID_ARGUMENT names the comment.
absl::StatusOr<StackOptions> WithOwnFlags(absl::string_view text, const StackOptions& said);

}  // namespace flightplan::cli
