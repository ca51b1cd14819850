// Number formats: fp16, bf16, FP8 and FP4 on the command line.
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

void TakeParamsDtype(Editor& e) {
  const Facts& f = e.facts();
  e.Set(K::params_dtype, f.on(K::bf16) ? "bf16" : f.on(K::fp16) ? "fp16" : "fp32");
  if (f.on(K::fp16) && !f.on(K::loss_scale)) e.Set(K::check_for_nan_in_loss_and_grad, false);
}

void AccumulateInFp32(Editor& e) {
  const Facts& f = e.facts();
  if (!f.on(K::bf16)) return;
  if (f.on(K::grad_reduce_in_bf16)) {
    e.Set(K::accumulate_allreduce_grads_in_fp32, false);
  } else if (f.is(K::main_grads_dtype, "fp32")) {
    e.Set(K::accumulate_allreduce_grads_in_fp32, true);
  }
}

void DropFp32ReduceScatter(Editor& e) {
  if (!e.facts().on(K::accumulate_allreduce_grads_in_fp32)) return;
  e.Set(K::ddp_reduce_scatter_with_fp32_accumulation, false);
  e.Set(K::gtp_remat_reduce_scatter_with_fp32_accumulation, false);
}
bool Fp4ParamGather(F f) { return f.on(f.core(17) ? K::fp4_param_gather : K::fp4_param); }

