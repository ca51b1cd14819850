#include "resolver/derive/layer_bytes.h"

#include <algorithm>

#include "resolver/base/real.h"
#include "resolver/derive/sparse_bytes.h"

namespace flightplan {
namespace {

// One part of a layer while it is worked out.
struct Piece {
  double kept = 0;
  double dropped = 0;  // not kept: computed again, and live, while this part runs backward
  double backward = 0;
  double offloaded = 0;
};

class Layer {
 public:
  Layer(const ModelShape& shape, const Candidate& candidate, const LayerKind& kind)
      : s_(shape),
        c_(candidate),
        kind_(kind),
        unit_(StreamBytes(candidate)),
        residual_(ResidualBytes(candidate)),
        gemm_(GemmInputBytes(candidate)),
        low_(candidate.low_precision()),
        all_(ShardTokens(candidate)),
        split_(all_ / candidate.tp),
        stream_(StreamTokens(candidate)),
        h_(D(shape.hidden)) {}

  LayerBytes Bytes() const {
    Piece attention = Attention();
    Piece mlp = kind_.mlp == MlpKind::kDense ? Dense(D(s_.ffn), true) : Piece{};
    Piece shared;
    const Piece experts = kind_.mlp == MlpKind::kMoe ? Experts(&shared) : Piece{};
    if (c_.adapters.magnitudes) {
      attention.kept += ScaledBytes(~kOfMlp);
      const bool of_shared = kind_.mlp == MlpKind::kMoe;
      Keep(ScaledBytes(kOfMlp), Drops(of_shared ? kDropSharedExperts | kDropMoe : kDropMlp),
           of_shared ? &shared : &mlp);
    }
    LayerBytes bytes;
    bytes.attention = attention.kept;
    bytes.mlp = mlp.kept + shared.kept;
    bytes.experts = experts.kept;
    // Gradients of the residual stream on both sides of the part in progress, and with sequence parallelism its input
    // and the gradient of its output gathered over the tensor-parallel ranks.
    const bool gathers_input = !c_.adapters.any() || c_.adapters.regather;
    const double gathered = c_.sequence_parallel ? (gathers_input ? 2 : 1) * unit_ * h_ * all_ : 0;
    bytes.backward = 2 * residual_ * h_ * stream_ + gathered +
                     std::max({attention.backward + attention.dropped, mlp.backward + mlp.dropped,
                               experts.backward + experts.dropped + shared.dropped, shared.backward + shared.dropped});
    if (c_.adapters.magnitudes) bytes.backward = std::max(bytes.backward, NormOfWeightBytes());
    bytes.offloaded = attention.offloaded + mlp.offloaded + experts.offloaded;
    return bytes;
  }

 private:
  static constexpr unsigned kOfMlp = kAdaptFc1 | kAdaptFc2;

  bool Drops(unsigned module) const {
    return c_.recompute == RecomputeMode::kSelective && (c_.recompute_modules & module) != 0;
  }
  bool Offloads(unsigned module) const { return (c_.offload_modules & module) != 0; }

  // What a linear layer keeps of its input, of this width and so many tokens, `copies` times in low precision. A frozen
  // one keeps nothing; its adapter keeps its own input in 16 bits, as the layer hands it on: gathered over the
  // tensor-parallel ranks, unless it gathers it again itself (peft/utils.py:566). A layer with the norm in it
  // (`with_norm`) keeps the norm's output, too, because it hands it on (transformer_engine/pytorch/module/
  // layernorm_linear.py: freed only if neither is asked for). Dropout in front of an adapter makes a copy and a mask.
  // `there`: others keep the same tensor.
  double InputBytes(unsigned target, double width, double tokens, double gathered, int copies, bool there,
                    bool with_norm = false) const {
    const Adapters& adapters = c_.adapters;
    const double own = (low_ ? gemm_ * copies : there ? 0 : unit_) * width * tokens;
    if (!adapters.any()) return own;
    if (!adapters.at(target)) return 0;
    const double seen = adapters.regather ? tokens : gathered;
    const bool same = seen == tokens && !adapters.dropout;  // as the layer's own
    const int parts = PartsOf(target, adapters);
    const double input = (adapters.dropout ? parts * (unit_ + 1) : same && there ? 0 : unit_) * width * seen;
    const bool beside = with_norm && (low_ || !same);
    return (beside ? own : 0) + input + unit_ * parts * adapters.rank * all_;
  }

