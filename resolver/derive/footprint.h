// How much memory one GPU of a layout needs: weights, gradients and optimizer states by the closed formulas,
// activations by what each module keeps for its backward pass. Good to choose a recompute set and to tell a memory wall
// from none; the estimator, not this file, gives a forecast with an error bar.
#pragma once

#include <cstdint>

#include "resolver/plan/model.h"

namespace flightplan {

// What selective recompute can drop, as bits; kRecomputeFull stands alone.
enum RecomputeBits : unsigned {
  kRecomputeNone = 0,
  kRecomputeMoeAct = 1u << 0,
  kRecomputeLayernorm = 1u << 1,
  kRecomputeMlaUpProj = 1u << 2,
  kRecomputeMlp = 1u << 3,
  kRecomputeSharedExperts = 1u << 4,
  kRecomputeMoe = 1u << 5,
  kRecomputeFull = 1u << 6,
};

struct FootprintLayout {
  int64_t tp = 1, pp = 1, vpp = 1, cp = 1, ep = 1, etp = 1;
  int64_t world = 1;
  int64_t micro_batch_size = 1;
  int64_t seq_length = 0;
  int64_t microbatches = 0;  // per step and data-parallel rank; 0: many
  bool sequence_parallel = false;
  bool fully_sharded = false;  // FSDP: weights and gradients sharded too
};

struct FootprintPrecision {
  double weight_bytes = 2;
  double gradient_bytes = 4;
  double optimizer_bytes = 12;  // master weight and two moments, before sharding
  bool distributed_optimizer = true;
  double gemm_input_bytes = 2;    // of a saved GEMM input: 2 for bf16, 1 for fp8, 0.5 for fp4
  double expert_imbalance = 1.0;  // tokens of the busiest expert rank against the mean
  double optimizer_offload_fraction = 0;
};

// Bytes on the fullest pipeline stage.
struct Footprint {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;
  double logits = 0;
  double Total() const { return weights + gradients + optimizer + activations + logits; }
};

Footprint EstimateFootprint(const ModelSpec& model, const FootprintLayout& layout, const FootprintPrecision& precision,
                            unsigned recompute);

// The model's parameters by the groups that a layout splits differently.
struct ParameterSplit {
  double dense = 0;      // all but routed experts and embeddings
  double embedding = 0;  // one matrix: vocabulary x hidden size
  double output = 0;     // the output matrix, 0 when tied
  double experts = 0;
};
ParameterSplit SplitParameters(const ModelSpec& model);

// Layers with routed experts.
int64_t MoeLayerCount(const ModelSpec& model);

}  // namespace flightplan
