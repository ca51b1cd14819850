// The bytes that a layer keeps between its forward and its backward pass, and those it needs briefly while it runs
// backward. A model of what Megatron-Core's modules on Transformer Engine save (Megatron-LM@d98e8a64dd).
#pragma once

#include "resolver/derive/candidate.h"
#include "resolver/derive/shape.h"

namespace flightplan {

// For one microbatch on one GPU, in bytes.
struct LayerBytes {
  double attention = 0;  // kept: attention or its stand-in, the norm before it, the residual stream
  double mlp = 0;        // kept: dense MLP or shared experts, the norm before them
  double experts = 0;    // kept: router, dispatched tokens, routed experts
  double backward = 0;   // live on top while the layer runs backward
  double offloaded = 0;  // of the kept bytes, those that offloading brings back two layers at a time
  double Kept() const { return attention + mlp + experts; }
};

LayerBytes BytesOfLayer(const ModelShape& shape, const Candidate& candidate, const LayerKind& kind);

// Bytes of one value of a hidden state, of the residual stream, and of a GEMM's saved input.
double StreamBytes(const Candidate& candidate);
double ResidualBytes(const Candidate& candidate);
double GemmInputBytes(const Candidate& candidate);
// Tokens of one microbatch on a rank: its context shard, and what of the residual stream it holds of that.
double ShardTokens(const Candidate& candidate);
double StreamTokens(const Candidate& candidate);
// The residual stream at a layer's input, which full recompute keeps.
double LayerInputBytes(const ModelShape& shape, const Candidate& candidate);

}  // namespace flightplan
