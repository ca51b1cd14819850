// Sparse attention: DeepSeek's, over the latent and the keys that an indexer chooses, and DeepSeek-V4's over pooled
// keys.
#include <algorithm>

#include "resolver/estimate/layer_terms.h"

namespace flightplan {
namespace {

// Without fused kernels Megatron-Core's operators form the scores of all keys in FP32, causal or not, and pass over
// them one operator after the other. Bytes of a score, counted in the code (NVIDIA/Megatron-LM@d98e8a64dd
// megatron/core/transformer/experimental_attention_variant/dsa.py:59, dsa_masking.py:356): product, scale, mask,
// softmax in eight operators, cast, product. None of it is measured.
constexpr double kScoreBytes = 84, kScoreBytesBack = 110;
// Of the indexer's (dsa.py:517): product, ReLU, weights, sum over heads; and in its loss's backward pass (dsa.py:664).
constexpr double kIndexBytes = 24, kIndexBytesBack = 50;
constexpr double kChoosingBytes = 12;  // of a key's summed score: written, read twice by the search for the largest
// Fused kernels take so many heads at least; fewer are padded (dsa_cudnn_kernels.py:348).
constexpr double kKernelHeads = 64;
// Beside the kernels their lists of chosen keys pass through operators: bounds, two sorts in 64 bits, gathers
// (dsa_cudnn_kernels.py:982, :1040, :1076). Bytes of an entry, and launches.
constexpr double kEntryBytes = 700, kEntryKernels = 50, kLossKernels = 40;
constexpr double kProduct = 2;
constexpr double kProductsBack = 2.5;  // five for two
constexpr double kIndexKernels = 8, kUnfusedKernels = 30;

}  // namespace

void LayerTerms::AddSparse(const AttentionWork& work, Module* module) const {
  const double seq = static_cast<double>(plan_.seq_length), heads = work.heads / t_;
  // How other code than Megatron-Core's computes DeepSeek-V4's is not known here: by kernels of its own.
  const bool fused = plan_.sparse_kernels || work.window > 0;
  // cuBLAS takes FP32 in the units for TF32, as NVIDIA's images set it.
  const double exact_us = rates_.gemm_us[static_cast<size_t>(GemmPrecision::kFp32)], bf16_us = rates_.gemm_us[0];
  Load &fwd = module->fwd, &bwd = module->bwd;
  const double scores = tokens_ * heads * seq;
  const double score_us = kScoreBytes * rates_.memory_us + kProduct * work.qk_size * exact_us;
  if (fused) {
    const double flops =
        kProduct * tokens_ * std::max(heads, kKernelHeads) * (work.qk_size + work.v_size) * KeysOf(work, seq);
    fwd.attention += flops * rates_.attention_forward_us * rates_.attention_forward.wide +
                     kEntryBytes * tokens_ * work.chosen * rates_.memory_us;
    fwd.kernels += kEntryKernels;
    bwd.attention += kProductsBack * flops * rates_.attention_backward_us * rates_.attention_backward.wide;
  } else {
    fwd.attention += scores * (score_us + kProduct * work.v_size * bf16_us);
    bwd.attention += scores * (kScoreBytesBack * rates_.memory_us +
                               2 * kProduct * (work.qk_size * exact_us + work.v_size * bf16_us));
    fwd.kernels += kUnfusedKernels;
    bwd.kernels += kUnfusedKernels;
  }
  if (work.index_width > 0) AddIndexer(work, fused, score_us * scores, module);
  if (t_ > 1 && plan_.sequence_parallel) {
    // The latent, and the indexer's input, which all ranks have whole.
    const double values = tokens_ * (work.qk_size + (work.index_width > 0 ? h_ : 0)) * (t_ - 1) / t_;
    const double us = k_.collective_latency_us + kBf16Bytes * values * LinkUs(plan_.tp);
    fwd.transfer += us;
    bwd.transfer += us;
  }
  if (plan_.cp <= 1) return;
  // The latents of all ranks are gathered before the first score, and their gradients summed behind the last.
  const double keys = tokens_ * (plan_.cp - 1) / work.ratio;
  const double index = work.index_width > 0 ? work.index_width / work.index_heads : 0;
  const auto gather = [&](double width, Load* load) {
    const double us = 2 * k_.collective_latency_us + kBf16Bytes * keys * width * LinkUs(t_ * plan_.cp);
    load->transfer += us;
    load->context += us;
  };
  gather(work.qk_size + index, &fwd);
  gather(work.qk_size, &bwd);
}

// It scores every key for every query, on each rank of TP; its loss compares that with attention's own scores, of which
// `target_us` is the time to form all.
void LayerTerms::AddIndexer(const AttentionWork& work, bool fused, double target_us, Module* module) const {
  Load &fwd = module->fwd, &bwd = module->bwd;
  const double seq = static_cast<double>(plan_.seq_length), keys = seq / work.ratio, pairs = tokens_ * keys;
  const double linear_us = kProduct * tokens_ * work.index_weights * rates_.gemm_us[0];
  const bool trained = plan_.indexer_loss != IndexerLoss::kNone && !Frozen();
  fwd.matmul += linear_us;
  fwd.kernels += kIndexKernels;
  if (trained) module->wgrad.matmul += linear_us;
  if (fused) {
    const double met = plan_.indexer_loss == IndexerLoss::kAll ? keys / 2 : std::min(keys / 2, KeysOf(work, seq));
    fwd.attention += kProduct * pairs / 2 * (work.index_width + work.index_heads) * rates_.attention_forward_us +
                     kChoosingBytes * pairs * rates_.memory_us;
    if (!trained) return;
    fwd.kernels += kLossKernels;
    fwd.attention += kProduct * tokens_ * met * work.heads / t_ * work.qk_size * rates_.attention_forward_us;
    bwd.attention += 2 * kProduct * tokens_ * met * work.index_width * rates_.attention_backward_us;
    return;
  }
  const double exact_us = rates_.gemm_us[static_cast<size_t>(GemmPrecision::kFp32)];
  const double own_us = kProduct * work.index_width * exact_us;
  const double index_us = rates_.indexer_us > 0
                              ? pairs * work.index_width * rates_.indexer_us
                              : pairs * (own_us + (kIndexBytes * work.index_heads + kChoosingBytes) * rates_.memory_us);
  fwd.attention += index_us;
  if (!trained) return;
  fwd.attention += target_us;
  bwd.attention += target_us + index_us + pairs * (2 * own_us + kIndexBytesBack * work.index_heads * rates_.memory_us);
}

}  // namespace flightplan
