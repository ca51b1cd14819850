// One way to train a model on a number of GPUs: everything that memory and step time depend on, as plain numbers. A
// planner makes millions of them; a full configuration is read into one by CandidateOf. Copying is a memcpy; nothing
// here owns memory: `stages` is shared by all candidates with the same pipeline.
#pragma once

#include <cstdint>

#include "resolver/derive/adapters.h"
#include "resolver/derive/shape.h"
#include "resolver/derive/stage_layout.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"

namespace flightplan {

// Bytes of an element.
inline constexpr double kBf16Bytes = 2, kFp32Bytes = 4;

enum class GemmPrecision : uint8_t { kBf16, kFp16, kFp32, kFp8Delayed, kFp8Tensorwise, kFp8Blockwise, kMxfp8, kNvfp4 };
enum class Dispatcher : uint8_t { kAllGather, kAllToAll, kDeepEp, kHybridEp, kNcclEp };
enum class GraphImpl : uint8_t { kNone, kLocal, kTransformerEngine, kFullIteration };
enum class CpComm : uint8_t { kP2p, kAllGather, kAllToAll, kAllToAllP2p };
enum class LossKind : uint8_t { kUnfused, kNativeFused, kTeFused, kTeFusedInFp32, kLinearFused };
enum class AttentionBackend : uint8_t { kAuto, kFlash, kFused, kUnfused, kLocal };
enum class RecomputeMode : uint8_t { kNone, kSelective, kFullUniform, kFullBlock };

// What selective recompute drops.
enum RecomputeModule : uint16_t {
  kDropCoreAttn = 1u << 0,
  kDropLayernorm = 1u << 1,
  kDropMlaUpProj = 1u << 2,
  kDropMoeAct = 1u << 3,
  kDropMlp = 1u << 4,
  kDropSharedExperts = 1u << 5,
  kDropMoe = 1u << 6,
  kDropLinearAttention = 1u << 7,  // gdn_norm_out and its kin
  kDropMhc = 1u << 8,
  // LoongForge, inside the EP-overlap schedule (a2a_overlap_*): all of the attention; the norm, router and dispatch
  // preprocessing after it; the routed and shared experts.
  kDropOverlapAttention = 1u << 9,
  kDropOverlapPostAttention = 1u << 10,
  kDropOverlapExperts = 1u << 11,
};
// What costs next to nothing to compute again: no matrix product is.
constexpr unsigned kDropLight = kDropMoeAct | kDropLayernorm;
constexpr unsigned kDropWithinOverlap = kDropOverlapAttention | kDropOverlapPostAttention | kDropOverlapExperts;

// One more set of modules to recompute, and those among the earlier ones that it contains.
struct DropStep {
  unsigned add = 0;
  unsigned contains = 0;
};
// What LoongForge computes again within its overlap schedule, in the order in which more is taken.
inline constexpr DropStep kWithinOverlapSteps[] = {{kDropOverlapExperts, kDropMoeAct | kDropSharedExperts},
                                                   {kDropOverlapAttention, kDropMlaUpProj},
                                                   {kDropOverlapPostAttention, kDropLayernorm}};

// What fine-grained offloading moves to the host.
enum OffloadModule : uint16_t {
  kOffloadAttnNorm = 1u << 0,
  kOffloadQkvLinear = 1u << 1,
  kOffloadCoreAttn = 1u << 2,
  kOffloadAttnProj = 1u << 3,
  kOffloadMlpNorm = 1u << 4,
  kOffloadExpertFc1 = 1u << 5,
  kOffloadMoeAct = 1u << 6,
  // LoongForge's tensors: the inputs of recomputed experts, so nothing without kDropOverlapExperts.
  kOffloadDispatchedInput = 1u << 7,
  kOffloadPreMlpNormOutput = 1u << 8,
};

// What a layer-scoped CUDA graph captures.
enum GraphModule : uint8_t {
  kGraphAttn = 1u << 0,
  kGraphMlp = 1u << 1,
  kGraphMoe = 1u << 2,
  kGraphMoeRouter = 1u << 3,
  kGraphMoePreprocess = 1u << 4,
  kGraphMamba = 1u << 5,
};

// What goes with the optimizer's state on the host, so that its copies run beside the step.
inline constexpr Knob kOffloadCompanions[] = {Knob::use_precision_aware_optimizer, Knob::overlap_cpu_optimizer_d2h_h2d};

// Growth of the busiest expert rank over the mean, of so many ranks and more, while routing is neither forced nor
// capped: the usual allowance.
inline constexpr int kUnevenExpertRanks = 8;
inline constexpr float kTrainingImbalance = 1.25F;

// What trains a sparse attention's indexer, against the attention over the chosen keys or over all.
enum class IndexerLoss : uint8_t { kNone, kChosen, kAll };

struct Candidate {
  const StageLayout* stages = nullptr;

