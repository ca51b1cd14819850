// core_transformer_config_from_args and its kin: how the arguments become config classes.
// They run right before the class they fill, so the class's own rules see what upstream's see.
#include "absl/strings/match.h"
#include "resolver/catalog/defaults.h"
#include "resolver/derive/pipeline.h"
#include "resolver/rules/megatron_lm/cli_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr int kFirst = -100000;  // before every line of the class itself

bool Swiglu(F f) { return f.on(K::swiglu); }

void TakeActivation(Editor& e) {
  const Facts& f = e.facts();
  e.Set(K::bias_activation_fusion, f.value(Swiglu(f) ? K::bias_swiglu_fusion : K::bias_gelu_fusion));
  if (Swiglu(f)) {
    e.Set(K::activation_func, "silu");
    e.Set(K::gated_linear_unit, true);
  }
  if (f.on(K::squared_relu)) return e.Set(K::activation_func, "squared_relu");
  if (f.fork() || !f.on(K::quick_geglu)) return;  // its fork's launch does not look at it
  e.Set(K::gated_linear_unit, true);
  e.Set(K::activation_func, "quick_gelu");
}

void TakeAttention(Editor& e) {
  const Facts& f = e.facts();
  if (f.none(K::rope_type)) e.Fill(K::rope_type, f.on(K::multi_latent_attention) ? "yarn" : "rope");
  const Value::List& comm_types = f.value(K::cp_comm_type).list();
  if (comm_types.size() == 1) {
    const Value only = comm_types[0];
    e.Fill(K::cp_comm_type, only);
  }
}

void TakeHybrid(Editor& e) {
  const Facts& f = e.facts();
  if (f.none(f.core(17) ? K::hybrid_layer_pattern : K::is_hybrid_model)) return;
  if (f.core(17)) e.Fill(K::is_hybrid_model, true);
  const bool dsa = absl::StrContains(f.text(K::hybrid_layer_pattern), 'D');
  if (f.core(18) && dsa) e.Set(K::experimental_attention_variant, "dsa");
}

// The fields of the class whose argument has another name or meaning. Filled without a trace: the user wrote the same.
void TakePlainFields(Editor& e) {
  const Facts& f = e.facts();
  e.Fill(K::persist_layer_norm, !f.on(K::no_persist_layer_norm));
  e.Fill(K::deallocate_pipeline_outputs, true);
  e.Fill(K::pipeline_dtype, f.value(K::params_dtype));
  if (!f.fork()) e.Fill(K::variable_seq_lengths, false);  // its fork keeps what was asked
  e.Fill(K::fp8_param, f.value(K::fp8_param_gather));
  if (f.core(17)) e.Fill(K::fp4_param, f.value(K::fp4_param_gather));
  e.Fill(K::inference_sampling_seed, f.value(K::seed));
}

void TakeTransformerConfig(Editor& e) {
  const Facts& f = e.facts();
  if (!HasCommandLine(f)) return;
  e.env().mla = f.on(K::multi_latent_attention);
  TakePlainFields(e);
  TakeActivation(e);
  TakeAttention(e);
  TakeHybrid(e);
  e.Set(K::batch_p2p_comm, !f.on(K::overlap_p2p_comm));
  // validate_args deletes the two old switches once they are translated, so the class never sees them.
  e.Fill(K::enable_cuda_graph, false);
  e.Fill(K::external_cuda_graph, false);
}

// get_megatron_ddp_config. Torch FSDP2 has a config class of its own, and the DDP class's checks never run.
void TakeDdpConfig(Editor& e) {
  const Facts& f = e.facts();
  if (!HasCommandLine(f)) return;
  if (f.on(K::use_torch_fsdp2)) {
    e.Set(K::reuse_grad_buf_for_mxfp8_param_ag, false);
    e.Set(K::nccl_ub, false);
    return;
  }
  e.Fill(K::grad_reduce_in_fp32, f.value(K::accumulate_allreduce_grads_in_fp32));
  e.Fill(K::check_for_nan_in_grad, f.value(K::check_for_nan_in_loss_and_grad));
  e.Fill(K::num_buckets, f.value(K::ddp_num_buckets));
  e.Fill(K::bucket_size, f.value(K::ddp_bucket_size));
  e.Fill(K::pad_buckets_for_high_nccl_busbw, f.value(K::ddp_pad_buckets_for_high_nccl_busbw));
  e.Fill(K::reduce_scatter_with_fp32_accumulation, f.value(K::ddp_reduce_scatter_with_fp32_accumulation));
  e.Fill(K::param_name_patterns_for_fp32_local_accumulation,
         f.value(K::ddp_param_name_patterns_for_fp32_local_accumulation));
  e.Fill(K::average_in_collective, f.value(K::ddp_average_in_collective));
  e.Fill(K::ddp_delay_wgrad_compute, f.value(K::delay_wgrad_compute));
}

