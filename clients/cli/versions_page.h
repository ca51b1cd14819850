// What `flightplan validate --all-versions` prints: one configuration, judged by every release of its framework.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/cli/terminal.h"
#include "flightplan/v1/resolver_service.pb.h"

namespace flightplan::cli {

struct ReleaseAnswer {
  std::string release;  // "0.18", "main"
  v1::ValidateConfigResponse response;
};

// What differs from one release to the next.
struct ReleaseChange {
  std::vector<std::string> new_findings;   // ids of errors and warnings that the earlier release does not have
  std::vector<std::string> gone_findings;  // and the other way round
  std::vector<std::string> values;         // knobs whose final value differs: "name: old -> new"
};
ReleaseChange CompareReleases(const v1::ValidateConfigResponse& older, const v1::ValidateConfigResponse& newer);

// The releases of a framework that are judged, oldest first; empty for one that has no releases of its own.
std::vector<std::string> ReleasesOf(absl::string_view framework);

// Every target as --target takes it: "megatron-lm", "megatron-lm@0.16" ...
std::vector<std::string> TargetNames();

std::string RenderVersionsPage(const std::string& input, absl::string_view framework,
                               const std::vector<ReleaseAnswer>& answers, bool verbose, const Terminal& terminal);
// {"releases": [{"release", "accepted_by_stack", "will_run", "errors", "warnings", "new_findings", ...}]}
std::string VersionsJson(const std::vector<ReleaseAnswer>& answers);

}  // namespace flightplan::cli
