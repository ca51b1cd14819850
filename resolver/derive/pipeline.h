// Pipeline stages: how many a layout string, a hybrid pattern or a per-stage layer count describes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace flightplan {

// Stages ('|' separated) of a layout string; nothing when it is too long or holds an unknown letter.
std::optional<int64_t> LayoutStages(absl::string_view layout);

// What --hybrid-layer-pattern says: "M*M*|M-ME/MM/MM" has 8 layers, 2 segments and 2 MTP depths.
struct HybridPattern {
  int64_t layers = 0;
  int64_t segments = 1;
  int64_t mtp_depths = 0;
  bool has_pipe = false;
  bool has_mla = false;  // an MLA or a DSA layer
  bool has_dsa = false;
};
// Nothing when a letter is unknown, the MTP parts differ, or attention is mixed with MLA or DSA.
std::optional<HybridPattern> ReadHybridPattern(absl::string_view pattern);

// Virtual stages per pipeline rank; nothing when it does not divide or a size is zero.
std::optional<int64_t> VirtualStages(int64_t layers, int64_t pipeline_size, int64_t layers_per_virtual_stage);

// Decoder layers of each (virtual) stage, in order of execution, where they do not come out even: embedding, loss and
// each MTP layer weigh as much as a decoder layer, which is how the published layouts are balanced; what does not
// divide goes to the middle stages. Needs 2 <= stages <= layers + mtp + 2.
std::vector<int64_t> BalancedStages(int64_t layers, int64_t mtp, int64_t stages);

// The ways to give decoder layers to pp x vpp stages that are worth comparing, by (virtual) stage in order of
// execution. The plain one comes first: as many to each where they divide, else BalancedStages. The others take layers
// from the last rank, for what it has beside them (output layer, loss, MTP): as many as `tail` layers of matrix
// products, or fewer, or more, because other work and precision make layers dearer or cheaper than that. Needs what
// BalancedStages needs.
std::vector<std::vector<int64_t>> StageSplits(int64_t layers, int64_t mtp, int64_t pp, int64_t vpp, double tail);

// Layers of a layout that is still a text to read.
inline constexpr int64_t kMostLayersOfText = 4096;

// As pipeline_model_parallel_layout: one letter a cell, E embedding, t decoder layer, m MTP layer, L loss.
std::string LayoutText(const std::vector<int64_t>& decoder_layers, int64_t mtp);

}  // namespace flightplan
