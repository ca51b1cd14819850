// Nsight Systems' report as its export writes it (`nsys export --type sqlite`), read for what one GPU did.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "resolver/runlog/gpu_work.h"

namespace flightplan::cli {

struct NsysReport {
  TraceSummary work;                  // of the GPU with the most kernels; paths only where a kernel's name says them
  std::vector<std::string> not_read;  // "3 other GPUs"
};

// The file is opened to be read alone, and nothing in it is trusted: tables only, no views, no functions, and an end to
// rows and to work. Errors say in a few words why it is not read: another database, damaged, too much.
absl::StatusOr<NsysReport> ReadNsysReport(const std::string& path);

}  // namespace flightplan::cli
