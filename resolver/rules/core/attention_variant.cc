// Experimental attention: gated delta net (gdn) and DeepSeek sparse attention (dsa).
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "resolver/base/integers.h"
#include "resolver/base/saturating.h"
#include "resolver/rules/core/fix_util.h"
#include "resolver/rules/core/hybrid_util.h"
#include "resolver/rules/core/te_attention_util.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Dsa(F f) { return f.is(K::experimental_attention_variant, "dsa"); }

// Ranks that the heads are split over: context-parallel ranks count from core 0.18 on.
int64_t HeadRanks(F f) {
  const int64_t tp = f.num(K::tensor_model_parallel_size);
  return f.core(18) ? SaturatingMul(tp, f.num(K::context_parallel_size)) : tp;
}

// The head counts are the model's: shrink TP and CP until both divide.
std::vector<Patch> FewerHeadRanks(F f) {
  const int64_t heads = f.num(K::linear_num_key_heads);
  const int64_t value_heads = f.num(K::linear_num_value_heads);
  const int64_t tp = std::max<int64_t>(1, f.num(K::tensor_model_parallel_size));
  auto fits = [&](int64_t ranks) {
    return Divisible(heads, ranks) && Divisible(value_heads, ranks) &&
           Divisible(f.num(K::num_attention_heads), ranks) && Divisible(f.num(K::num_query_groups), ranks);
  };
  Patch patch;
  if (f.num(K::context_parallel_size) > 1) patch.push_back(Assign(K::context_parallel_size, 1));
  int64_t fitting = tp;
  while (fitting > 1 && !fits(fitting)) fitting = LargestDivisorUpTo(heads, fitting - 1);
  if (fitting != tp) patch.push_back(Assign(K::tensor_model_parallel_size, fitting));
  if (fitting == 1 && f.on(K::sequence_parallel)) patch.push_back(Assign(K::sequence_parallel, false));
  return {patch};
}

bool AllGather(const Value& type) {
  if (!type.is_text()) return false;
  const absl::string_view text = type.text();
  return absl::EqualsIgnoreCase(text, "allgather") || absl::EqualsIgnoreCase(text, "all_gather");
}

bool SplitWithoutAllGather(F f) {
  if (!Dsa(f) || f.num(K::context_parallel_size) <= 1) return false;
  const Value& types = f.value(K::cp_comm_type);
  if (!types.is_list()) return !AllGather(types);
  return !std::all_of(types.list().begin(), types.list().end(), AllGather);
}

// That nothing is installed says so of these kernels, too, as does a list that names another of them; one of
// dispatchers alone does not.
bool KernelMissing(F f) {
  if (!Dsa(f) || !f.env().capabilities_known || !f.env().has_cuda) return false;
  const auto& installed = f.env().capabilities;
  const auto has = [&](const auto& kernel) { return installed.find(kernel) != installed.end(); };
  const bool listed = installed.empty() || has("tilelang") || has("cudnn");
  return f.in(K::dsa_kernel_backend, {"tilelang", "cudnn"}) && listed && !has(f.text(K::dsa_kernel_backend));
}

// What the input projection makes of a token; gdn2 gates each channel and gdn each head.
bool OddGdnProjection(F f) {
  if (f.fork() || !GatedDeltaNet(f) || !f.on(K::fp8)) return false;
  const int64_t value_heads = f.num(K::linear_num_value_heads);
  const int64_t keys = SaturatingMul(f.num(K::linear_num_key_heads), f.num(K::linear_key_head_dim));
  const int64_t values = SaturatingMul(value_heads, f.num(K::linear_value_head_dim));
  const bool channels = f.is(K::experimental_attention_variant, "gdn2");
  const int64_t align = f.is(K::fp8_recipe, "mxfp8") ? 32 : 16;
  const int64_t gates = channels ? 2 * (keys % align) + values % align : 2 * (value_heads % align);
  return (2 * (keys % align) + 2 * (values % align) + gates) % align != 0;
}

