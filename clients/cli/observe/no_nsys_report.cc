// In a build without the server, which has no SQLite.
#include "absl/status/status.h"
#include "clients/cli/observe/nsys_report.h"

namespace flightplan::cli {

absl::StatusOr<NsysReport> ReadNsysReport(const std::string& /*path*/) {
  return absl::InvalidArgumentError(
      "this build reads no SQLite: use one with the server, or PyTorch's profiler and its trace");
}

}  // namespace flightplan::cli
