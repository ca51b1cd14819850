// What the phases have found out by the time the rules run, beside what the caller said (plan/environment.h). Each part
// comes from one phase; a part that its phase did not give is unknown, and no rule speaks of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flightplan {

// Of the fullest GPU, in bytes.
struct FoundMemory {
  int64_t static_part = 0;                        // parameters, gradients, optimizer state: whatever the microbatch is
  int64_t low = 0, value = 0, high = 0;           // all of it, with the forecast's band
  std::optional<int64_t> usable;                  // empty: the GPU's memory is not known
  bool at_least = false;                          // no forecast: all figures are what the static part takes at least
  int64_t reserved = 0;                           // held by others, not in `usable`
  int reported_runs = 0;                          // that moved the forecast
  int64_t host_low = 0, host = 0, host_high = 0;  // taken of a node's main memory, with its band
  std::optional<int64_t> host_usable;             // empty: what the node has is not known
};

struct Found {
  std::vector<std::string> open_layout;       // sizes that the caller left open, by knob name
  std::vector<std::string> missing_features;  // of the model, that the target's release cannot build
  std::optional<FoundMemory> memory;
  // LoongForge: of the language model, where one of its components is judged.
  std::optional<int64_t> foundation_tensor_parallel_size;
};

}  // namespace flightplan
