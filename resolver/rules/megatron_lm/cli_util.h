// What several topics of the Megatron-LM command line ask.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/rules/core/grid_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {

// The target reads a Megatron-LM command line.
bool HasCommandLine(const Facts& f);

// The GPU is known and older than this major compute capability.
bool ArchBelow(const Facts& f, int major);

// The caller listed what is installed and this package is not there.
bool PackageMissing(const Facts& f, absl::string_view package);
// The package is there with at least this version.
bool PackageAtLeast(const Facts& f, absl::string_view package, absl::string_view version);

// Checkpoints are distributed ones: every format but torch.
bool UsesDistCkpt(const Facts& f);

// A captured region of per-layer CUDA graphs, under the release's name of the list.
bool GraphHas(const Facts& f, absl::string_view module);

// Adds a process group to high_priority_stream_groups once.
void AddStreamGroup(Editor& e, absl::string_view group);

// Resolves the number of weight shards and the GTP size from each other, where upstream accepts them.
void DeriveWeightShards(Editor& e, Knob shards, Knob remat_size, Knob tp);

// A typed knob whose value no flag choice of this release allows, or that has a flag only in other releases.
bool HasRefusedChoice(const Facts& f);
std::string RefusedChoice(const Facts& f);
std::vector<Patch> ChoiceFixes(const Facts& f);

}  // namespace flightplan