  // DoRA multiplies the sum of a layer's output and its adapter's by a trained scale, whose gradient reads the sum.
  // With dropout the layer runs once more on what dropout took, whose output is scaled, too
  // (peft/dora_layers.py:155-170).
  double ScaledBytes(unsigned targets) const {
    const AdapterSites sites = AdapterSitesOf(s_, kind_);
    double bytes = 0;
    for (int i = 0; i < sites.count; ++i) {
      const AdapterSite& site = sites.all[static_cast<size_t>(i)];
      if (!c_.adapters.at(site.target & targets)) continue;
      const double output = unit_ * (site.row ? site.out * stream_ : site.out * split_);
      const double mask = site.row ? site.in * split_ : site.in * all_;
      bytes += c_.adapters.dropout ? 2 * output + mask : output;
    }
    return bytes;
  }

  // The product of the adapter's matrices and its sum with the weight, of which the norm is taken and nothing is kept
  // (peft/dora_layers.py:113).
  double NormOfWeightBytes() const {
    const AdapterSites sites = AdapterSitesOf(s_, kind_);
    double most = 0;
    for (int i = 0; i < sites.count; ++i) {
      const AdapterSite& site = sites.all[static_cast<size_t>(i)];
      if (c_.adapters.at(site.target)) most = std::max(most, 2 * unit_ * site.in * site.out / c_.tp);
    }
    return most;
  }

  // The norm before a part: its input is the residual stream. Its output feeds `consumers` GEMMs, each of which keeps
  // its own quantized copy in low precision; in 16 bits they share one. A norm inside the linear layer's module cannot
  // be dropped alone.
  void Norm(int consumers, bool separate, unsigned offload, unsigned target, Piece* piece) const {
    KeepResidual(offload, piece);
    const double gathered = c_.sequence_parallel ? all_ : stream_;
    const double output = InputBytes(target, h_, stream_, gathered, consumers, false, !separate);
    Keep(output, separate && Drops(kDropLayernorm), piece);
  }

  // The input of the norm before a part, which is the residual stream, and the mask of dropout behind the part.
  void KeepResidual(unsigned offload, Piece* piece) const {
    piece->kept += (residual_ + (c_.hidden_dropout ? 1 : 0)) * h_ * stream_;
    if (Offloads(offload)) piece->offloaded += residual_ * h_ * stream_;
  }

  static void Keep(double bytes, bool dropped, Piece* piece) { (dropped ? piece->dropped : piece->kept) += bytes; }

  // Kept here, or on the host; what is computed again is on neither.
  void KeepOrOffload(double bytes, bool dropped, unsigned offload, Piece* piece) const {
    Keep(bytes, dropped, piece);
    if (Offloads(offload) && !dropped) piece->offloaded += bytes;
  }

  Piece Attention() const {
    Piece piece;
    switch (kind_.attention) {
      case AttentionKind::kNone:
        return piece;
      case AttentionKind::kGrouped:
        Grouped(&piece);
        break;
      case AttentionKind::kLatent:
        Latent(&piece);
        break;
      case AttentionKind::kGatedDelta:
        Linear(D(s_.linear_key_heads * s_.linear_key_dim), D(s_.linear_value_heads * s_.linear_value_dim), &piece);
        break;
      case AttentionKind::kKimiDelta:
        Linear(D(s_.linear_key_heads * s_.linear_key_dim), D(s_.linear_key_heads * s_.linear_key_dim), &piece);
        break;
      case AttentionKind::kMamba:
        Mamba(&piece);
        break;
      case AttentionKind::kCompressed:
        Compressed(&piece);
        break;
      case AttentionKind::kFactorised:
        Factorised(&piece);
        break;
    }
    if (Drops(kDropOverlapAttention)) {
      // Only its input outlives the forward.
      const double input = residual_ * h_ * stream_;
      piece.dropped += piece.kept - input;
      piece.kept = input;
      piece.offloaded = std::min(piece.offloaded, input);
    }
    // Norms after the attention and the MLP (four in a block) keep their input and their output.
    if (s_.norms > 2) piece.kept += (s_.norms - 2) * unit_ * h_ * stream_;
    return piece;
  }

