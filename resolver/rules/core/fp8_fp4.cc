// FP8 and FP4: recipes, the layers kept in BF16, parameters in low precision.
#include "resolver/base/integers.h"
#include "resolver/rules/core/upstream.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

int64_t LayersPerStage(F f) { return FloorDiv(f.num(K::num_layers), f.num(K::pipeline_model_parallel_size)); }

bool OutsideStage(F f, Knob count) {
  return f.on(K::fp8) && f.on(K::first_last_layers_bf16) && (f.num(count) < 0 || f.num(count) > LayersPerStage(f));
}

std::vector<Patch> LayersWithinStage(F f, Knob count) {
  return {{Assign(count, f.num(count) < 0 ? 0 : LayersPerStage(f))}, {Assign(K::first_last_layers_bf16, false)}};
}

std::string StageDetail(F f) { return "layers per pipeline stage = " + std::to_string(LayersPerStage(f)); }

const Rule kRules[] = {
    {.id = "fp8.delayed-no-first-last-bf16",
     .area = "fp8",
     TRANSFORMER_CONFIG(1530),
     .reads = {K::fp8, K::fp8_recipe, K::first_last_layers_bf16},
     .when = [](F f) { return f.on(K::fp8) && f.on(K::first_last_layers_bf16) && f.is(K::fp8_recipe, "delayed"); },
     .needs = "delayed scaling cannot keep the first and last layers in BF16",
     .fixes = {{{K::first_last_layers_bf16, false}}, {{K::fp8_recipe, "tensorwise"}}}},
    {.id = "fp8.bf16-start-layers-range",
     .area = "fp8",
     TRANSFORMER_CONFIG(1543),
     .reads = {K::num_layers_at_start_in_bf16, K::num_layers, K::pipeline_model_parallel_size},
     .when = [](F f) { return OutsideStage(f, K::num_layers_at_start_in_bf16); },
     .needs = "the BF16 layers at the start fit into one pipeline stage",
     .fix = [](F f) { return LayersWithinStage(f, K::num_layers_at_start_in_bf16); },
     .detail = StageDetail},
    {.id = "fp8.bf16-end-layers-range",
     .area = "fp8",
     TRANSFORMER_CONFIG(1552),
     .reads = {K::num_layers_at_end_in_bf16, K::num_layers, K::pipeline_model_parallel_size},
     .when = [](F f) { return OutsideStage(f, K::num_layers_at_end_in_bf16); },
     .needs = "the BF16 layers at the end fit into one pipeline stage",
     .fix = [](F f) { return LayersWithinStage(f, K::num_layers_at_end_in_bf16); },
     .detail = StageDetail},
    {.id = "fp8.custom-needs-factory",
     .area = "fp8",
     TRANSFORMER_CONFIG(1560),
     .core = {.since = 16},
     .reads = {K::fp8, K::fp8_recipe, K::fp8_quantizer_factory},
     .when = [](F f) { return f.on(K::fp8) && f.is(K::fp8_recipe, "custom") && !f.on(K::fp8_quantizer_factory); },
     .needs = "the custom recipe needs the import path of its quantizer factory",
     .fixes = {{{K::fp8_recipe, "tensorwise"}}, {{K::fp8_recipe, "mxfp8"}}}},
    {.id = "fp8.param-needs-fp8",
     .area = "fp8",
     TRANSFORMER_CONFIG(1567),
     .reads = {K::fp8_param, K::fp8},
     .when = [](F f) { return f.on(K::fp8_param) && !f.on(K::fp8); },
     .needs = "parameters can stay in FP8 only when fp8 is on",
     .fixes = {{{K::fp8_param, false}}}},
    {.id = "fp8.output-proj-needs-fp8",
     .area = "fp8",
     TRANSFORMER_CONFIG(1571),
     .core = {.since = 18},
     .reads = {K::fp8_output_proj, K::fp8},
     .when = [](F f) { return f.on(K::fp8_output_proj) && !f.on(K::fp8); },
     .needs = "the output projection can run in FP8 only when fp8 is on",
     .fixes = {{{K::fp8_output_proj, false}}}},
    {.id = "fp8.output-proj-needs-mxfp8",
     .area = "fp8",
     TRANSFORMER_CONFIG(1573),
     .core = {.since = 18},
     .reads = {K::fp8_output_proj, K::fp8_recipe},
     .when = [](F f) { return f.on(K::fp8_output_proj) && f.on(K::fp8) && !f.is(K::fp8_recipe, "mxfp8"); },
     .needs = "the output projection runs in FP8 with the mxfp8 recipe only",
     .fixes = {{{K::fp8_output_proj, false}}, {{K::fp8_recipe, "mxfp8"}}}},
    {.id = "fp4.param-needs-fp4",
     .area = "fp4",
     TRANSFORMER_CONFIG(1579),
     .reads = {K::fp4_param, K::fp4},
     .when = [](F f) { return f.on(K::fp4_param) && !f.on(K::fp4); },
     .needs = "parameters can stay in FP4 only when fp4 is on",
     .fixes = {{{K::fp4_param, false}}}},
    {.id = "fp4.excludes-fp8",
     .area = "fp4",
     TRANSFORMER_CONFIG(1582),
     .reads = {K::fp4, K::fp8},
     .when = [](F f) { return f.on(K::fp4) && f.on(K::fp8); },
     .needs = "one of fp4 and fp8, not both",
     .fixes = {{{K::fp8, kUnset}, {K::fp8_param, false}}, {{K::fp4, kUnset}, {K::fp4_param, false}}}},
    {.id = "fp4.custom-needs-factory",
     .area = "fp4",
     TRANSFORMER_CONFIG(1586),
     .core = {.since = 16},
     .reads = {K::fp4, K::fp4_recipe, K::fp4_quantizer_factory},
     .when = [](F f) { return f.on(K::fp4) && f.is(K::fp4_recipe, "custom") && !f.on(K::fp4_quantizer_factory); },
     .needs = "the custom recipe needs the import path of its quantizer factory",
     .fixes = {{{K::fp4_recipe, "nvfp4"}}}},
    {.id = "fp8.act-input-store-swiglu",
     .area = "fp8",
     TRANSFORMER_CONFIG(2469),
     .reads = {K::activation_func_fp8_input_store, K::activation_func, K::gated_linear_unit},
     .when =
         [](F f) {
           return f.on(K::activation_func_fp8_input_store) &&
                  !(f.is(K::activation_func, "silu") && f.on(K::gated_linear_unit));
         },
     .needs = "storing the activation input in FP8 works for SwiGLU only",
     .fixes = {{{K::activation_func_fp8_input_store, false}}}},
    {.id = "fp8.moe-te-1.7",
     .area = "version-gate",
     TRANSFORMER_CONFIG(2630),
     .reads = {K::num_moe_experts, K::fp8},
     .reads_env = {"te"},
     .when = [](F f) { return f.on(K::num_moe_experts) && f.on(K::fp8) && !f.te_at_least("1.7.0.dev0"); },
     .needs = "MoE training in FP8 needs Transformer Engine 1.7.0",
     .fixes = {{{K::fp8, kUnset}, {K::fp8_param, false}}}},
    {.id = "fp8.grouped-gemm-te-1.11",
     .area = "version-gate",
     TRANSFORMER_CONFIG(2636),
     .reads = {K::num_moe_experts, K::fp8, K::moe_grouped_gemm},
     .reads_env = {"te"},
     .when =
         [](F f) {
           return f.on(K::num_moe_experts) && f.on(K::fp8) && f.on(K::moe_grouped_gemm) && !f.te_at_least("1.11.0");
         },
     .needs = "grouped GEMM in FP8 needs Transformer Engine 1.11.0",
     .fixes = {{{K::moe_grouped_gemm, false}}, {{K::fp8, kUnset}, {K::fp8_param, false}}}},
    {.id = "build.output-proj-not-deferred",
     .area = "fp8",
     .at = {Phase::kBuild, 1828},
     .source = "Megatron-LM:megatron/core/extensions/transformer_engine.py:1828",
     .core = {.since = 18},
     .reads = {K::fp8_output_proj, K::fp8, K::fp8_recipe, K::defer_embedding_wgrad_compute},
     .when =
         [](F f) {
           return f.on(K::fp8_output_proj) && f.set(K::fp8) && f.is(K::fp8_recipe, "mxfp8") &&
                  f.on(K::defer_embedding_wgrad_compute);
         },
     .needs = "an output projection in MXFP8 does not put its weight gradients off: without "
              "defer_embedding_wgrad_compute",
     .fixes = {{{K::defer_embedding_wgrad_compute, false}}, {{K::fp8_output_proj, false}}}},
};

}  // namespace

RuleList CoreFp8Fp4Rules() { return kRules; }

}  // namespace flightplan
