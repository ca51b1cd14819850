// Exact parameter counts of a model: how many, in which layer, and how each part is split over ranks. The formulas are
// those of the modules as Megatron-LM@d98e8a64dd and Megatron-Bridge@067f987df build them; for every model of the
// catalogue the totals equal its `computed` figures to the unit.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "resolver/plan/model.h"

namespace flightplan {

// Parameters of one part of a model, by how they are split.
struct PartParameters {
  int64_t split = 0;          // 1/TP on each rank: QKV, output projection, MLP, MLA up projections, embedding ...
  int64_t replicated = 0;     // whole on every TP rank: norms, router, MLA down projections ...
  int64_t expert = 0;         // routed experts: 1/(EP*ETP)
  int64_t expert_active = 0;  // of them, those that one token uses

  int64_t total() const { return split + replicated + expert; }
  int64_t active() const { return split + replicated + expert_active; }
};

struct ModelParameters {
  std::vector<PartParameters> layers;  // one per decoder layer (per symbol of a hybrid pattern)
  PartParameters mtp_depth;            // one MTP depth: its layer, projection and norms; zero without MTP
  int64_t mtp_depths = 0;
  int64_t embedding = 0;  // the input matrix
  int64_t positions = 0;  // learned positions
  int64_t output = 0;     // the output matrix; 0 when tied to the input
  PartParameters head;    // final norm, and what closes the residual streams of hyper-connections
  ParameterCounts counts;
};

// INVALID_ARGUMENT naming the field when the model is not sound (CheckModel) or a count does not fit 64 bits.
// A model that does not say whether its embeddings are tied is counted as untied.
absl::StatusOr<ModelParameters> CountParameters(const ModelSpec& model);

}  // namespace flightplan
