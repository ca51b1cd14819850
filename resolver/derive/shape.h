// A model as memory and time see it: its few distinct kinds of layers with their sizes, and which layer is of which
// kind. Made once per model; every candidate layout reads it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "resolver/derive/activation.h"
#include "resolver/derive/parameters.h"
#include "resolver/plan/config.h"
#include "resolver/plan/model.h"

namespace flightplan {

enum class AttentionKind : uint8_t {
  kNone,        // a layer of a hybrid stack that is an MLP alone
  kGrouped,     // MHA, GQA, MQA
  kLatent,      // MLA, with or without a sparse indexer
  kGatedDelta,  // gated delta net
  kKimiDelta,   // Kimi delta attention
  kMamba,       // Mamba-2
  kCompressed,  // DeepSeek-V4's compressed sparse attention
  kFactorised,  // multi-matrix factorisation (Step-3)
};

enum class MlpKind : uint8_t {
  kNone,  // a layer of a hybrid stack that is attention or Mamba alone
  kDense,
  kMoe,
};

struct LayerKind {
  AttentionKind attention = AttentionKind::kNone;
  MlpKind mlp = MlpKind::kNone;
  bool indexer = false;        // owns a sparse indexer
  int64_t window = 0;          // tokens a query sees at most; 0: all before it
  int64_t compress_ratio = 0;  // of compressed attention; 0: none
  PartParameters parameters;
  friend bool operator==(const LayerKind&, const LayerKind&);
};

inline constexpr int kMaxLayerKinds = 8;

// Layers by kind.
using KindCounts = std::array<uint16_t, kMaxLayerKinds>;

// Sizes are counts of scalars, 0 where they do not apply. The names are those of ModelSpec without the optional.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): one per model, ordered by subject
struct ModelShape {
  int64_t num_layers = 0;
  int64_t hidden = 0;
  int64_t vocab = 0;           // as the model has it
  int64_t vocab_multiple = 1;  // padded to a multiple of this times TP
  bool tied = false;           // one matrix for input and output
  int64_t positions = 0;       // parameters of learned positions
  PartParameters head;         // final norm and what else closes the stack
  int norms = 2;               // of one layer
  bool gated = true;           // gated MLP: two input projections

  // Attention.
  int64_t heads = 0, groups = 0, head_dim = 0;
  int64_t q_rank = 0, kv_rank = 0, qk_nope = 0, qk_rope = 0, v_dim = 0;  // latent attention; q_rank 0: no compression
  int64_t o_rank = 0, o_groups = 0, mfa_rank = 0, residual_streams = 0;
  int64_t indexer_heads = 0, indexer_dim = 0, indexer_topk = 0;
  int64_t qk_norm_width = 0;  // scalars per token that query and key norms keep: (heads + groups) * head_dim or 0
  bool output_gate = false;
  bool sinks = false;  // the softmax has a term of its own beside the keys
  int64_t linear_key_heads = 0, linear_value_heads = 0, linear_key_dim = 0, linear_value_dim = 0, conv_kernel = 0;
  int64_t mamba_heads = 0, mamba_head_dim = 0, mamba_state = 0, mamba_groups = 0, mamba_chunk = 128;

  // Feed-forward.
  int64_t ffn = 0;
  int64_t experts = 0, topk = 0, expert_ffn = 0, shared_ffn = 0, latent = 0;
  bool shared_gate = false;
  // Group-limited routing: a token's experts come from at most this many of so many groups; 0: no limit.
  int64_t router_groups = 0, router_group_topk = 0;
  Activation activation = Activation::kSwiGlu;
  bool expert_bias = false;  // biases on the experts' linear layers

  // Layers.
  std::array<LayerKind, kMaxLayerKinds> kinds;
  int kind_count = 0;
  std::vector<uint8_t> layer_kinds;  // one per layer: index into `kinds`
  KindCounts totals{};               // layers of each kind, MTP not counted

  // Multi-token prediction: layers of one depth by kind, and everything of one depth (its projection and norms too).
  int64_t mtp_depths = 0;
  bool mtp_repeated = false;  // one block serves every depth
  KindCounts mtp_layers{};
  PartParameters mtp_depth;

  bool is_moe() const { return experts > 0; }
  bool is_mla() const { return kv_rank > 0; }
  int64_t embedding() const { return vocab * hidden; }  // parameters of one unpadded matrix
  // Vocabulary as upstream pads it.
  int64_t PaddedVocab(int64_t tp) const;
  int64_t MoeLayers() const;
  // Layers [begin, end) by kind.
  KindCounts Count(int64_t begin, int64_t end) const;
};

// INVALID_ARGUMENT when the parameters cannot be counted or when there are more kinds of layers than kMaxLayerKinds.
absl::StatusOr<ModelShape> MakeShape(const ModelSpec& model);

// The model as a configuration changes it, with parameters counted anew; empty where it does not: its depth, MTP
// depths, experts, and each size that the caller wrote. A class default says nothing about the model.
std::optional<ModelSpec> ChangedModel(const ModelSpec& model, const Config& config);
// The shape of that, and vocabulary padding. `own`: the model's shape without a change, where it is known; else null.
absl::StatusOr<ModelShape> MakeShape(const ModelSpec& model, const Config& config, const ModelShape* own = nullptr);

}  // namespace flightplan