  int64_t gpus = 1;
  int32_t tp = 1, pp = 1, vpp = 1, cp = 1, ep = 1, etp = 1;
  int32_t microbatch_group = 0;  // microbatch_group_size_per_vp_stage; 0: pp
  int64_t micro_batch_size = 1;
  int64_t global_batch_size = 1;
  int64_t seq_length = 0;
  bool sequence_parallel = false;

  GemmPrecision precision = GemmPrecision::kBf16;
  bool low_precision_weights = false;  // weights themselves are kept in the GEMMs' precision
  bool fp32_values = false;            // neither bf16 nor fp16: what GEMMs of low precision take and give is FP32
  bool activation_fp8_store = false;   // activation_func_fp8_input_store: input of the activation kept in 8 bits
  uint8_t gradient_bytes = 4;          // of the gradient buffer, per parameter
  uint8_t main_param_bytes = 4, moment1_bytes = 4, moment2_bytes = 4;
  bool one_moment_of_matrices = false;  // Muon: the second is of embeddings alone, which stay Adam's
  bool whole_parameters = false;        // the distributed optimizer's ranks have each parameter whole or not at all
  bool precision_aware = false;         // the optimizer takes gradients and states as they are kept
  bool gradient_copy = false;           // the optimizer makes an FP32 copy of its gradient shard for its step
  bool distributed_optimizer = false;
  bool shard_gradients = false;     // FSDP: over the data-parallel group
  bool shard_weights = false;       // FSDP: gathered one layer at a time
  bool whole_vocabulary = false;    // Megatron-FSDP: what is no layer stays gathered to the end of a step
  int32_t optimizer_instances = 1;  // groups of replicas that each hold the whole state, or FSDP's shards
  bool outer_shards_state = false;  // FSDP: the optimizer's state is divided over those groups too
  bool whole_moments = false;       // HoldsWholeMoments
  float optimizer_offload = 0;      // fraction of the optimizer state on the host

  RecomputeMode recompute = RecomputeMode::kNone;
  uint16_t recompute_modules = 0;  // RecomputeModule bits, selective only
  int32_t recompute_layers = 1;    // full only: group (uniform) or number of layers per chunk (block)
  bool distribute_saved = false;   // full: saved inputs split over TP without sequence parallelism
  uint16_t offload_modules = 0;    // OffloadModule bits
  float offload_fraction = 1;
  int32_t offload_layers = 0;  // cpu_offloading: whole layers

  Dispatcher dispatcher = Dispatcher::kAllToAll;
  uint16_t num_sms = 0;     // of a flex dispatcher; 0: the library's default
  bool ep_overlap = false;  // overlap_moe_expert_parallel_comm
  bool early_attn_release = false;
  bool delay_wgrad = false;
  bool shared_expert_overlap = false;
  bool wgrad_under_dispatch = false;  // overlap_dispatch_backward_with_experts_wgrad
  bool grouped_gemm = true;           // else a module of its own for each expert
  bool permute_fusion = true;
  bool activation_fusion = true;  // activation and bias, or routing weight, in one kernel, where the stack has one
  bool router_fusion = false;
  bool pad_for_quantization = false;  // rows of every expert padded to a multiple of 16 or 32
  bool drop_pad = false;              // capacity factor with padded inputs
  bool paged_stash = false;
  float capacity_factor = 0;       // moe_expert_capacity_factor; 0: dropless
  float rank_capacity_factor = 0;  // moe_expert_rank_capacity_factor: static buffers; 0: sized by what arrives
  // Rows of the busiest expert rank against an even share of the tokens that are routed; 1 under forced balance.
  float imbalance = 1;

