// A snapshot of PyTorch's allocator (torch.cuda.memory._dump_snapshot, Megatron's --record-memory-history), read for
// what the memory of one GPU was for.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace flightplan {

// Who asked for a block, by the stack behind it.
enum class MemoryCause : uint8_t {
  kParametersAndGradients,  // the model and its gradient buffers as they are made
  kOptimizerState,
  kForward,   // activations
  kBackward,  // recomputed activations, gradients that pass through
  kOther,     // another stack
  kUnknown,   // no stack: taken before the history began, or written down without
};
inline constexpr size_t kMemoryCauses = 6;
absl::string_view Name(MemoryCause cause);  // "optimizer_state"

// In bytes, of the GPU with the most; blocks rounded up as the allocator rounds them.
struct MemorySnapshot {
  int64_t device = 0;
  int64_t rank = -1;                                // of whom it is; -1: not said
  double allocated = 0;                             // when it was taken
  double reserved = 0;                              // in segments, then
  double peak = 0;                                  // while the history lasted; 0: there is none
  std::array<double, kMemoryCauses> by_cause = {};  // at the peak; without history when it was taken
  int64_t events = 0, out_of_memory = 0;
  double of(MemoryCause cause) const { return by_cause[static_cast<size_t>(cause)]; }
  bool any() const { return allocated > 0 || peak > 0; }
};

// Of the file's bytes. INVALID_ARGUMENT: what is wrong with it, in a few words.
absl::StatusOr<MemorySnapshot> ReadMemorySnapshot(absl::string_view bytes);

}  // namespace flightplan
