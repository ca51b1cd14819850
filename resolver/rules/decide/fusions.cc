// Fused kernels, where the libraries carry them.
#include "resolver/plan/stack.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/decide/evidence.h"

namespace flightplan::decide {

void DecideFusions(Deliberation& d) {
  using K = Knob;
  constexpr absl::string_view kRule = "decide.fusions";
  const Environment& env = d.intent.env;
  if (d.f.moe) {
    d.Choose(
        K::moe_grouped_gemm, true,
        {.rule_id = kRule, .reason = "one grouped GEMM for all local experts", .citations = {evidence::kMoeGuide}});
    if (d.on(K::moe_grouped_gemm) && d.on(K::add_bias_linear) && d.on(K::bias_dropout_fusion)) {
      d.Choose(K::bias_dropout_fusion, false,
               {.rule_id = kRule,
                .reason = "grouped experts with a bias cannot fuse bias and dropout",
                .basis = Basis::kRule,
                .citations = {"Megatron-LM@d98e8a64dd megatron/core/transformer/moe/experts.py:205"}});
    }
    // Fused permutation broke with newer Triton releases (NVIDIA/TransformerEngine#2579), so it stays out of a
    // bring-up.
    const bool permute = d.te_at_least("2.1.0") && !d.f.bring_up;
    d.Choose(K::moe_permute_fusion, permute,
             {.rule_id = kRule,
              .reason = permute        ? "Transformer Engine has the fused permutation"
                        : d.f.bring_up ? "bring-up: the fused permutation is the part that library versions break"
                                       : "needs Transformer Engine 2.1",
              .citations = {"NVIDIA/TransformerEngine#2579"}});
    const bool router = d.te_at_least("2.7.0") && !d.f.bring_up;
    d.Choose(K::moe_router_fusion, router,
             {.rule_id = kRule,
              .reason = router ? "top-k and auxiliary loss in one kernel each" : "needs Transformer Engine 2.7"});
  }
  if (d.f.mla && !d.is(K::rope_type, "yarn")) {
    d.Choose(K::apply_rope_fusion, false,
             {.rule_id = kRule,
              .reason = "the fused rotary kernel of MLA exists for YaRN only",
              .citations = {"Megatron-LM@d98e8a64dd megatron/core/transformer/transformer_config.py"}});
  }
  if (d.Choose(K::cross_entropy_loss_fusion, !d.on(K::deterministic_mode),
               {.rule_id = kRule, .reason = "keeps one copy of the logits instead of three"})) {
    // Megatron-LM's command line refuses the TE kernel.
    if (StackOf(env).container && (!env.te_stated || env.te.has_value()) && d.on(K::cross_entropy_loss_fusion)) {
      d.Follow(K::cross_entropy_fusion_impl, "te", K::cross_entropy_loss_fusion, kRule, "writes the gradient in place");
    }
  }
}

}  // namespace flightplan::decide
