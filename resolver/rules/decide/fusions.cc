// Fused kernels, where the libraries carry them.
#include "absl/strings/str_cat.h"
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"
#include "resolver/rules/decide/rows.h"

namespace flightplan::decide {

namespace {

using K = Knob;
constexpr absl::string_view kRule = "decide.fusions";

constexpr Row kGroupedGemm[] = {
    {.value = true, .why = "one grouped GEMM for all local experts", .cites = {evidence::kMoeGuide}},
};

constexpr Row kBiasDropout[] = {
    {.when = [](D d) { return d.on(K::moe_grouped_gemm) && d.on(K::add_bias_linear) && d.on(K::bias_dropout_fusion); },
     .value = false,
     .why = "grouped experts with a bias cannot fuse bias and dropout",
     .cites = {"Megatron-LM@d98e8a64dd megatron/core/transformer/moe/experts.py:205"}},
};

constexpr Row kAttention[] = {
    {.when = [](D d) { return d.f.shape.sinks && d.is(K::attention_backend, "flash"); },
     .value = "auto",
     .why = "flash attention, this stack's default, has no sinks: Transformer Engine takes a backend that has",
     .cites = {"verl-project/verl#5224"}},
};

constexpr Row kSquaredRelu[] = {
    {.when =
         [](D d) {
           return !d.f.bring_up && d.is(K::activation_func, "squared_relu") && d.on(K::moe_grouped_gemm) &&
                  !d.on(K::add_bias_linear);
         },
     .value = true,
     .why = "the experts' activation and their routing weights in one kernel",
     .cites = {"Megatron-Bridge@067f987df recipes/nemotronh/h100/nemotron_3_nano.py:52"}},
};

// Stacks' own images have them (pyproject.toml of Megatron-LM and Megatron-Bridge: flash_mla), and no door lists them:
// only that nothing is installed says that they are not.
bool SparseKernelsRun(D d) {
  const Environment& env = d.intent.env;
  return d.is(K::experimental_attention_variant, "dsa") && (d.f.hopper || d.f.mxfp8) &&
         d.on(K::dsa_indexer_scoring_relu) && !d.is(K::attention_backend, "unfused") &&
         !(env.capabilities_known && env.capabilities.empty());
}

constexpr Row kSparseAttention[] = {
    {.when = SparseKernelsRun,
     .value = "cudnn",
     .why = "without kernels of its own sparse attention forms the scores of all keys in FP32",
     .cites = {"Megatron-LM@d98e8a64dd megatron/core/transformer/experimental_attention_variant/dsa.py:59",
               "Megatron-Bridge@067f987df recipes/glm/h100/glm5.py:62"},
     .then = [](Deliberation& d) { d.f.candidate.sparse_kernels = true; }},
};

// Fused permutation broke with newer Triton releases, so it stays out of a bring-up.
constexpr absl::string_view kTritonBreaks = "NVIDIA/TransformerEngine#2579";
constexpr Row kPermutation[] = {
    {.when = [](D d) { return d.f.bring_up; },
     .value = false,
     .why = "bring-up: the fused permutation is the part that library versions break",
     .cites = {kTritonBreaks}},
    {.when = [](D d) { return d.te_at_least("2.1.0"); },
     .value = true,
     .why = "Transformer Engine has the fused permutation",
     .cites = {kTritonBreaks}},
    {.value = false, .why = "needs Transformer Engine 2.1", .cites = {kTritonBreaks}},
};

constexpr Row kRouter[] = {
    {.when = [](D d) { return d.te_at_least("2.7.0") && !d.f.bring_up; },
     .value = true,
     .why = "top-k and auxiliary loss in one kernel each"},
    {.value = false, .why = "needs Transformer Engine 2.7"},
};

constexpr Row kRope[] = {
    {.when = [](D d) { return d.f.mla && !d.is(K::rope_type, "yarn"); },
     .value = false,
     .why = "the fused rotary kernel of MLA exists for YaRN only",
     .cites = {"Megatron-LM@d98e8a64dd megatron/core/transformer/transformer_config.py"}},
};

bool WillTakeTeLoss(D d) { return TakesTeLoss(d.config(), d.intent.env); }
bool WritesInPlace(const Environment& env) { return TeLossOf(env) == LossKind::kTeFused; }

void TakeTeLoss(Deliberation& d) {
  const Environment& env = d.intent.env;
  constexpr char kInPlace[] = "writes the gradient in place", kOnePass[] = "its kernel goes over the logits once";
  constexpr char kWarned[] =
      ", as Bridge's recipes have it; upstream warns of it (ce-fusion.te-unstable), and native takes more memory";
  d.Follow(K::cross_entropy_fusion_impl, "te", K::cross_entropy_loss_fusion, kRule,
           absl::StrCat(WritesInPlace(env) ? kInPlace : kOnePass, env.core_release < 18 ? "" : kWarned));
}

constexpr Row kCrossEntropy[] = {
    {.when = [](D d) { return d.on(K::deterministic_mode); },
     .value = false,
     .why = "Megatron-LM and Megatron-Bridge exclude it in deterministic mode",
     .cites = {"Megatron-LM@d98e8a64dd megatron/training/determinism.py:146"}},
    {.when = [](D d) { return WillTakeTeLoss(d) && WritesInPlace(d.intent.env); },
     .value = true,
     .why = "keeps one copy of the logits instead of three",
     .then = TakeTeLoss},
    {.when = WillTakeTeLoss,
     .value = true,
     .why = "one kernel where each operator goes over all logits",
     .then = TakeTeLoss},
    {.value = true,
     .why = "compiled passes over the logits where each operator is one; it holds 4 bytes a logit more while it runs"},
};

}  // namespace

bool UnfuseLossForRoom(Deliberation& d, absl::FunctionRef<bool(const Features&)> fits) {
  if (d.f.candidate.loss != LossKind::kNativeFused || !d.open(K::cross_entropy_loss_fusion) || fits(d.f)) return false;
  Features unfused = d.f;
  unfused.candidate.loss = LossKind::kUnfused;
  if (!fits(unfused)) return false;
  d.f.candidate.loss = LossKind::kUnfused;
  d.Choose(
      K::cross_entropy_loss_fusion, false,
      {.rule_id = kRule,
       .reason = absl::StrCat("its native kernel holds 4 bytes a logit more, which do not fit by the closed formulas, ",
                              KeptFree(d.f)),
       .basis = Basis::kEstimate,
       .alternatives = {{Value(true), "saves passes over the logits, and what else would make its room costs more"}}});
  return true;
}

void DecideSparseAttention(Deliberation& d) { Choose(d, K::dsa_kernel_backend, kRule, kSparseAttention); }

void DecideFusions(Deliberation& d) {
  if (d.f.moe) {
    Choose(d, K::moe_grouped_gemm, kRule, kGroupedGemm);
    Choose(d, K::bias_dropout_fusion, kRule, kBiasDropout);
    Choose(d, K::use_fused_weighted_squared_relu, kRule, kSquaredRelu);
    Choose(d, K::moe_permute_fusion, kRule, kPermutation);
    Choose(d, K::moe_router_fusion, kRule, kRouter);
  }
  Choose(d, K::attention_backend, kRule, kAttention);
  Choose(d, K::apply_rope_fusion, kRule, kRope);
  Choose(d, K::cross_entropy_loss_fusion, kRule, kCrossEntropy);
  if (d.pinned(K::cross_entropy_loss_fusion) && d.on(K::cross_entropy_loss_fusion) && WillTakeTeLoss(d)) TakeTeLoss(d);
}

}  // namespace flightplan::decide