  bool tp_overlap = false, overlap_grad_reduce = false, overlap_param_gather = false, overlap_p2p = true;
  GraphImpl graphs = GraphImpl::kNone;
  uint8_t graph_modules = 0;  // GraphModule bits; 0 with an implementation: the whole layer
  LossKind loss = LossKind::kUnfused;
  bool fp32_logits = false;
  int32_t deferred_outputs = 0;  // microbatches whose gradient of the output layer's weight waits for the last of them
  bool fp32_residual = false;    // the residual stream, also between stages
  bool hidden_dropout = false;   // before each residual sum
  bool attention_dropout = false;
  AttentionBackend attention = AttentionBackend::kAuto;
  bool sparse_kernels = false;  // dsa_kernel_backend: fused, where Megatron-Core's own operators form all scores
  IndexerLoss indexer_loss = IndexerLoss::kNone;
  CpComm cp_comm = CpComm::kP2p;
  uint16_t cp_inside = 0;  // ranks of an all-to-all of a2a+p2p; 0: not said
  bool grad_accumulation_fusion = true;
  bool bias_activation_fusion = true, rope_fusion = true, masked_softmax_fusion = true;
  bool manual_gc = false;
  bool expandable_segments = false;  // PYTORCH_CUDA_ALLOC_CONF
  bool transformer_engine = true;
  bool fused_grouped_mlp = false;         // use_transformer_engine_op_fuser: experts as one fused operator
  bool fp8_attention = false;             // fp8_dot_product_attention
  bool low_precision_head = false;        // fp8_output_proj: the output layer in the other layers' precision
  uint16_t bf16_layers = 0;               // layers at both ends that a low-precision recipe keeps in bf16
  bool overlap_optimizer_copies = false;  // overlap_cpu_optimizer_d2h_h2d
  Adapters adapters;                      // trained in place of the weights
  bool reference_forward = false;         // each forward pass is a reference model's, too
  bool deterministic = false;             // deterministic_mode

  // Rows of the busiest expert rank where the router would send it `routed` times an even share: a capacity bounds
  // them, and with padded inputs every expert takes exactly so many, whatever was sent.
  double BusiestRows(double routed) const;
  // Groups; at least 1, rounded down where the sizes do not come out even (the mesh rules report that).
  int64_t DataParallel() const;
  int64_t ExpertDataParallel() const;
  int64_t Microbatches() const;
  // Attention's scores are a tensor: no kernel takes them tile by tile. Without Transformer Engine's layers there is no
  // other attention (Megatron-LM core/models/backends.py:131).
  bool writes_scores() const {
    return attention == AttentionBackend::kUnfused || attention == AttentionBackend::kLocal || !transformer_engine;
  }
  bool low_precision() const { return precision >= GemmPrecision::kFp8Delayed; }
};

// The Adam of Transformer Engine 2.10 and 2.11 makes its state in the shape that an FSDP shard is a part of: of all
// ranks of data and tensor parallelism (transformer_engine/pytorch/optimizers/fused_adam.py:377).
bool HoldsWholeMoments(const Config& config, const Environment& env);

// Transformer Engine's fused loss: in place in 16 bits, or with its gradient in FP32 beside the logits
// (TransformerEngine#3193, in 2.18; from 2.20 on the logits' statistics are kept instead, #3273).
LossKind TeLossOf(const Environment& env);
// Of a fused loss, by cross_entropy_fusion_impl.
LossKind FusedLossOf(absl::string_view impl, const Environment& env);

// Reads a complete configuration. The candidate points at `stages`, which must outlive it: StagesOf(shape, config).
Candidate CandidateOf(const Config& config, const Environment& env, const ModelShape& shape, const StageLayout& stages);

}  // namespace flightplan
