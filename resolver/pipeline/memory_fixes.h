// What may be done about memory, before anything is known of what it frees.
#pragma once

#include <vector>

#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/finding.h"

namespace flightplan {

struct MemoryFixes {
  std::vector<Patch> execution;  // same layout: activations computed again, state sharded or moved
  std::vector<Patch> layout;     // another mapping of the model onto the GPUs
};

// What a plan computes again by its own choice, as the caller's word: decided anew, it would spend the room that a fix
// makes.
Patch KeptRecompute(const Config& config);

// `config`: effective values of the configuration that lacks memory.
MemoryFixes MemoryFixesOf(const Config& config);

// The allocator's own cure for fragments, which costs no time. Empty where the launch says how memory is allocated, or
// where something would stop on it.
Patch ExpandableSegments(const Config& config, const Environment& env);

// Cheap modules computed again, and beside them others on the host or the loss unfused, for where each way alone is
// dear: they are many.
std::vector<Patch> CombinedFixesOf(const Config& config);

}  // namespace flightplan
