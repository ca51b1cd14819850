// What one layer of a model makes the GPU do, before any layout: matrix products, attention, bytes moved and kernels
// launched. Built once for a model; the forecast divides it by a candidate's layout without allocating.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "resolver/derive/activation.h"
#include "resolver/derive/adapters.h"
#include "resolver/derive/candidate.h"
#include "resolver/derive/shape.h"
#include "resolver/derive/stage_layout.h"

namespace flightplan {

// One linear layer: `in` x `out` weights. Column splits `out` over TP, row splits `in`, whole is on every rank.
struct Linear {
  enum class Split : uint8_t { kWhole, kColumn, kRow };
  double in = 0, out = 0;
  Split split = Split::kWhole;
};

struct AttentionWork {
  std::array<Linear, 6> linears{};
  int linear_count = 0;
  // Softmax attention: floating point operations of the forward pass per token are 2 * heads * (qk + v) * context.
  double heads = 0, groups = 0, qk_size = 0, v_size = 0;
  double window = 0;  // 0: the whole sequence
  // Sparse attention: a query meets at most `chosen` of the keys, pooled by `ratio`, that its indexer scores; 0 chosen:
  // all of those. Ratio 0: none are sparse.
  double ratio = 0, chosen = 0;
  double scan_flops = 0;   // of a linear attention or state-space scan, per token, forward, as model FLOPs count it
  double scan_state = 0;   // elements of the scan's state, of all heads
  double delta_heads = 0;  // of a delta rule, which deterministic mode computes another way
  double exchanged = 0;    // elements per token that a scan's CP ranks exchange for heads, before it and after
  double exchanges = 0;    // in so many all-to-alls
  // A sparse attention's indexer: heads, heads times their size, and weights of its linear layers; on every rank of TP.
  double index_heads = 0, index_width = 0, index_weights = 0;
  double split_bytes = 0;  // moved by memory-bound kernels per token, forward, divided by TP
  double replicated_bytes = 0;
  double up_projection_bytes = 0;  // of split_bytes: what recomputing mla_up_proj moves again
  double kernels = 0;              // launched by the forward pass
  bool latent = false;
  bool unmeasured = false;  // no published measurement of its kernels
};

struct MlpWork {
  double width = 0;  // f; 0: no dense MLP
  bool gated = true;
  // Routed experts; 0 experts: none.
  double experts = 0, topk = 0, expert_width = 0, shared_width = 0, latent = 0;
  double router_groups = 0, router_group_topk = 0;  // group-limited routing
  Activation activation = Activation::kSwiGlu;
  bool bias = false;
};

struct LayerWork {
  AttentionWork attention;
  MlpWork mlp;
  double norms = 2;
  double streams = 1;     // residual streams: more than one with hyper-connections
  AdapterSites adapters;  // where some may stand
};

// The kinds are those of ModelShape, in its order.
struct ModelWork {
  double hidden = 0, vocabulary = 0;  // the vocabulary as the model has it
  std::array<LayerWork, kMaxLayerKinds> kinds{};
  int kind_count = 0;
  KindCounts totals{};      // layers of each kind, MTP not counted
  KindCounts mtp_layers{};  // of one MTP depth
  double mtp_depths = 0;
  std::shared_ptr<const ModelShape> shape;  // that it was made of
};

ModelWork WorkOf(const ModelShape& shape);

// Passes of a microbatch through the output layer on a rank. Those of multi-token prediction run with the loss,
// wherever its layers stand (Megatron-LM models/gpt/gpt_model.py:728).
inline double HeadsOf(const ModelWork& work, const RankContents& rank) { return rank.losses * (1 + work.mtp_depths); }

// What the last pipeline stage holds beside its decoder layers, output layers and MTP, in mean decoder layers by their
// matrix products.
double TailLayers(const ModelWork& work);

// Keys that a query meets in the mean: the causal half of them, of a window those inside, of sparse attention the
// chosen.
double KeysOf(const AttentionWork& work, double seq_length);

// Of one token, forward and backward: an indexer scores every key before a query and is in no backward pass but its own
// loss's (NVIDIA-NeMo/Megatron-Bridge@067f987df0 src/megatron/bridge/training/utils/flop_utils.py:1167).
double IndexerFlops(const AttentionWork& work, double seq_length, IndexerLoss loss);

// Model FLOPs of one token (forward and backward) at a sequence length: the keys that queries meet, no recomputation.
double FlopsPerToken(const ModelWork& work, double seq_length, IndexerLoss loss = IndexerLoss::kNone);

}  // namespace flightplan