  // The attention proper: queries, keys and values of these widths (per token over all heads) and its output.
  void Core(double query, double key, double value, double output, bool qkv_dropped, Piece* piece) const {
    KeepOrOffload(unit_ * (query + key + value) * split_, qkv_dropped, kOffloadCoreAttn, piece);
    const double heads = D(s_.heads);
    // The output is the projection's input too; in low precision that one keeps a quantized copy. An exchange of heads
    // for sequence (a2a) leaves one output on each side of it.
    const bool exchanged = c_.cp > 1 && (c_.cp_comm == CpComm::kAllToAll || c_.cp_comm == CpComm::kAllToAllP2p);
    const double out =
        unit_ * (exchanged ? 2 : 1) * output * split_ + InputBytes(kAdaptProj, output, split_, split_, 1, true);
    KeepOrOffload(out, false, kOffloadAttnProj, piece);
    piece->kept += 4 * heads * split_;  // the log-sum-exp in FP32
    // Where scores are a tensor: the softmax, which the product with the values takes; dropout adds a copy and a mask.
    const double score = !c_.writes_scores() ? 0 : c_.attention_dropout ? 2 * unit_ + 1 : unit_;
    KeepOrOffload(score * heads * D(c_.seq_length) * split_, Drops(kDropCoreAttn), kOffloadCoreAttn, piece);
    // Their gradients, and the query's accumulated in FP32.
    piece->backward += (unit_ * (query + key + value + output) + 4 * query) * split_;
    // Keys and values of the whole sequence, or of two neighbours.
    if (c_.cp > 1 && c_.cp_comm == CpComm::kAllGather) piece->backward += 2 * unit_ * (key + value) * split_ * c_.cp;
    if (c_.cp > 1 && c_.cp_comm == CpComm::kP2p) piece->backward += 4 * unit_ * (key + value) * split_;
  }

  void Grouped(Piece* piece) const {
    Norm(1, !c_.transformer_engine, kOffloadAttnNorm, kAdaptQkv, piece);
    const double width = D(s_.head_dim);
    const double query = D(s_.heads) * width;
    // Each tensor-parallel rank holds at least one group.
    const double key = std::max(D(s_.groups), static_cast<double>(c_.tp)) * width;
    Core(query, key, key, query, false, piece);
    piece->kept += unit_ * D(s_.qk_norm_width) * split_;
    if (s_.output_gate) piece->kept += 2 * unit_ * query * split_;  // the gate and the gated output
  }

  void Latent(Piece* piece) const {
    Norm(2, true, kOffloadAttnNorm, kAdaptQ | kAdaptQDown | kAdaptKvDown, piece);
    const bool dropped = Drops(kDropMlaUpProj);
    // Latents and, inside what mla_up_proj drops, their normed form.
    piece->kept += unit_ * D(s_.q_rank + s_.kv_rank + s_.qk_rope) * stream_;
    const double normed = InputBytes(kAdaptQUp, D(s_.q_rank), stream_, stream_, 1, false) +
                          InputBytes(kAdaptKvUp, D(s_.kv_rank), stream_, stream_, 1, false);
    Keep(normed, dropped, piece);
    const double value = D(s_.heads * s_.v_dim);
    if (s_.output_gate) piece->kept += 2 * unit_ * value * split_;
    if (s_.indexer_topk == 0) {
      const double query = D(s_.heads * (s_.qk_nope + s_.qk_rope));
      return Core(query, query, value, value, dropped, piece);
    }
    const SparseBytes sparse = SparseBytesOf(s_, c_, kind_.indexer);
    Keep(sparse.up, dropped, piece);
    Keep(sparse.core, Drops(kDropCoreAttn), piece);
    const double out = unit_ * value * split_ + InputBytes(kAdaptProj, value, split_, split_, 1, true);
    piece->kept += sparse.kept;
    KeepOrOffload(out, false, kOffloadAttnProj, piece);
    piece->backward += sparse.backward;
  }

