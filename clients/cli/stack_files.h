// Files of a stack's checkout that a launch reads beside itself: LoongForge's model files, scripts that it sources.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/backend.h"

namespace flightplan::cli {

// Judges `*request`, and again with the files that the answer wants, as far as they lie below `root`, a checkout of the
// stack; "": once. They stay in `*request`. Returned: the wanted files that are not there. What a launch writes may not
// lead out of the folder: links and ".." are followed only below it. NOT_FOUND: `root` is no folder.
absl::StatusOr<std::vector<std::string>> ValidateWithFiles(const std::string& root, Backend& backend,
                                                           v1::ValidateConfigRequest* request,
                                                           v1::ValidateConfigResponse* response);

// For people: which files were looked for in vain; "" when there are none.
std::string MissingFilesNote(const std::string& root, const std::vector<std::string>& missing);

}  // namespace flightplan::cli
