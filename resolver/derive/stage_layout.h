// Which layers each stage of a pipeline holds.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "resolver/derive/shape.h"
#include "resolver/plan/config.h"

namespace flightplan {

// One model chunk: a virtual stage of a pipeline rank.
struct ChunkContents {
  KindCounts layers{};     // decoder layers of each kind
  uint8_t mtp_depths = 0;  // MTP depths
  bool embedding = false;
  bool loss = false;  // output matrix, final norm and loss
  friend bool operator==(const ChunkContents&, const ChunkContents&) = default;
  int Layers() const;
};

// What the chunks of a pipeline rank add up to, and how many ranks hold as much.
struct RankContents {
  int rank = 0, ranks_alike = 1;  // the first of them
  KindCounts layers{};
  uint16_t mtp_depths = 0, losses = 0;
  uint16_t embeddings = 0;  // chunks with the embedding
};

// A forward and a backward that one rank runs, as indices of SteadyPasses::chunks.
struct PassPair {
  uint8_t forward = 0, backward = 0;
  friend bool operator==(const PassPair&, const PassPair&) = default;
};

// What the ranks of an interleaved pipeline run side by side in its steady state: in each slot every rank runs a
// forward of one chunk and a backward of another, and hands on when it has ended, so that a slot is as long as its
// longest pair. Empty where no slot has a longer pair than another, and where there are too many chunks that differ to
// tell.
struct SteadyPasses {
  struct Slot {
    uint32_t end = 0;  // of its pairs, which begin where the slot before ends
    double share = 0;  // of all slots
  };
  std::vector<RankContents> chunks;  // of those that the slots can be about, equal ones once
  std::vector<PassPair> pairs;       // slot after slot, without those that another of the slot holds all of
  std::vector<Slot> slots;
};

// Which layers each stage holds. Virtual stage j of pipeline rank i is chunk j*pp + i, the order of execution.
struct StageLayout {
  int pp = 1, vpp = 1;
  std::vector<ChunkContents> chunks;  // pp * vpp
  // Ranks that can be the fullest: the first of each run of equal ranks. Earlier ranks hold more microbatches.
  std::vector<int> distinct_ranks;
  std::vector<RankContents> contents;  // of all ranks, equal ones once
  // What the forecast of a step asks for, where it was worked out beforehand (KeepSteadyPasses); follows from the
  // chunks.
  std::shared_ptr<const SteadyPasses> steady;
  const ChunkContents& chunk(int rank, int virtual_stage) const {
    return chunks[static_cast<size_t>(virtual_stage) * static_cast<size_t>(pp) + static_cast<size_t>(rank)];
  }
};

// What one rank's chunks add up to; ranks_alike is 1.
RankContents ContentsOf(const StageLayout& layout, int rank);
// What one chunk holds, as a rank that has no other.
RankContents ContentsOf(const ChunkContents& chunk);

// `chunks` must have pp * vpp entries. `known`, here and below: a layout that is taken as it is where it has the same
// chunks; what else one holds follows from them.
StageLayout MakeStageLayout(int pp, int vpp, std::vector<ChunkContents> chunks, StageLayout known = {});
// Decoder layers by chunk, in order of execution; embedding first, MTP and loss last. `sizes` must have pp * vpp
// entries.
StageLayout StagesOfSizes(const ModelShape& shape, int pp, int vpp, const std::vector<int64_t>& sizes,
                          StageLayout known = {});
// By upstream's order of precedence: the layout string, the bars of a hybrid pattern, then first and last stage sizes,
// then an even split (the first stages take what does not come out even, which the rules report).
StageLayout StagesOf(const ModelShape& shape, const Config& config, StageLayout known = {});

}  // namespace flightplan
