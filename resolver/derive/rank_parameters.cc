#include "resolver/derive/rank_parameters.h"

#include <algorithm>
#include <cstddef>

#include "resolver/base/real.h"

namespace flightplan {
namespace {

// One block may serve every depth of multi-token prediction.
double DepthsHeld(const ModelShape& shape, const RankContents& rank) {
  return shape.mtp_repeated ? std::min<double>(1, rank.mtp_depths) : rank.mtp_depths;
}

// Matrices of the size of the vocabulary. Multi-token prediction embeds its own input; the last stage holds a copy of
// tied weights, unless it has the embedding.
int Vocabularies(const ModelShape& shape, const RankContents& rank) {
  const bool output = rank.losses > 0;
  const bool embedding = rank.embeddings > 0 || rank.mtp_depths > 0 || (output && shape.tied);
  return (embedding ? 1 : 0) + (output && !shape.tied ? 1 : 0);
}

}  // namespace

RankParameters ParametersOf(const PartParameters& part, const Candidate& candidate) {
  return {D(part.split) / candidate.tp, D(part.replicated), D(part.expert) / (D(candidate.ep) * candidate.etp), 0};
}

RankParameters ParametersOf(const ModelShape& shape, const Candidate& candidate, const RankContents& rank) {
  RankParameters sum;
  const auto add = [&](const PartParameters& part, double times) {
    const RankParameters one = ParametersOf(part, candidate);
    sum.linear += times * one.linear;
    sum.other += times * one.other;
    sum.expert += times * one.expert;
  };
  for (size_t k = 0; k < static_cast<size_t>(shape.kind_count); ++k) {
    if (rank.layers[k] > 0) add(shape.kinds[k].parameters, rank.layers[k]);
  }
  if (rank.mtp_depths > 0) add(shape.mtp_depth, DepthsHeld(shape, rank));
  if (rank.embeddings > 0) sum.other += D(shape.positions);
  if (rank.losses > 0) sum.other += D(shape.head.split + shape.head.replicated);
  sum.vocabulary = Vocabularies(shape, rank) * D(shape.PaddedVocab(candidate.tp)) * D(shape.hidden) / candidate.tp;
  sum.other += sum.vocabulary;
  return sum;
}

AdapterParameters AdapterParametersOf(const ModelShape& shape, const Candidate& candidate, const RankContents& rank,
                                      const std::array<AdapterParameters, kMaxLayerKinds>& of_a_layer) {
  AdapterParameters sum;
  for (size_t k = 0; k < static_cast<size_t>(shape.kind_count); ++k) {
    const double layers = rank.layers[k] + D(shape.mtp_layers[k]) * DepthsHeld(shape, rank);
    sum.dense += layers * of_a_layer[k].dense;
    sum.expert += layers * of_a_layer[k].expert;
  }
  if (rank.losses > 0) {
    sum.dense +=
        OutputAdapterParameters(candidate.adapters, D(shape.hidden), D(shape.PaddedVocab(candidate.tp)), candidate.tp);
  }
  return sum;
}

}  // namespace flightplan