  // Gated delta net and its kin: projection, convolution, one FP32 state for each chunk of 64 tokens, gated norm.
  void Linear(double key, double value, Piece* piece) const {
    Norm(1, !c_.transformer_engine, kOffloadAttnNorm, kAdaptInProj, piece);
    constexpr double kChunk = 64;
    if (c_.deterministic) {
      // FP32 operands of each operator, and of each row of a chunk's inverse a copy (estimate/layer_terms.cc, AddScan).
      const double head = D(s_.linear_key_dim);
      piece->kept += kFp32Bytes * (kChunk * kChunk / 3 + 22 * head) * value / head * split_;
    }
    piece->kept += (2 * unit_ * (2 * key + 2 * value) + 4 * value * D(s_.linear_key_dim) / kChunk) * split_;
    Keep(2 * unit_ * value * split_, Drops(kDropLinearAttention), piece);
    piece->backward += 2 * unit_ * (2 * key + 2 * value) * split_;
  }

  // The memory-efficient path keeps the projection, the scan's output and the normed output; convolution and states
  // are computed again.
  void Mamba(Piece* piece) const {
    Norm(1, !c_.transformer_engine, kOffloadAttnNorm, kAdaptInProj, piece);
    const double inner = D(s_.mamba_heads * s_.mamba_head_dim);
    const double projected = 2 * inner + 2 * D(s_.mamba_groups * s_.mamba_state) + D(s_.mamba_heads);
    piece->kept += unit_ * (projected + inner) * split_ + InputBytes(kAdaptOutProj, inner, split_, split_, 1, false);
    const double states = 4 * inner * D(s_.mamba_state) / D(s_.mamba_chunk);
    piece->backward += (2 * unit_ * projected + 2 * states) * split_;
  }

  void Compressed(Piece* piece) const {
    // Hyper-connections keep several residual streams.
    const double streams = std::max(1.0, D(s_.residual_streams));
    Norm(2, true, kOffloadAttnNorm, 0, piece);
    Keep(2 * unit_ * h_ * streams * stream_, Drops(kDropMhc), piece);
    piece->kept += 2 * unit_ * D(s_.q_rank) * stream_;
    const double width = D(s_.head_dim);
    const double query = D(s_.heads) * width;
    const double keys = width * c_.tp;  // one KV head, whole on every tensor-parallel rank
    Core(query, keys, keys, query, false, piece);
    piece->kept += unit_ * D(s_.o_rank * std::max<int64_t>(1, s_.o_groups)) * split_;
    if (kind_.compress_ratio > 0) piece->kept += 4 * unit_ * width * stream_;
    if (kind_.indexer) piece->kept += unit_ * D(s_.indexer_heads * s_.indexer_dim) * stream_;
  }

  void Factorised(Piece* piece) const {
    Norm(1, true, kOffloadAttnNorm, 0, piece);
    piece->kept += 2 * unit_ * D(s_.mfa_rank) * stream_;
    const double width = D(s_.head_dim);
    const double query = D(s_.heads) * width;
    const double key = std::max(D(s_.groups), static_cast<double>(c_.tp)) * width;
    Core(query, key, key, query, false, piece);
  }

  // An MLP of this width: the output of its first layer, the activation that its second layer takes.
  Piece Dense(double width, bool with_norm) const {
    Piece piece;
    const bool dropped =
        with_norm ? Drops(kDropMlp) : Drops(kDropSharedExperts) || Drops(kDropMoe) || Drops(kDropOverlapExperts);
    if (with_norm) {
      KeepResidual(kOffloadMlpNorm, &piece);
      // Inside the first linear layer's module, so that it goes with the MLP.
      const bool norm_dropped = dropped || (!c_.transformer_engine && Drops(kDropLayernorm));
      const double gathered = c_.sequence_parallel ? all_ : stream_;
      Keep(InputBytes(kAdaptFc1, h_, stream_, gathered, 1, false, c_.transformer_engine), norm_dropped, &piece);
    }
    const double first = FirstBytes() * (s_.gated ? 2 : 1) * width * split_;
    Keep(first + InputBytes(kAdaptFc2, width, split_, split_, 1, false), dropped, &piece);
    piece.backward += unit_ * (s_.gated ? 3 : 2) * width * split_;
    return piece;
  }

  // Of the activation's input.
  double FirstBytes() const { return c_.activation_fp8_store ? 1 : unit_; }