const Rule kRules[] = {
    {.id = "attnvar.gated-delta-net-alias",
     .area = "model",
     .kind = Kind::kWarning,
     TRANSFORMER_CONFIG(1405),
     .core = {.since = kMain},
     .reads = {K::experimental_attention_variant},
     .when = [](F f) { return f.is(K::experimental_attention_variant, "gated_delta_net"); },
     .needs = "the variant is called 'gdn' now",
     .fixes = {{{K::experimental_attention_variant, "gdn"}}}},
    {.id = "attnvar.gated-delta-net-renamed",
     .area = "model",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(1406),
     .core = {.since = kMain},
     .reads = {K::experimental_attention_variant},
     .change =
         [](Editor& e) {
           if (e.facts().is(K::experimental_attention_variant, "gated_delta_net")) {
             e.Set(K::experimental_attention_variant, "gdn");
           }
         }},
    {.id = "gdn.requires-freq",
     .area = "linear-attention",
     TRANSFORMER_CONFIG(1475),
     .core = {.since = 16},
     .reads = {K::experimental_attention_variant, K::linear_attention_freq},
     .when =
         [](F f) {
           return GatedDeltaNet(f) && !f.is(K::experimental_attention_variant, "gdn2") &&
                  f.none(K::linear_attention_freq);
         },
     .needs = "linear_attention_freq says which layers are gated delta net layers",
     .fixes = {{{K::linear_attention_freq, 4}}}},
    {.id = "gdn.requires-conv-kernel-dim",
     .area = "linear-attention",
     TRANSFORMER_CONFIG(1480),
     .core = {.since = 16},
     .reads = {K::experimental_attention_variant, K::linear_conv_kernel_dim},
     .when = [](F f) { return GatedDeltaNet(f) && f.none(K::linear_conv_kernel_dim); },
     .needs = "gated delta net needs linear_conv_kernel_dim",
     .fixes = {{{K::linear_conv_kernel_dim, 4}}}},
    {.id = "gdn.requires-key-head-dim",
     .area = "linear-attention",
     TRANSFORMER_CONFIG(1483),
     .core = {.since = 16},
     .reads = {K::experimental_attention_variant, K::linear_key_head_dim},
     .when = [](F f) { return GatedDeltaNet(f) && f.none(K::linear_key_head_dim); },
     .needs = "gated delta net needs linear_key_head_dim",
     .fixes = {{{K::linear_key_head_dim, 128}}}},
    {.id = "gdn.requires-value-head-dim",
     .area = "linear-attention",
     TRANSFORMER_CONFIG(1486),
     .core = {.since = 16},
     .reads = {K::experimental_attention_variant, K::linear_value_head_dim},
     .when = [](F f) { return GatedDeltaNet(f) && f.none(K::linear_value_head_dim); },
     .needs = "gated delta net needs linear_value_head_dim",
     .fixes = {{{K::linear_value_head_dim, 128}}}},
    {.id = "gdn.requires-num-key-heads",
     .area = "linear-attention",
     TRANSFORMER_CONFIG(1489),
     .core = {.since = 16},
     .reads = {K::experimental_attention_variant, K::linear_num_key_heads},
     .when = [](F f) { return GatedDeltaNet(f) && f.none(K::linear_num_key_heads); },
     .needs = "gated delta net needs linear_num_key_heads",
     .fix =
         [](F f) {
           const Value& heads =
               f.none(K::linear_num_value_heads) ? f.value(K::num_attention_heads) : f.value(K::linear_num_value_heads);
           return std::vector<Patch>{{Assign(K::linear_num_key_heads, heads)}};
         }},
    {.id = "gdn.requires-num-value-heads",
     .area = "linear-attention",
     TRANSFORMER_CONFIG(1492),
     .core = {.since = 16},
     .reads = {K::experimental_attention_variant, K::linear_num_value_heads},
     .when = [](F f) { return GatedDeltaNet(f) && f.none(K::linear_num_value_heads); },
     .needs = "gated delta net needs linear_num_value_heads",
     .fix =
         [](F f) {
           const Value& heads =
               f.none(K::linear_num_key_heads) ? f.value(K::num_attention_heads) : f.value(K::linear_num_key_heads);
           return std::vector<Patch>{{Assign(K::linear_num_value_heads, heads)}};
         }},
    {.id = "gdn.value-heads-multiple-of-key-heads",
     .area = "linear-attention",
     TRANSFORMER_CONFIG(1495),
     .core = {.since = 16},
     .reads = {K::linear_num_value_heads, K::linear_num_key_heads},
     .when =
         [](F f) {
           return GatedDeltaNet(f) && f.set(K::linear_num_value_heads) && f.set(K::linear_num_key_heads) &&
                  !Divisible(f.num(K::linear_num_value_heads), f.num(K::linear_num_key_heads));
         },
     .needs = "every key head serves the same number of value heads",
     .fix =
         [](F f) { return std::vector<Patch>{{Assign(K::linear_num_value_heads, f.value(K::linear_num_key_heads))}}; }},
    {.id = "gdn.no-cp",
     .area = "linear-attention",
     OLDER_TRANSFORMER_CONFIG("0.17.1", 1115, 1501),
     .core = {.since = 16, .until = 17},
     .reads = {K::experimental_attention_variant, K::context_parallel_size},
     .when =
         [](F f) {
           return GatedDeltaNet(f) && f.set(K::context_parallel_size) && f.num(K::context_parallel_size) != 1;
         },
     .needs = "gated delta net has no context parallelism before core 0.18",
     .fixes = {{{K::context_parallel_size, 1}}}},
    {.id = "gdn.key-heads-tp-cp",
     .area = "divisibility",
     TRANSFORMER_CONFIG(1502),
     .core = {.since = 16},
     .reads = {K::linear_num_key_heads, K::tensor_model_parallel_size, K::context_parallel_size},
     .when =
         [](F f) {
           return GatedDeltaNet(f) && f.set(K::linear_num_key_heads) &&
                  !Divisible(f.num(K::linear_num_key_heads), HeadRanks(f));
         },
     .needs = "tensor- and context-parallel ranks together hold the same number of key heads each",
     .fix = FewerHeadRanks},
    {.id = "gdn.value-heads-tp-cp",
     .area = "divisibility",
     TRANSFORMER_CONFIG(1506),
     .core = {.since = 16},
     .reads = {K::linear_num_value_heads, K::tensor_model_parallel_size, K::context_parallel_size},
     .when =
         [](F f) {
           return GatedDeltaNet(f) && f.set(K::linear_num_value_heads) &&
                  !Divisible(f.num(K::linear_num_value_heads), HeadRanks(f));
         },
     .needs = "tensor- and context-parallel ranks together hold the same number of value heads each",
     .fix = FewerHeadRanks},
    {.id = "build.gdn-fp8-projection",
     .area = "fp8",
     .at = {Phase::kBuild, 207},
     .source = "Megatron-LM:megatron/core/ssm/gated_delta_net/common.py:207",
     .core = {.since = 16},
     .reads = {K::fp8, K::fp8_recipe, K::experimental_attention_variant, K::linear_num_key_heads,
               K::linear_key_head_dim, K::linear_num_value_heads, K::linear_value_head_dim},
     .when = OddGdnProjection,
     .needs = "FP8 needs a multiple of 16, in MXFP8 of 32, outputs of the input projection of gated delta net",
     .fix = [](F f) { return std::vector<Patch>{WithoutFp8(f)}; }},
    {.id = "build.dsa-needs-mla",
     .area = "attention-variant",
     .at = {Phase::kBuild, 101},
     .source = "Megatron-LM:megatron/core/models/gpt/experimental_attention_variant_module_specs.py:101",
     .core = {.since = 16},
     .reads = {K::experimental_attention_variant, K::multi_latent_attention},
     .when = [](F f) { return !f.fork() && Dsa(f) && !IsHybridModel(f) && !f.on(K::multi_latent_attention); },
     .needs = "sparse attention needs multi_latent_attention",
     .fixes = {{{K::experimental_attention_variant, kUnset}}, {{K::multi_latent_attention, true}}}},
    {.id = "dsa.kernel-backend-known",
     .area = "attention-variant",
     .at = {Phase::kModel, 1511, 559},
     .source = "Megatron-LM:megatron/core/utils.py:559",
     .core = {.since = 19},
     .reads = {K::dsa_kernel_backend},
     .when =
         [](F f) {
           return Dsa(f) && !f.in(K::dsa_kernel_backend, {"none", "tilelang", "cudnn"});
         },
     .needs = "dsa_kernel_backend is none, tilelang or cudnn",
     .fixes = {{{K::dsa_kernel_backend, "none"}}}},
    {.id = "dsa.kernel-backend-needs-cuda",
     .area = "attention-variant",
     .at = {Phase::kModel, 1511, 565},
     .source = "Megatron-LM:megatron/core/utils.py:565",
     .core = {.since = 19},
     .reads = {K::dsa_kernel_backend},
     .reads_env = {"cuda"},
     .when =
         [](F f) {
           return Dsa(f) && f.in(K::dsa_kernel_backend, {"tilelang", "cudnn"}) && !f.env().has_cuda;
         },
     .needs = "the fused kernels of sparse attention need a CUDA device",
     .fixes = {{{K::dsa_kernel_backend, "none"}}}},
    {.id = "dsa.kernel-backend-deps",
     .area = "attention-variant",
     .at = {Phase::kModel, 1511, 577},
     .source = "Megatron-LM:megatron/core/utils.py:577",
     .core = {.since = 19},
     .reads = {K::dsa_kernel_backend},
     .when = KernelMissing,
     .needs = "the packages of the chosen sparse-attention kernels are installed",
     .fixes = {{{K::dsa_kernel_backend, "none"}}}},
    {.id = "dsa.cudnn-needs-hopper",
     .area = "attention-variant",
     .at = {Phase::kHardware, 0, 345},
     .source = "Megatron-LM:megatron/core/transformer/experimental_attention_variant/dsa_cudnn_kernels.py:345",
     .core = {.since = 19},
     .reads = {K::dsa_kernel_backend},
     .reads_env = {"cc_major"},
     .when =
         [](F f) {
           return Dsa(f) && f.is(K::dsa_kernel_backend, "cudnn") && f.env().cc_major > 0 && f.env().cc_major < 9;
         },
     .needs = "cuDNN's kernels of sparse attention need Hopper or newer",
     .fixes = {{{K::dsa_kernel_backend, "none"}}}},
    {.id = "dsa.no-linear-bias",
     .area = "attention-variant",
     TRANSFORMER_CONFIG(1513),
     .core = {.since = 19},
     .reads = {K::experimental_attention_variant, K::add_bias_linear},
     .when = [](F f) { return Dsa(f) && f.on(K::add_bias_linear); },
     .needs = "sparse attention has no linear bias",
     .fixes = {{{K::add_bias_linear, false}}}},
    {.id = "dsa.topk-freq-positive",
     .area = "attention-variant",
     TRANSFORMER_CONFIG(1518),
     .core = {.since = 19},
     .reads = {K::dsa_indexer_topk_freq},
     .when = [](F f) { return Dsa(f) && f.num(K::dsa_indexer_topk_freq) < 1; },
     .needs = "dsa_indexer_topk_freq is at least 1",
     .fixes = {{{K::dsa_indexer_topk_freq, 1}}}},
    {.id = "dsa.topk-offset-nonneg",
     .area = "attention-variant",
     TRANSFORMER_CONFIG(1522),
     .core = {.since = 19},
     .reads = {K::dsa_indexer_skip_topk_offset},
     .when = [](F f) { return Dsa(f) && f.num(K::dsa_indexer_skip_topk_offset) < 0; },
     .needs = "dsa_indexer_skip_topk_offset is not negative",
     .fixes = {{{K::dsa_indexer_skip_topk_offset, 0}}}},
    {.id = "dsa.no-rope-fusion",
     .area = "attention-variant",
     TRANSFORMER_CONFIG(3163),
     .core = {.since = 16},
     .reads = {K::experimental_attention_variant, K::apply_rope_fusion},
     .when = [](F f) { return Dsa(f) && f.on(K::apply_rope_fusion); },
     .needs = "sparse attention has no fused RoPE",
     .fixes = {{{K::apply_rope_fusion, false}}}},
    {.id = "dsa.no-cp",
     .area = "attention-variant",
     OLDER_TRANSFORMER_CONFIG("0.18.2", 2543, 3164),
     .core = {.since = 16, .until = 18},
     .reads = {K::experimental_attention_variant, K::context_parallel_size},
     .when = [](F f) { return Dsa(f) && f.num(K::context_parallel_size) > 1; },
     .needs = "sparse attention has no context parallelism before core 0.19",
     .fixes = {{{K::context_parallel_size, 1}}}},
    {.id = "dsa.cp-allgather",
     .area = "attention-variant",
     TRANSFORMER_CONFIG(3170),
     .core = {.since = 19},
     .reads = {K::experimental_attention_variant, K::context_parallel_size, K::cp_comm_type},
     .when = SplitWithoutAllGather,
     .needs = "sparse attention splits the context with cp_comm_type=allgather only",
     .fixes = {{{K::cp_comm_type, "allgather"}}, {{K::context_parallel_size, 1}}}},
};

}  // namespace

RuleList CoreAttentionVariantRules() { return kRules; }

}  // namespace flightplan
