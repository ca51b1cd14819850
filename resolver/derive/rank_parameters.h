// Parameters on one GPU of a pipeline rank: what its memory, its optimizer and its transfers are counted from.
#pragma once

#include <array>

#include "resolver/derive/adapters.h"
#include "resolver/derive/candidate.h"
#include "resolver/derive/shape.h"
#include "resolver/derive/stage_layout.h"

namespace flightplan {

struct RankParameters {
  double linear = 0;  // of dense linear layers: what low precision quantizes
  double other = 0;   // norms, routers, embeddings, the output matrix
  double expert = 0;
  double vocabulary = 0;  // of `other`, the embedding and the output matrix
  double dense() const { return linear + other; }
};

// Of one layer, or of one depth of multi-token prediction.
RankParameters ParametersOf(const PartParameters& part, const Candidate& candidate);
// All that the rank holds, the adapters aside.
RankParameters ParametersOf(const ModelShape& shape, const Candidate& candidate, const RankContents& rank);
// Its adapters, of those on one GPU of a layer of each kind.
AdapterParameters AdapterParametersOf(const ModelShape& shape, const Candidate& candidate, const RankContents& rank,
                                      const std::array<AdapterParameters, kMaxLayerKinds>& of_a_layer);

}  // namespace flightplan
