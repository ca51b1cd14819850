// Torch FSDP2 and Megatron-FSDP.
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

bool Fsdp2(F f) { return f.on(K::use_torch_fsdp2); }
bool Mfsdp(F f) { return f.on(K::use_megatron_fsdp); }

void PrepareMegatronFsdp(Editor& e) {
  const Facts& f = e.facts();
  if (!Mfsdp(f)) return;
  e.Set(K::use_custom_fsdp, true);
  if (!f.core(18)) return;
  if (!f.core(kMain) || f.num(K::megatron_fsdp_version) != 2) e.Set(K::use_distributed_optimizer, true);
  e.Set(K::reuse_grad_buf_for_mxfp8_param_ag, false);
}

void DoubleBuffer(Editor& e) {
  const Facts& f = e.facts();
  if (!Mfsdp(f)) return;
  if (f.on(K::nccl_ub)) {
    e.Set(K::fsdp_manual_registration, true);
    e.Set(K::fsdp_double_buffer, true);
  }
  if (f.on(K::megatron_fsdp_max_pool_double_buffer)) e.Set(K::fsdp_double_buffer, true);
}

const Rule kRules[] = {
    {.id = "mlm.fsdp2-torch",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1032},
     .source = "Megatron-LM:megatron/training/arguments.py:1032",
     .reads = {K::use_torch_fsdp2},
     .reads_env = {"torch"},
     .when = [](F f) { return Fsdp2(f) && !f.torch_at_least("2.4.0"); },
     .needs = "torch FSDP2 needs PyTorch 2.4.0",
     .fixes = {{{K::use_torch_fsdp2, false}}}},
    {.id = "mlm.fsdp2-no-pp",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1034},
     .source = "Megatron-LM:megatron/training/arguments.py:1034",
     .reads = {K::use_torch_fsdp2, K::pipeline_model_parallel_size},
     .when = [](F f) { return Fsdp2(f) && f.num(K::pipeline_model_parallel_size) != 1; },
     .needs = "torch FSDP2 excludes pipeline parallelism",
     .fixes = {{{K::pipeline_model_parallel_size, 1}}, {{K::use_torch_fsdp2, false}}}},
    {.id = "mlm.fsdp2-no-ep",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1036},
     .source = "Megatron-LM:megatron/training/arguments.py:1036",
     .reads = {K::use_torch_fsdp2, K::expert_model_parallel_size},
     .when = [](F f) { return Fsdp2(f) && f.num(K::expert_model_parallel_size) != 1; },
     .needs = "torch FSDP2 excludes expert parallelism",
     .fixes = {{{K::expert_model_parallel_size, 1}}, {{K::use_torch_fsdp2, false}}}},
    {.id = "mlm.fsdp2-no-distopt",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1038},
     .source = "Megatron-LM:megatron/training/arguments.py:1038",
     .reads = {K::use_torch_fsdp2, K::use_distributed_optimizer},
     .when = [](F f) { return Fsdp2(f) && f.on(K::use_distributed_optimizer); },
     .needs = "torch FSDP2 excludes the distributed optimizer",
     .fixes = {{{K::use_distributed_optimizer, false}}, {{K::use_torch_fsdp2, false}}}},
    {.id = "mlm.fsdp2-no-gaf",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1040},
     .source = "Megatron-LM:megatron/training/arguments.py:1040",
     .reads = {K::use_torch_fsdp2, K::gradient_accumulation_fusion},
     .when = [](F f) { return Fsdp2(f) && f.on(K::gradient_accumulation_fusion); },
     .needs = "torch FSDP2 excludes gradient_accumulation_fusion",
     .fixes = {{{K::gradient_accumulation_fusion, false}}, {{K::use_torch_fsdp2, false}}}},
    {.id = "mlm.fsdp2-ckpt",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1042},
     .source = "Megatron-LM:megatron/training/arguments.py:1042",
     .reads = {K::use_torch_fsdp2, K::ckpt_format},
     .when =
         [](F f) {
           return Fsdp2(f) && !f.in(K::ckpt_format, {"torch_dist", "torch_dcp"});
         },
     .needs = "torch FSDP2 needs ckpt_format torch_dist or torch_dcp",
     .fixes = {{{K::use_torch_fsdp2, false}}},
     .fix = [](F f) -> std::vector<Patch> {
       if (Mfsdp(f)) return {};  // each wants a format of its own
       return {{Assign(K::ckpt_format, "torch_dist")}};
     }},
    {.id = "mlm.fsdp2-untie",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1044},
     .source = "Megatron-LM:megatron/training/arguments.py:1044",
     .reads = {K::use_torch_fsdp2, K::untie_embeddings_and_output_weights},
     .when = [](F f) { return Fsdp2(f) && !f.on(K::untie_embeddings_and_output_weights); },
     .needs = "torch FSDP2 needs untied embeddings",
     .fixes = {{{K::use_torch_fsdp2, false}}}},
    {.id = "mlm.fsdp2-no-fp16",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1046},
     .source = "Megatron-LM:megatron/training/arguments.py:1046",
     .reads = {K::use_torch_fsdp2, K::fp16},
     .when = [](F f) { return Fsdp2(f) && f.on(K::fp16); },
     .needs = "torch FSDP2 excludes fp16",
     .fixes = {{{K::use_torch_fsdp2, false}}}},
    {.id = "mlm.fsdp2-cdmc",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1048},
     .source = "Megatron-LM:megatron/training/arguments.py:1048",
     .reads = {K::use_torch_fsdp2},
     .reads_env = {"CUDA_DEVICE_MAX_CONNECTIONS"},
     .when = [](F f) { return Fsdp2(f) && f.var("CUDA_DEVICE_MAX_CONNECTIONS") == "1"; },
     .needs = "FSDP needs CUDA_DEVICE_MAX_CONNECTIONS above 1 or unset",
     .fixes = {{{{}, "8", "CUDA_DEVICE_MAX_CONNECTIONS"}}, {{K::use_torch_fsdp2, false}}}},
    {.id = "mlm.fsdp2-fp8pg-off",
     .area = "fsdp",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1051},
     .source = "Megatron-LM:megatron/training/arguments.py:1051",
     .reads = {K::use_torch_fsdp2, K::fp8_param_gather},
     .reads_env = {"te"},
     .change =
         [](Editor& e) {
           if (Fsdp2(e.facts()) && e.facts().te_at_least("2.0.0")) e.Set(K::fp8_param_gather, false);
         }},
    {.id = "mlm.fsdp2-fp4pg-off",
     .area = "fsdp",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1058},
     .source = "Megatron-LM:megatron/training/arguments.py:1058",
     .reads = {K::use_torch_fsdp2, K::fp4_param_gather},
     .reads_env = {"te"},
     .change =
         [](Editor& e) {
           if (Fsdp2(e.facts()) && !e.facts().te_at_least("2.7.0.dev0"))
             e.Set(e.facts().core(17) ? K::fp4_param_gather : K::fp4_param, false);
         }},
    {.id = "mlm.mfsdp-v2-no-distopt",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1125},
     .source = "Megatron-LM:megatron/training/arguments.py:1125",
     .core = {kMain, kMain},
     .reads = {K::use_megatron_fsdp, K::megatron_fsdp_version, K::use_distributed_optimizer},
     .when = [](F f) { return Mfsdp(f) && f.num(K::megatron_fsdp_version) == 2 && f.on(K::use_distributed_optimizer); },
     .needs = "Megatron-FSDP version 2 excludes use_distributed_optimizer",
     .fixes = {{{K::use_distributed_optimizer, false}},
               {{K::megatron_fsdp_version, 1}},
               {{K::use_megatron_fsdp, false}}}},
    {.id = "mlm.mfsdp-forces-distopt",
     .area = "fsdp",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1135},
     .source = "Megatron-LM:megatron/training/arguments.py:1135",
     .reads = {K::use_megatron_fsdp, K::use_distributed_optimizer, K::reuse_grad_buf_for_mxfp8_param_ag},
     .change = [](Editor& e) { PrepareMegatronFsdp(e); }},
    {.id = "mlm.manual-registration-mxfp8",
     .area = "ddp",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1136},
     .source = "Megatron-LM:megatron/training/arguments.py:1136",
     .core = {0, 17},
     .reads = {K::fsdp_manual_registration, K::use_megatron_fsdp, K::reuse_grad_buf_for_mxfp8_param_ag},
     .change =
         [](Editor& e) {
           if (Mfsdp(e.facts()) && e.facts().on(K::fsdp_manual_registration))
             e.Set(K::reuse_grad_buf_for_mxfp8_param_ag, false);
         }},
    {.id = "mlm.mfsdp-no-single-grouped",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1143},
     .source = "Megatron-LM:megatron/training/arguments.py:1143",
     .core = {19, kMain},
     .reads = {K::use_megatron_fsdp, K::moe_single_grouped_weight, K::moe_single_grouped_bias},
     .when = [](F f) { return Mfsdp(f) && (f.on(K::moe_single_grouped_weight) || f.on(K::moe_single_grouped_bias)); },
     .needs = "Megatron-FSDP excludes single grouped expert parameters",
     .fixes = {{{K::moe_single_grouped_weight, false}, {K::moe_single_grouped_bias, false}},
               {{K::use_megatron_fsdp, false}}}},
    {.id = "mlm.mfsdp-optimizer",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1150},
     .source = "Megatron-LM:megatron/training/arguments.py:1150",
     .core = {18, kMain},
     .reads = {K::use_megatron_fsdp, K::optimizer},
     .when =
         [](F f) {
           return Mfsdp(f) && !f.in(K::optimizer, {"sgd", "adam"});
         },
     .needs = "Megatron-FSDP needs optimizer adam or sgd",
     .fixes = {{{K::use_megatron_fsdp, false}}}},
    {.id = "mlm.mfsdp-weight-hash",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1163},
     .source = "Megatron-LM:megatron/training/arguments.py:1163",
     .reads = {K::use_megatron_fsdp, K::data_parallel_sharding_strategy,
               K::check_weight_hash_across_dp_replicas_interval},
     .when =
         [](F f) {
           return Mfsdp(f) && f.is(K::data_parallel_sharding_strategy, "optim_grads_params") &&
                  f.set(K::check_weight_hash_across_dp_replicas_interval);
         },
     .needs = "sharded parameters cannot be hashed across replicas",
     .fixes = {{{K::check_weight_hash_across_dp_replicas_interval, kUnset}}, {{K::use_megatron_fsdp, false}}}},
    {.id = "mlm.mfsdp-cdmc",
     .area = "env",
     .at = {Phase::kCliValidate, 1166},
     .source = "Megatron-LM:megatron/training/arguments.py:1166",
     .reads = {K::use_megatron_fsdp},
     .reads_env = {"CUDA_DEVICE_MAX_CONNECTIONS"},
     .when = [](F f) { return Mfsdp(f) && f.var("CUDA_DEVICE_MAX_CONNECTIONS") == "1"; },
     .needs = "FSDP needs CUDA_DEVICE_MAX_CONNECTIONS above 1 or unset",
     .fixes = {{{{}, "8", "CUDA_DEVICE_MAX_CONNECTIONS"}}, {{K::use_megatron_fsdp, false}}}},
    {.id = "mlm.mfsdp-ckpt",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1169},
     .source = "Megatron-LM:megatron/training/arguments.py:1169",
     .reads = {K::use_megatron_fsdp, K::ckpt_format},
     .when = [](F f) { return Mfsdp(f) && !f.is(K::ckpt_format, "fsdp_dtensor"); },
     .needs = "Megatron-FSDP needs ckpt_format fsdp_dtensor",
     .fixes = {{{K::use_megatron_fsdp, false}}},
     .fix = [](F f) -> std::vector<Patch> {
       if (Fsdp2(f)) return {};  // each wants a format of its own
       return {{Assign(K::ckpt_format, "fsdp_dtensor")}};
     }},
    {.id = "mlm.mfsdp-nccl-ub",
     .area = "fsdp",
     .kind = Kind::kChange,
     .at = {Phase::kCliValidate, 1172},
     .source = "Megatron-LM:megatron/training/arguments.py:1172",
     .core = {18, kMain},
     .reads = {K::use_megatron_fsdp, K::nccl_ub, K::fsdp_manual_registration, K::fsdp_double_buffer},
     .change = [](Editor& e) { DoubleBuffer(e); }},
    {.id = "mlm.mfsdp-meta-noshard",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1184},
     .source = "Megatron-LM:megatron/training/arguments.py:1184",
     .core = {18, kMain},
     .reads = {K::use_megatron_fsdp, K::init_model_with_meta_device, K::data_parallel_sharding_strategy},
     .when =
         [](F f) {
           return Mfsdp(f) && f.on(K::init_model_with_meta_device) &&
                  f.is(K::data_parallel_sharding_strategy, "no_shard");
         },
     .needs = "meta-device initialization needs a sharding strategy other than no_shard",
     .fixes = {{{K::init_model_with_meta_device, false}},
               {{K::data_parallel_sharding_strategy, "optim_grads_params"}},
               {{K::use_megatron_fsdp, false}}}},
    {.id = "mlm.fsdp-manual-reg-fsdp",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1190},
     .source = "Megatron-LM:megatron/training/arguments.py:1190",
     .reads = {K::fsdp_manual_registration, K::use_megatron_fsdp},
     .when = [](F f) { return f.on(K::fsdp_manual_registration) && !Mfsdp(f); },
     .needs = "fsdp_manual_registration needs Megatron-FSDP",
     .fixes = {{{K::fsdp_manual_registration, false}}}},
    {.id = "mlm.fsdp-manual-reg-ub",
     .area = "fsdp",
     .at = {Phase::kCliValidate, 1191},
     .source = "Megatron-LM:megatron/training/arguments.py:1191",
     .reads = {K::fsdp_manual_registration, K::nccl_ub},
     .when = [](F f) { return f.on(K::fsdp_manual_registration) && !f.on(K::nccl_ub); },
     .needs = "fsdp_manual_registration needs nccl_ub",
     .fixes = {{{K::fsdp_manual_registration, false}}}},
};

}  // namespace

RuleList MegatronLmFsdpRules() { return kRules; }

}  // namespace flightplan