  // What an expert's linear layer, or the adapter beside it, keeps of its input.
  double ExpertInputBytes(unsigned target, double width, double rows) const {
    const Adapters& adapters = c_.adapters;
    if (!adapters.any()) return (low_ ? gemm_ : unit_) * width * rows;
    if (!adapters.at(target) || !adapters.at(kAdaptExperts)) return 0;
    return ((adapters.dropout ? unit_ + 1 : unit_) * width + unit_ * adapters.expert_rank) * rows;
  }

  // The tokens of all ranks of TP and EP: probabilities and map as they route, kept; hidden states in a buffer that all
  // layers share, and their gradients (Megatron-LM core/transformer/moe/token_dispatcher.py:275).
  void Gathered(double latent, bool dropped, Piece* piece) const {
    if (c_.ep <= 1 && c_.etp <= 1) return;
    const double tokens = split_ * c_.ep * c_.etp;
    constexpr double kProbabilityAndMap = 5;
    Keep(kProbabilityAndMap * D(s_.experts) * tokens, dropped, piece);
    piece->backward += 2 * unit_ * latent * tokens;
  }

  Piece Experts(Piece* shared) const {
    Piece piece;
    const bool all = Drops(kDropMoe);
    const bool router = all || Drops(kDropOverlapPostAttention);
    const bool computed = all || Drops(kDropOverlapExperts);  // what the experts make of their input
    // The norm's output feeds the router, the dispatcher and the shared experts; `moe` starts after it.
    KeepResidual(kOffloadMlpNorm, &piece);
    // Its output is the shared experts' input, which recomputing them needs.
    const bool norm_dropped = Drops(kDropLayernorm) || (Drops(kDropOverlapPostAttention) && s_.shared_ffn == 0);
    Keep(unit_ * h_ * stream_, norm_dropped, &piece);
    if (s_.shared_ffn > 0) {
      *shared = Dense(D(s_.shared_ffn), false);
      Keep(InputBytes(kAdaptFc1, h_, stream_, c_.sequence_parallel ? all_ : stream_, 1, true),
           computed || Drops(kDropSharedExperts), shared);
      if (Offloads(kOffloadPreMlpNormOutput) && computed && !norm_dropped) piece.offloaded += unit_ * h_ * stream_;
    }
    // Router: FP32 logits and probabilities, a map of bytes.
    Keep(9 * D(s_.experts) * stream_, router, &piece);
    const double latent = D(s_.latent > 0 ? s_.latent : s_.hidden);
    if (s_.latent > 0) Keep((low_ ? gemm_ : unit_) * latent * stream_ * 2, all, &piece);
    // Token copies that reach this rank's experts.
    const double rows = split_ * D(s_.topk) * c_.etp * c_.imbalance;
    const double width = D(s_.expert_ffn) / c_.etp;
    // What recomputes the experts starts from their input as it arrived, before it is quantized.
    const double input = Drops(kDropOverlapExperts) ? unit_ * latent * rows : ExpertInputBytes(kAdaptFc1, latent, rows);
    Keep(12 * rows, all, &piece);  // probabilities and maps
    KeepOrOffload(input, all, Drops(kDropOverlapExperts) ? kOffloadDispatchedInput : kOffloadExpertFc1, &piece);
    const double first = FirstBytes() * (s_.gated ? 2 : 1) * width * rows;
    KeepOrOffload(first, computed, kOffloadMoeAct, &piece);
    Keep(ExpertInputBytes(kAdaptFc2, width, rows), computed || Drops(kDropMoeAct), &piece);
    piece.backward += unit_ * ((s_.gated ? 3 : 2) * width + 2 * latent) * rows;
    if (c_.dispatcher == Dispatcher::kAllGather) Gathered(latent, all, &piece);
    return piece;
  }

  const ModelShape& s_;
  const Candidate& c_;
  const LayerKind& kind_;
  const double unit_, residual_, gemm_;
  const bool low_;
  const double all_, split_, stream_, h_;
};

}  // namespace

LayerBytes BytesOfLayer(const ModelShape& shape, const Candidate& candidate, const LayerKind& kind) {
  return Layer(shape, candidate, kind).Bytes();
}

}  // namespace flightplan
