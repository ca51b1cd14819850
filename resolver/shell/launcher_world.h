// Counts the processes that a launcher (torchrun, srun, mpirun) is told to start.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "resolver/shell/words.h"

namespace flightplan {

struct LauncherWorld {
  std::optional<int64_t> size;  // nothing: written, but not known; half of it would judge another job
  bool assumed = false;         // it rests on a default, as in ${NNODES:-1}, of a variable that is not known
  int64_t of_node = 0;          // --nproc-per-node; 0: not said, or not known
};

// A step of a Slurm job: without a word of its own it runs on the nodes that the job has.
struct SlurmStep {
  bool srun = false;  // stands among the words
  int64_t nodes = 0;  // of the job; 0: not known
};

// What torchrun takes for --nnodes where it is not written: PET_NNODES, as operators set it; 0: not set, or not known.
struct TorchrunDefaults {
  int64_t nodes = 0;
};

// From --nnodes x --nproc-per-node, or --ntasks, among the words in front of the script. Nothing: they do not say.
std::optional<LauncherWorld> ReadLauncherWorld(absl::Span<const ShellWord> launcher, const SlurmStep& step,
                                               const TorchrunDefaults& defaults = {});

}  // namespace flightplan
