// What a run says of its memory and its parameters.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace flightplan {

// One rank's report, in bytes; 0: not said. PyTorch's own counts, but for `device`.
struct MemoryReport {
  int64_t rank = -1;        // -1: not said
  int64_t iterations = -1;  // after how many; -1: not said
  double allocated = 0;
  double max_allocated = 0;
  double reserved = 0;
  double max_reserved = 0;
  double device = 0;  // in use on the device, by whomever
};

// Every "[Rank 0] (after 2 iterations) memory (MB) | allocated: ... | max allocated: ..." in the text; Bridge's in GB
// are powers of ten. `complete` as in ReadStepLines.
void ReadMemoryReports(absl::string_view text, bool complete, absl::FunctionRef<void(const MemoryReport&)> take);

// "Theoretical memory footprints: weight and optimizer=... MB, activation=... MB, total=... MB", in bytes.
struct TheoreticalMemory {
  double states = 0;       // weights and optimizer
  double activations = 0;  // 0: not said
};
std::optional<TheoreticalMemory> ReadTheoreticalMemory(absl::string_view text);

// "number of parameters on (tensor, pipeline) model parallel rank (0, 1): 1277857792".
struct ParameterCount {
  int64_t tensor_rank = 0;
  int64_t pipeline_rank = 0;
  int64_t count = 0;
};
std::optional<ParameterCount> ReadParameterCount(absl::string_view text, bool complete);

// "Total number of parameters in billions: 8.03"; 0: the text does not say.
double ReadTotalParameters(absl::string_view text);

}  // namespace flightplan
