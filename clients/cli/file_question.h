// The question about a file: its stack, its job's GPUs and variables, as every door asks it.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/backend.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "service/doors/skip.h"

namespace flightplan::cli {

struct FileQuestion {
  std::optional<doors::Skip> skip;  // no launch of a stack that shows; the request is as it was
  bool nothing = false;             // it has text, which was read, and is no launch of any stack
};

// What `request` says of any file, its --gpu and --te, is wrong once and not in each: an error. Returned: what is not
// judged of any of them, for want of a GPU that is known; empty: nothing.
absl::StatusOr<std::string> AskWithoutFile(v1::ValidateConfigRequest request, Backend& backend);
// Whether its format is one of its stack's, or of any stack where it names none.
absl::Status CheckInputFormat(const v1::ValidateConfigRequest& request);

// Completes `request` from its own file. One without a file, or with a format that the caller states, stays as it is.
absl::StatusOr<FileQuestion> AskAsTheDoorsDo(Backend& backend, v1::ValidateConfigRequest* request);

// The answer about what is no launch.
v1::ValidateConfigResponse NothingToJudge(const std::string& why);

// As above, and with the stack of its own text where none is stated. Returned: why there is nothing to ask; empty:
// there is. Arguments, and YAML with keys that Megatron-LM knows, are taken for what the caller says, or Megatron-LM's.
absl::StatusOr<std::string> CompleteQuestion(Backend& backend, v1::ValidateConfigRequest* request);

}  // namespace flightplan::cli
