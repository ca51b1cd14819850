// Reads mlm_cli*.jsonl.gz: Megatron-LM command lines.
#include "tests/golden/golden_case.h"

namespace flightplan::golden {

absl::StatusOr<std::unique_ptr<GoldenReader>> MakeMlmCliReader(const std::string& path) {
  return absl::UnimplementedError(path + ": command-line cases cannot be read yet");
}

}  // namespace flightplan::golden