const Rule kRules[] = {
    {.id = "mlm.fp8pg-needs-distopt",
     .area = "fp8",
     .at = {Phase::kCliValidate, 1096},
     .source = "Megatron-LM:megatron/training/arguments.py:1096",
     .reads = {K::fp8_param_gather, K::use_distributed_optimizer, K::use_torch_fsdp2, K::use_megatron_fsdp},
     .when =
         [](F f) {
           return f.on(K::fp8_param_gather) && !f.on(K::use_distributed_optimizer) && !f.on(K::use_torch_fsdp2) &&
                  !f.on(K::use_megatron_fsdp);
         },
     .needs = "fp8_param_gather needs use_distributed_optimizer or FSDP",
     .fixes = {{{K::use_distributed_optimizer, true}}, {{K::fp8_param_gather, false}}}},
    {.id = "mlm.fp4-xor-fp8",
     .area = "fp8",
     .at = {Phase::kCliValidate, 1101},
     .source = "Megatron-LM:megatron/training/arguments.py:1101",
     .reads = {K::fp4, K::fp8},
     .when = [](F f) { return f.on(K::fp4) && f.on(K::fp8); },
     .needs = "FP4 and FP8 exclude each other",
     .fixes = {{{K::fp8, kUnset}, {K::fp8_param_gather, false}}, {{K::fp4, kUnset}, {K::fp4_param_gather, false}}}},
    {.id = "mlm.fp4pg-needs-fp4",
     .area = "fp4",
     .at = {Phase::kCliValidate, 1105},
     .source = "Megatron-LM:megatron/training/arguments.py:1105",
     .reads = {K::fp4_param_gather, K::fp4},
     .when = [](F f) { return Fp4ParamGather(f) && !f.on(K::fp4); },
     .needs = "fp4_param_gather needs an FP4 format",
     .fixes = {{{K::fp4_param_gather, false}}}},
    {.id = "mlm.fp4-te",
     .area = "fp4",
     .at = {Phase::kCliValidate, 1109},
     .source = "Megatron-LM:megatron/training/arguments.py:1109",
     .reads = {K::fp4},
     .reads_env = {"te"},
     .when = [](F f) { return f.on(K::fp4) && !f.te_at_least("2.7.0.dev0"); },
     .needs = "FP4 needs Transformer Engine 2.7.0",
     .fixes = {{{K::fp4, kUnset}}}},
    {.id = "mlm.mxfp8-inference-flashinfer",
     .area = "fp8",
     .at = {Phase::kCliValidate, 1116},
     .source = "Megatron-LM:megatron/training/arguments.py:1116",
     .core = {17, kMain},
     .reads = {K::fp8_recipe, K::transformer_impl},
     .reads_env = {"flashinfer"},
     .when =
         [](F f) {
           return f.is(K::fp8_recipe, "mxfp8") && f.is(K::transformer_impl, "inference_optimized") &&
                  !PackageAtLeast(f, "flashinfer", "0.6.4");
         },
     .needs = "MXFP8 with inference-optimized layers needs FlashInfer 0.6.4",
     .fixes = {{{K::transformer_impl, "transformer_engine"}}}},
    {.id = "mlm.fp16-xor-bf16",
     .area = "precision",
     .at = {Phase::kCliValidate, 1196},
     .source = "Megatron-LM:megatron/training/arguments.py:1196",
     .reads = {K::fp16, K::bf16},
     .when = [](F f) { return f.on(K::fp16) && f.on(K::bf16); },
     .needs = "fp16 and bf16 exclude each other",
     .fixes = {{{K::fp16, false}}, {{K::bf16, false}}}},
    {.id = "mlm.bf16-xor-fp16",
     .area = "precision",
     .at = {Phase::kCliValidate, 1205},
     .source = "Megatron-LM:megatron/training/arguments.py:1205",
     .reads = {K::bf16, K::fp16},
     .when = [](F f) { return f.on(K::fp16) && f.on(K::bf16); },
     .needs = "bf16 and fp16 exclude each other",
     .fixes = {{{K::fp16, false}}, {{K::bf16, false}}}},
    {.id = "mlm.fp16-nan-check-off",
     .area = "precision",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1200},
     .source = "Megatron-LM:megatron/training/arguments.py:1200",
     .reads = {K::fp16, K::loss_scale, K::check_for_nan_in_loss_and_grad, K::params_dtype},
     .change = [](Editor& e) { TakeParamsDtype(e); }},
    {.id = "mlm.accum-fp32-main-grads",
     .area = "precision",
     .at = {Phase::kCliValidate, 1210},
     .source = "Megatron-LM:megatron/training/arguments.py:1210",
     .reads = {K::accumulate_allreduce_grads_in_fp32, K::main_grads_dtype},
     .when =
         [](F f) {
           return f.on(K::bf16) && f.on(K::accumulate_allreduce_grads_in_fp32) && !f.is(K::main_grads_dtype, "fp32");
         },
     .needs = "accumulating gradients in fp32 needs main_grads_dtype fp32",
     .fixes = {{{K::main_grads_dtype, "fp32"}}, {{K::accumulate_allreduce_grads_in_fp32, false}}}},
    {.id = "mlm.bf16-grad-accum-fp32",
     .area = "precision",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1213},
     .source = "Megatron-LM:megatron/training/arguments.py:1213",
     .reads = {K::bf16, K::grad_reduce_in_bf16, K::main_grads_dtype, K::accumulate_allreduce_grads_in_fp32},
     .change = [](Editor& e) { AccumulateInFp32(e); }},
    {.id = "mlm.mfsdp-grad-comm-bf16",
     .area = "ddp",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1214},
     .source = "Megatron-LM:megatron/training/arguments.py:1214",
     .core = {18, 18},
     .reads = {K::grad_reduce_in_bf16, K::megatron_fsdp_grad_comm_dtype},
     .change =
         [](Editor& e) {
           if (e.facts().on(K::grad_reduce_in_bf16)) e.Set(K::megatron_fsdp_grad_comm_dtype, "bf16");
         }},
    {.id = "mlm.fp32-accum-rs-off",
     .area = "precision",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1219},
     .source = "Megatron-LM:megatron/training/arguments.py:1219",
     .core = {kMain, kMain},
     .reads = {K::accumulate_allreduce_grads_in_fp32, K::ddp_reduce_scatter_with_fp32_accumulation},
     .change = [](Editor& e) { DropFp32ReduceScatter(e); }},
    {.id = "mlm.fp16-xent",
     .area = "precision",
     .at = {Phase::kCliValidate, 1373},
     .source = "Megatron-LM:megatron/training/arguments.py:1373",
     .reads = {K::fp16_lm_cross_entropy, K::fp16},
     .when = [](F f) { return f.on(K::fp16_lm_cross_entropy) && !f.on(K::fp16); },
     .needs = "fp16_lm_cross_entropy needs fp16",
     .fixes = {{{K::fp16_lm_cross_entropy, false}}}},
    {.id = "mlm.fp32-residual",
     .area = "precision",
     .at = {Phase::kCliValidate, 1375},
     .source = "Megatron-LM:megatron/training/arguments.py:1375",
     .reads = {K::fp32_residual_connection, K::fp16, K::bf16},
     .when = [](F f) { return f.on(K::fp32_residual_connection) && !f.on(K::fp16) && !f.on(K::bf16); },
     .needs = "fp32_residual_connection needs fp16 or bf16",
     .fixes = {{{K::bf16, true}}, {{K::fp32_residual_connection, false}}}},
    {.id = "mlm.fp8-tensorwise-stream-dequant",
     .area = "checkpoint",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1600},
     .source = "Megatron-LM:megatron/training/arguments.py:1600",
     .core = {19, 19},
     .reads = {K::fp8, K::fp8_recipe, K::stream_ckpt_dequant},
     .change =
         [](Editor& e) {
           if (e.facts().set(K::fp8) && e.facts().is(K::fp8_recipe, "tensorwise")) e.Set(K::stream_ckpt_dequant, false);
         }},
};

}  // namespace

RuleList MegatronLmPrecisionRules() { return kRules; }

}  // namespace flightplan
