// The CPUs that the ranks of a launch run on: torchrun can keep each on the NUMA node of its GPU.
#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/finding.h"

namespace flightplan {

// The first PyTorch whose torchrun has --numa-binding (pytorch/pytorch#149334).
inline constexpr absl::string_view kNumaBindingTorch = "2.9";
inline constexpr absl::string_view kNumaBindingSource =
    "pytorch/pytorch torch/distributed/run.py:--numa-binding (#149334)";
inline constexpr absl::string_view kNumaBindings[] = {"node", "socket", "exclusive", "core-complex"};

// The decision's name in an answer.
inline constexpr absl::string_view kNumaBindingName = "launcher.numa-binding";

// What a launch of the stack says to torchrun by --numa-binding. Empty: nothing, since torchrun does not start it or is
// too old, or a node has one rank.
absl::string_view NumaBindingOf(const Environment& env);

// Of a launch that says `--numa-binding value` where nobody stated the PyTorch: an older torchrun stops at the flag.
Finding NumaBindingAssumption(absl::string_view value);

// What the launcher's words of a script say of it.
struct CpuBinding {
  std::string torchrun;          // the value of --numa-binding; empty: not written, or only a run would know it
  std::string numactl;           // numactl's --cpunodebind; empty: not written
  int64_t ranks_a_node = 0;      // of $((SLURM_LOCALID/4)) in it: 4; 0: it says no such thing
  bool around_torchrun = false;  // numactl stands before torchrun, whose ranks all get the same node
};

}  // namespace flightplan
