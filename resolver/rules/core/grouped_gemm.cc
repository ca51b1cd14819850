// Grouped GEMM and experts kept as one grouped parameter.
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool SingleParameter(F f) { return f.on(K::moe_single_grouped_weight) || f.on(K::moe_single_grouped_bias); }

bool UnsupportedRecipe(F f) {
  if (!f.on(K::moe_single_grouped_weight)) return false;
  // core 0.18 knew the MXFP8 form only.
  if (!f.core(19)) return !(f.on(K::fp8) && f.is(K::fp8_recipe, "mxfp8"));
  return (f.on(K::fp8) && !f.is(K::fp8_recipe, "mxfp8")) || (f.on(K::fp4) && !f.is(K::fp4_recipe, "nvfp4"));
}

constexpr StaticFixes kSeparate = {{{K::moe_single_grouped_weight, false}, {K::moe_single_grouped_bias, false}}};

const Rule kRules[] = {
    {.id = "grouped-gemm.op-fuser-implies-grouped-tensor",
     .area = "grouped-gemm",
     .kind = Kind::kChange,
     TRANSFORMER_CONFIG(1410),
     .core = {.since = kMain},
     .reads = {K::use_transformer_engine_op_fuser, K::moe_grouped_gemm},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.on(K::use_transformer_engine_op_fuser) && f.on(K::moe_grouped_gemm)) {
             e.Set(K::moe_use_grouped_tensor, true);
           }
         }},
    {.id = "grouped-gemm.grouped-tensor-requires-gg",
     .area = "grouped-gemm",
     TRANSFORMER_CONFIG(1414),
     .core = {.since = kMain},
     .reads = {K::moe_use_grouped_tensor, K::moe_grouped_gemm},
     .when = [](F f) { return f.on(K::moe_use_grouped_tensor) && !f.on(K::moe_grouped_gemm); },
     .needs = "grouped tensors are the operands of moe_grouped_gemm",
     .fixes = {{{K::moe_grouped_gemm, true}},
               {{K::moe_use_grouped_tensor, false},
                {K::moe_single_grouped_weight, false},
                {K::moe_single_grouped_bias, false}}}},
    {.id = "grouped-gemm.single-param-requires-gg",
     .area = "grouped-gemm",
     TRANSFORMER_CONFIG(1709),
     .core = {.since = 18},
     .reads = {K::moe_single_grouped_weight, K::moe_single_grouped_bias, K::moe_grouped_gemm},
     .when = [](F f) { return SingleParameter(f) && !f.on(K::moe_grouped_gemm); },
     .needs = "one parameter for all experts needs moe_grouped_gemm",
     .fixes = kSeparate},
    {.id = "grouped-gemm.single-param-te-2.14",
     .area = "version-gate",
     TRANSFORMER_CONFIG(1714),
     .core = {.since = 18},
     .reads = {K::moe_single_grouped_weight, K::moe_single_grouped_bias},
     .reads_env = {"te"},
     .when = [](F f) { return SingleParameter(f) && !f.te_at_least("2.14.0"); },
     .needs = "one parameter for all experts needs Transformer Engine 2.14.0",
     .fixes = kSeparate},
    {.id = "grouped-gemm.single-weight-recipe",
     .area = "grouped-gemm",
     TRANSFORMER_CONFIG(1726),
     .core = {.since = 18},
     .reads = {K::moe_single_grouped_weight, K::fp8, K::fp8_recipe, K::fp4, K::fp4_recipe},
     .when = UnsupportedRecipe,
     .needs = "one weight for all experts works in MXFP8, from core 0.19 also in BF16/FP16 and NVFP4",
     .fixes = kSeparate},
    {.id = "grouped-gemm.single-weight-fp4-param",
     .area = "grouped-gemm",
     TRANSFORMER_CONFIG(1731),
     .core = {.since = kMain},
     .reads = {K::moe_single_grouped_weight, K::fp4, K::fp4_param},
     .when = [](F f) { return f.on(K::moe_single_grouped_weight) && f.on(K::fp4) && !f.on(K::fp4_param); },
     .needs = "one weight for all experts computed in FP4 must be kept in FP4",
     .fixes = {{{K::fp4_param, true}}, {{K::moe_single_grouped_weight, false}}}},
    {.id = "grouped-gemm.single-weight-needs-fuser",
     .area = "grouped-gemm",
     OLDER_TRANSFORMER_CONFIG("0.19.0", 1580, 1735),
     .core = {.since = 19, .until = 19},
     .reads = {K::moe_single_grouped_weight, K::use_transformer_engine_op_fuser},
     .when = [](F f) { return f.on(K::moe_single_grouped_weight) && !f.on(K::use_transformer_engine_op_fuser); },
     .needs = "one weight for all experts needs the op fuser",
     .fixes = {{{K::moe_single_grouped_weight, false}}, {{K::use_transformer_engine_op_fuser, true}}}},
    {.id = "grouped-gemm.single-weight-grouped-tensor",
     .area = "grouped-gemm",
     TRANSFORMER_CONFIG(1737),
     .core = {.since = kMain},
     .reads = {K::moe_single_grouped_weight, K::moe_use_grouped_tensor},
     .when = [](F f) { return f.on(K::moe_single_grouped_weight) && !f.on(K::moe_use_grouped_tensor); },
     .needs = "one weight for all experts needs moe_use_grouped_tensor",
     .fixes = {{{K::moe_use_grouped_tensor, true}, {K::moe_grouped_gemm, true}},
               {{K::moe_single_grouped_weight, false}}}},
    {.id = "grouped-gemm.single-bias-needs-bias",
     .area = "grouped-gemm",
     TRANSFORMER_CONFIG(1739),
     .core = {.since = 18},
     .reads = {K::moe_single_grouped_bias, K::add_bias_linear},
     .when = [](F f) { return f.on(K::moe_single_grouped_bias) && !f.on(K::add_bias_linear); },
     .needs = "one bias for all experts needs a bias: add_bias_linear",
     .fixes = {{{K::moe_single_grouped_bias, false}}}},
    {.id = "grouped-gemm.single-bias-grouped-tensor",
     .area = "grouped-gemm",
     TRANSFORMER_CONFIG(1741),
     .core = {.since = kMain},
     .reads = {K::moe_single_grouped_bias, K::moe_use_grouped_tensor},
     .when = [](F f) { return f.on(K::moe_single_grouped_bias) && !f.on(K::moe_use_grouped_tensor); },
     .needs = "one bias for all experts needs moe_use_grouped_tensor",
     .fixes = {{{K::moe_use_grouped_tensor, true}, {K::moe_grouped_gemm, true}},
               {{K::moe_single_grouped_bias, false}}}},
    // Each parameter gets its place in the buffer that is gathered, unless the gradients' buffer serves for both.
    {.id = "build.single-weight-mxfp8-buffer",
     .area = "grouped-gemm",
     .at = {Phase::kBuild, 1334},
     .source = "Megatron-LM:megatron/core/distributed/param_and_grad_buffer.py:1334",
     .core = {.since = 19},
     .reads = {K::moe_single_grouped_weight, K::fp8_param, K::fp8_recipe, K::use_distributed_optimizer,
               K::reuse_grad_buf_for_mxfp8_param_ag},
     .when =
         [](F f) {
           const bool held = f.set(K::fp8) && f.on(K::fp8_param) && f.is(K::fp8_recipe, "mxfp8");
           return f.on(K::moe_single_grouped_weight) && held && f.on(K::use_distributed_optimizer) &&
                  !f.on(K::use_megatron_fsdp) && !f.on(K::reuse_grad_buf_for_mxfp8_param_ag);
         },
     .needs = "one weight for all experts that is held in MXFP8 is gathered in the gradients' buffer: "
              "reuse_grad_buf_for_mxfp8_param_ag",
     .fixes = {{{K::reuse_grad_buf_for_mxfp8_param_ag, true},
                {K::optimizer_reuse_grad_buf_for_mxfp8_param_ag, true},
                {K::overlap_param_gather, true},
                {K::overlap_grad_reduce, true}},
               {{K::moe_single_grouped_weight, false}}}},
};

}  // namespace

RuleList CoreGroupedGemmRules() { return kRules; }

}  // namespace flightplan
