// What DeepSeek sparse attention keeps of a microbatch beside what latent attention does, in one layer.
#pragma once

#include "resolver/derive/candidate.h"
#include "resolver/derive/shape.h"

namespace flightplan {

struct SparseBytes {
  double up = 0;        // what mla_up_proj computes again: queries, plain and put to the latent
  double core = 0;      // what core_attn computes again
  double kept = 0;      // with either
  double backward = 0;  // gradients; or what the indexer needs while it scores, where that is more
};

SparseBytes SparseBytesOf(const ModelShape& shape, const Candidate& candidate, bool indexer);

}  // namespace flightplan