// get_megatron_optimizer_config: fields that other classes have too.
void TakeOptimizerConfig(Editor& e) {
  const Facts& f = e.facts();
  if (!HasCommandLine(f)) return;
  e.Fill(K::optimizer_bf16, f.value(K::bf16));
  e.Fill(K::optimizer_fp16, f.value(K::fp16));
  e.Fill(K::optimizer_params_dtype, f.value(K::params_dtype));
  e.Fill(K::optimizer_fp8_recipe, f.value(K::fp8_recipe));
  e.Fill(K::optimizer_overlap_param_gather, f.value(K::overlap_param_gather));
  e.Fill(K::optimizer_reuse_grad_buf_for_mxfp8_param_ag, f.value(K::reuse_grad_buf_for_mxfp8_param_ag));
  e.Fill(K::optimizer_use_distributed_optimizer, f.value(K::use_distributed_optimizer));
}

const Rule kRules[] = {
    {.id = "mlm.hetero-no-mla",
     .area = "model",
     .at = {Phase::kModel, -99999},
     .source = "Megatron-LM:megatron/training/argument_utils.py:296",
     .reads = {K::heterogeneous_layers_config_path, K::multi_latent_attention},
     .when =
         [](F f) {
           return HasCommandLine(f) && f.set(K::heterogeneous_layers_config_path) && f.on(K::multi_latent_attention);
         },
     .needs = "heterogeneous layers exclude MLA",
     .fixes = {{{K::heterogeneous_layers_config_path, kUnset}}}},
    {.id = "mlm.squared-relu-xor-swiglu",
     .area = "model",
     .at = {Phase::kModel, -99998},
     .source = "Megatron-LM:megatron/training/argument_utils.py:321",
     .reads = {K::squared_relu, K::swiglu},
     .when = [](F f) { return HasCommandLine(f) && f.on(K::squared_relu) && f.on(K::swiglu); },
     .needs = "squared_relu and swiglu exclude each other",
     .fix =
         [](F f) {
           Patch swiglu_stays = {Assign(K::squared_relu, false)};
           if (f.on(K::quick_geglu)) swiglu_stays.push_back(Assign(K::quick_geglu, false));
           return std::vector<Patch>{swiglu_stays, {Assign(K::swiglu, false)}};
         }},
    {.id = "mlm.quick-geglu-xor-swiglu",
     .area = "model",
     .at = {Phase::kModel, -99997},
     .source = "Megatron-LM:megatron/training/argument_utils.py:324",
     .reads = {K::quick_geglu, K::swiglu},
     .when =
         [](F f) {
           return HasCommandLine(f) && !f.fork() && f.on(K::quick_geglu) && f.on(K::swiglu) && !f.on(K::squared_relu);
         },
     .needs = "quick_geglu and swiglu exclude each other",
     .fixes = {{{K::quick_geglu, false}}, {{K::swiglu, false}}}},
    {.id = "mlm.rope-type-mla",
     .area = "model",
     .at = {Phase::kModel, -99996},
     .source = "Megatron-LM:megatron/training/argument_utils.py:339",
     .reads = {K::rope_type, K::multi_latent_attention},
     .when =
         [](F f) {
           return HasCommandLine(f) && f.set(K::rope_type) && !f.is(K::rope_type, "rope") &&
                  !f.on(K::multi_latent_attention);
         },
     .needs = "rope_type other than rope needs MLA",
     .fixes = {{{K::rope_type, "rope"}}}},
    {.id = "mlm.batch-p2p-inverse",
     .area = "pipeline",
     .kind = Kind::kChange,
     .at = {Phase::kModel, -99995},
     .source = "Megatron-LM:megatron/training/argument_utils.py:307",
     .reads = {K::overlap_p2p_comm, K::batch_p2p_comm},
     .change = TakeTransformerConfig},
    {.id = "mlm.gqa-off-drops-groups",
     .area = "model",
     .kind = Kind::kChange,
     .at = {Phase::kModel, -99994},
     .source = "Megatron-LM:megatron/training/argument_utils.py:333",
     .reads = {K::group_query_attention, K::num_query_groups},
     .change =
         [](Editor& e) {
           if (HasCommandLine(e.facts()) && !e.facts().on(K::group_query_attention))
             e.Set(K::num_query_groups, Value());
         }},
    {.id = "mlm.optimizer-config",
     .area = "optimizer",
     .kind = Kind::kChange,
     .at = {Phase::kOptimizer, -100000},
     .source = "Megatron-LM:megatron/training/training.py:2609",
     .change = TakeOptimizerConfig},
    {.id = "mlm.ddp-config",
     .area = "ddp",
     .kind = Kind::kChange,
     .at = {Phase::kDdp, -100000},
     .source = "Megatron-LM:megatron/training/training.py:2624",
     .change = TakeDdpConfig},
    // core_transformer_config_from_args passes scaled_init_method, which TransformerConfig has in no release.
    {.id = "mlm.init-xavier-unknown-field",
     .area = "model",
     .at = {Phase::kModel, kFirst, 99},
     .source = "Megatron-LM:megatron/training/argument_utils.py:329",
     .reads = {K::init_method_xavier_uniform},
     .when = [](F f) { return f.command_line() && f.on(K::init_method_xavier_uniform); },
     .needs = "upstream hands --init-method-xavier-uniform to a field that TransformerConfig does not have, and stops",
     .fixes = {{{K::init_method_xavier_uniform, false}}}},
};

}  // namespace

RuleList MegatronLmTransformerConfigRules() { return kRules; }

}  // namespace flightplan
