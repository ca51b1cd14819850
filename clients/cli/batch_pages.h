// What `flightplan validate --batch` prints.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "clients/cli/batch.h"
#include "clients/cli/terminal.h"

namespace flightplan::cli {

// A row for each launch that is refused or warned of, with its first finding and fix, then the counts. Verbose: a row
// for every file.
std::string RenderBatchTable(const std::vector<BatchItem>& items, bool verbose, const Terminal& terminal);

// One JSON object a line and file: path, verdict, target, digest, findings, fixes as text, what was not judged.
std::string RenderBatchJsonLines(const std::vector<BatchItem>& items);

// SARIF 2.1.0 (OASIS), which code hosts show beside the lines of a review. `rule_text`: one sentence on a rule, or "".
std::string RenderBatchSarif(const std::vector<BatchItem>& items, absl::string_view version,
                             const std::function<std::string(const std::string& rule_id)>& rule_text);

}  // namespace flightplan::cli
