#include "resolver/derive/sparse_bytes.h"

#include <algorithm>

#include "resolver/base/real.h"
#include "resolver/derive/layer_bytes.h"

namespace flightplan {
namespace {

// Without fused kernels the scores of all keys are tensors (NVIDIA/Megatron-LM@d98e8a64dd megatron/core/transformer/
// experimental_attention_variant/dsa.py:59, dsa_masking.py:356). Of a score, kept for the backward pass: two in FP32 of
// the softmax, three masks, its cast; and live there: three gradients in FP32. Of the indexer's: two in FP32.
constexpr double kScoreKept = 13, kScoreBack = 12, kIndexScore = 8;
constexpr double kScoreChunk = 1 << 30;  // of the indexer's, in FP32, by fused kernels (dsa_cudnn_kernels.py:135)

}  // namespace

SparseBytes SparseBytesOf(const ModelShape& shape, const Candidate& candidate, bool indexer) {
  const double unit = StreamBytes(candidate), all = ShardTokens(candidate), split = all / candidate.tp;
  const double sequence = D(candidate.seq_length), heads = D(shape.heads);
  const double latent = D(shape.kv_rank), joined = D(shape.kv_rank + shape.qk_rope);
  const double plain = D(shape.qk_nope + shape.qk_rope), index = D(shape.indexer_heads);
  const bool fused = candidate.sparse_kernels;
  SparseBytes bytes;
  bytes.up = unit * heads * (plain + joined) * split;
  // The output before it leaves the latent, the log-sum-exp, and what was chosen.
  bytes.core = heads * (unit * latent + 4) * split + (fused ? 4 * D(shape.indexer_topk) * all : 0);
  bytes.backward = unit * heads * (plain + joined + latent + D(shape.v_dim)) * split;
  // Keys of the whole sequence, on every rank of TP and CP; all operators but the fused take them in FP32.
  bytes.kept = (fused ? unit : unit + 4) * joined * all * candidate.cp;
  if (!fused) {
    bytes.core += kScoreKept * heads * sequence * split;
    bytes.backward += kScoreBack * heads * sequence * split;
  }
  if (!indexer) return bytes;
  const double scores = fused ? std::min(kScoreChunk, 4 * sequence * all) : kIndexScore * index * sequence * all;
  bytes.backward = std::max(bytes.backward, scores);
  // Its loss keeps what it scored with, and what it chose.
  if (candidate.indexer_loss != IndexerLoss::kNone) {
    bytes.kept += (unit * ((index + 1) * D(shape.indexer_dim) + index) + 8 * D(shape.indexer_topk)) * all;
  }
  return bytes;
}

}  // namespace flightplan
