// What the config class of LoongForge's fork refuses and changes beyond core 0.15
// (baidu-baige/Loong-Megatron@a77508627, megatron/core/transformer/transformer_config.py,
// TransformerConfig.__post_init__).
#include <algorithm>
#include <utility>
#include <vector>

#include "resolver/base/integers.h"
#include "resolver/plan/pipeline_layout.h"
#include "resolver/rules/core/facts_util.h"
#include "resolver/rules/core/lists_util.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

using K = Knob;
using F = const Facts&;

constexpr absl::string_view kRecomputeModules[] = {"core_attn",
                                                   "moe_act",
                                                   "mlp_act",
                                                   "layernorm",
                                                   "mla_up_proj",
                                                   "pre_mlp",
                                                   "mlp",
                                                   "moe",
                                                   "shared_experts",
                                                   "routed_experts",
                                                   "a2a_overlap_attn",
                                                   "a2a_overlap_post_attn",
                                                   "a2a_overlap_mlp"};
constexpr absl::string_view kOffloadModules[] = {"attn_norm", "core_attn",  "attn_proj",
                                                 "mlp_norm",  "expert_fc1", "moe_act"};
constexpr absl::string_view kOffloadTensors[] = {"dispatched_input", "pre_mlp_layernorm_output"};
constexpr absl::string_view kFp32Names[] = {"expert_bias",
                                            "output_layer",
                                            "final_layernorm",
                                            "input_layernorm",
                                            "pre_mlp_layernorm",
                                            "router",
                                            "self_attention_hyper_connection",
                                            "mlp_hyper_connection",
                                            "attn_hc",
                                            "ffn_hc",
                                            "hc_head",
                                            "sinks",
                                            "position_bias",
                                            "e_score_correction_bias",
                                            "q_a_norm",
                                            "kv_norm",
                                            "post_attention_layernorm",
                                            "norm"};

bool OverlapModules(F f) {
  return HasAny(f, K::recompute_modules, {"a2a_overlap_attn", "a2a_overlap_post_attn", "a2a_overlap_mlp"});
}
bool ClampedSwiglu(F f) { return f.set(K::activation_func_clamp_value) && f.on(K::swiglu); }
std::vector<Patch> OnlyOf(F f, Knob list, absl::Span<const absl::string_view> names) {
  return {{Assign(list, Only(f.value(list), names))}};
}

// The config class is made of the arguments, and then of the model's keys once more.
void ReadModelAgain(Editor& e) {
  const std::vector<std::pair<Knob, Value>> keys = e.facts().env().model_file;
  for (const auto& [knob, value] : keys) {
    if (e.facts().value(knob) != value) e.Set(knob, value);
  }
}

bool HashLayersBeyondTheFirstStage(F f) {
  const int64_t layers = f.num(K::moe_n_hash_layers);
  const int64_t stages = f.num(K::pipeline_model_parallel_size);
  if (layers <= 0 || stages <= 1 || f.none(K::pipeline_model_parallel_layout)) return false;
  const PipelineLayout layout = ParsePipelineLayout(f.value(K::pipeline_model_parallel_layout), stages);
  if (layout.fault != PipelineLayout::Fault::kNone || layout.stages.empty()) return false;
  return layers > std::count(layout.stages[0].begin(), layout.stages[0].end(), 't');
}

const Rule kRules[] = {
    {.id = "lf.model-keys-again",
     .area = "model",
     .kind = Kind::kChange,
     .at = {Phase::kModel, -20000},  // before the checks of the class's parents
     .source = "LoongForge:loongforge/models/utils.py:157",
     .reads = {K::model_family},
     .change = ReadModelAgain},
    {.id = "lff.ep-tp-sp-warning",
     .area = "sequence-parallel",
     .kind = Kind::kWarning,
     .at = {Phase::kModel, 1},
     .source = "Loong-Megatron:megatron/core/model_parallel_config.py",
     .reads = {K::expert_model_parallel_size, K::tensor_model_parallel_size, K::sequence_parallel},
     .when =
         [](F f) {
           return f.num(K::expert_model_parallel_size) > 1 && f.num(K::tensor_model_parallel_size) > 1 &&
                  !f.on(K::sequence_parallel);
         },
     .needs = "experts with tensor and expert parallelism train with sequence_parallel only",
     .fixes = {{{K::sequence_parallel, true}}}},
    {.id = "lff.dsv4-mla",
     .area = "attention",
     .at = {Phase::kModel, 1038},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1038",
     .reads = {K::experimental_attention_variant, K::multi_latent_attention},
     .when =
         [](F f) { return f.is(K::experimental_attention_variant, "dsv4_hybrid") && !f.on(K::multi_latent_attention); },
     .needs = "the attention of DeepSeek-V4 needs multi_latent_attention",
     .fixes = {{{K::experimental_attention_variant, kUnset}}}},
    {.id = "lff.dsa-freq-positive",
     .area = "attention",
     .at = {Phase::kModel, 1055},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1055",
     .reads = {K::experimental_attention_variant, K::dsa_indexer_topk_freq},
     .when =
         [](F f) {
           return f.is(K::experimental_attention_variant, "dsa") && f.set(K::dsa_indexer_topk_freq) &&
                  f.num(K::dsa_indexer_topk_freq) < 1;
         },
     .needs = "dsa_indexer_topk_freq is 1 or more",
     .fixes = {{{K::dsa_indexer_topk_freq, 1}}}},
    {.id = "lff.dsa-offset-nonneg",
     .area = "attention",
     .at = {Phase::kModel, 1059},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1059",
     .reads = {K::experimental_attention_variant, K::dsa_indexer_skip_topk_offset},
     .when =
         [](F f) {
           return f.is(K::experimental_attention_variant, "dsa") && f.num(K::dsa_indexer_skip_topk_offset) < 0;
         },
     .needs = "dsa_indexer_skip_topk_offset is 0 or more",
     .fixes = {{{K::dsa_indexer_skip_topk_offset, 0}}}},
    {.id = "lff.flex-two-backends",
     .area = "dispatcher",
     .at = {Phase::kModel, 1160},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1160",
     .reads = {K::moe_enable_deepep, K::moe_flex_dispatcher_backend},
     .when = [](F f) { return f.on(K::moe_enable_deepep) && f.is(K::moe_flex_dispatcher_backend, "hybridep"); },
     .needs = "moe_enable_deepep is the old word for the backend deepep: it excludes hybridep",
     .fixes = {{{K::moe_enable_deepep, false}}}},
    {.id = "lff.recompute-modules",
     .area = "recompute",
     .at = {Phase::kModel, 1300},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1300",
     .reads = {K::recompute_modules, K::recompute_granularity},
     .when = [](F f) { return Selective(f) && HasOther(f, K::recompute_modules, kRecomputeModules); },
     .needs = "the fork recomputes core_attn, moe_act, mlp_act, layernorm, mla_up_proj, pre_mlp, mlp, moe, "
              "shared_experts, routed_experts, a2a_overlap_attn, a2a_overlap_post_attn, a2a_overlap_mlp",
     .fix = [](F f) { return OnlyOf(f, K::recompute_modules, kRecomputeModules); }},
    {.id = "lff.a2a-module-needs-overlap",
     .area = "recompute",
     .at = {Phase::kModel, 1310},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1310",
     .reads = {K::recompute_modules, K::recompute_granularity, K::overlap_moe_expert_parallel_comm},
     .when = [](F f) { return Selective(f) && OverlapModules(f) && !f.on(K::overlap_moe_expert_parallel_comm); },
     .needs = "the a2a_overlap modules are parts of the overlap schedule: overlap_moe_expert_parallel_comm",
     .fix =
         [](F f) {
           Value kept =
               Without(f.value(K::recompute_modules), {"a2a_overlap_attn", "a2a_overlap_post_attn", "a2a_overlap_mlp"});
           // A list of none has no flag.
           if (kept.list().empty()) {
             return std::vector<Patch>{
                 {Assign(K::recompute_granularity, Value()), Assign(K::recompute_modules, Value())}};
           }
           return std::vector<Patch>{{Assign(K::recompute_modules, std::move(kept))}};
         }},
    {.id = "lff.mhc-recompute-needs-mhc",
     .area = "recompute",
     .at = {Phase::kModel, 1340},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1340",
     .reads = {K::recompute_hyper_connections, K::enable_hyper_connections},
     .when = [](F f) { return f.on(K::recompute_hyper_connections) && !f.on(K::enable_hyper_connections); },
     .needs = "there are no hyper connections to recompute",
     .fixes = {{{K::recompute_hyper_connections, false}}}},
    {.id = "lff.mhc-recompute-selective",
     .area = "recompute",
     .at = {Phase::kModel, 1341},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1341",
     .reads = {K::recompute_hyper_connections, K::recompute_granularity},
     .when = [](F f) { return f.on(K::recompute_hyper_connections) && !Selective(f); },
     .needs = "recompute_hyper_connections needs recompute_granularity selective",
     .fixes = {{{K::recompute_hyper_connections, false}}}},
    {.id = "lff.mhc-recompute-not-mlp",
     .area = "recompute",
     .at = {Phase::kModel, 1342},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1342",
     .reads = {K::recompute_hyper_connections, K::recompute_modules},
     .when = [](F f) { return f.on(K::recompute_hyper_connections) && f.has(K::recompute_modules, "mlp"); },
     .needs = "recompute_hyper_connections excludes the module mlp",
     .fixes = {{{K::recompute_hyper_connections, false}}}},
    {.id = "lff.mhc-tp-needs-sp",
     .area = "model",
     .at = {Phase::kModel, 1343},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1343",
     .reads = {K::enable_hyper_connections, K::tensor_model_parallel_size, K::sequence_parallel,
               K::experimental_attention_variant},
     .when =
         [](F f) {
           return f.on(K::enable_hyper_connections) && f.num(K::tensor_model_parallel_size) > 1 &&
                  !f.on(K::sequence_parallel) && !f.is(K::experimental_attention_variant, "dsv4_hybrid");
         },
     .needs = "hyper connections with tensor parallelism need sequence_parallel",
     .fixes = {{{K::sequence_parallel, true}}}},
    {.id = "lff.offload-something",
     .area = "offload",
     .at = {Phase::kModel, 1430},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1430",
     .reads = {K::fine_grained_activation_offloading, K::offload_modules, K::offload_tensors},
     .when = [](F f) { return Offloads(f) && !f.on(K::offload_modules) && !f.on(K::offload_tensors); },
     .needs = "offloading needs offload_modules or offload_tensors",
     .fixes = {{{K::fine_grained_activation_offloading, false}}}},
    {.id = "lff.offload-modules",
     .area = "offload",
     .at = {Phase::kModel, 1440},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1440",
     .reads = {K::fine_grained_activation_offloading, K::offload_modules},
     .when = [](F f) { return Offloads(f) && HasOther(f, K::offload_modules, kOffloadModules); },
     .needs = "the fork offloads attn_norm, core_attn, attn_proj, mlp_norm, expert_fc1, moe_act",
     .fix = [](F f) { return OnlyOf(f, K::offload_modules, kOffloadModules); }},
    {.id = "lff.offload-proj-with-attn",
     .area = "offload",
     .at = {Phase::kModel, 1445},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1445",
     .reads = {K::fine_grained_activation_offloading, K::offload_modules},
     .when =
         [](F f) {
           return Offloads(f) && f.has(K::offload_modules, "attn_proj") && !f.has(K::offload_modules, "core_attn");
         },
     .needs = "attn_proj is offloaded only together with core_attn",
     .fix =
         [](F f) {
           return std::vector<Patch>{{Assign(K::offload_modules, With(f.value(K::offload_modules), "core_attn"))}};
         }},
    {.id = "lff.offload-tensors",
     .area = "offload",
     .at = {Phase::kModel, 1455},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1455",
     .reads = {K::fine_grained_activation_offloading, K::offload_tensors},
     .when = [](F f) { return Offloads(f) && HasOther(f, K::offload_tensors, kOffloadTensors); },
     .needs = "offload_tensors knows dispatched_input and pre_mlp_layernorm_output",
     .fix = [](F f) { return OnlyOf(f, K::offload_tensors, kOffloadTensors); }},
    {.id = "lff.offload-tensors-need-a2a-mlp",
     .area = "offload",
     .at = {Phase::kModel, 1460},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1460",
     .reads = {K::fine_grained_activation_offloading, K::offload_tensors, K::recompute_modules},
     .when =
         [](F f) {
           return Offloads(f) && HasAny(f, K::offload_tensors, {"dispatched_input", "pre_mlp_layernorm_output"}) &&
                  !f.has(K::recompute_modules, "a2a_overlap_mlp");
         },
     .needs = "these tensors are kept for a2a_overlap_mlp: it must be among recompute_modules",
     .fixes = {{{K::offload_tensors, Literal::List("")}}}},
    {.id = "lff.swiglu-clamp-moe",
     .area = "model",
     .at = {Phase::kModel, 1707},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1707",
     .reads = {K::activation_func_clamp_value, K::swiglu, K::num_moe_experts},
     .when = [](F f) { return ClampedSwiglu(f) && f.none(K::num_moe_experts); },
     .needs = "the fork clamps SwiGLU in experts only",
     .fixes = {{{K::activation_func_clamp_value, kUnset}}}},
    {.id = "lff.swiglu-clamp-te",
     .area = "model",
     .at = {Phase::kModel, 1711},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1711",
     .reads = {K::activation_func_clamp_value, K::swiglu, K::use_te_activation_func},
     .when = [](F f) { return ClampedSwiglu(f) && f.on(K::use_te_activation_func); },
     .needs = "Transformer Engine's activation does not clamp",
     .fixes = {{{K::use_te_activation_func, false}}}},
    {.id = "lff.chunkpipe-mla-rope",
     .area = "chunkpipe",
     .kind = Kind::kChange,
     .at = {Phase::kModel, 1721},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1721",
     .reads = {K::enable_chunkpipe, K::multi_latent_attention, K::apply_rope_fusion},
     .change =
         [](Editor& e) {
           const Facts& f = e.facts();
           if (f.on(K::apply_rope_fusion) && f.on(K::multi_latent_attention) && f.on(K::enable_chunkpipe)) {
             e.Set(K::apply_rope_fusion, false);
           }
         }},
    {.id = "lff.hash-vocab",
     .area = "moe",
     .at = {Phase::kModel, 1784},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1784",
     .reads = {K::moe_n_hash_layers, K::actual_vocab_size},
     .when = [](F f) { return f.num(K::moe_n_hash_layers) > 0 && f.none(K::actual_vocab_size); },
     .needs = "hash layers need the key actual_vocab_size in the model's YAML",
     .fixes = {{{K::moe_n_hash_layers, 0}}}},
    {.id = "lff.hash-layout",
     .area = "moe",
     .at = {Phase::kModel, 1787},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1787",
     .reads = {K::moe_n_hash_layers, K::pipeline_model_parallel_size, K::pipeline_model_parallel_layout},
     .when =
         [](F f) {
           return f.num(K::moe_n_hash_layers) > 0 && f.num(K::pipeline_model_parallel_size) > 1 &&
                  f.none(K::pipeline_model_parallel_layout);
         },
     .needs = "hash layers in a pipeline need a pipeline_model_parallel_layout",
     .fixes = {{{K::moe_n_hash_layers, 0}}}},
    {.id = "lff.hash-first-stage",
     .area = "moe",
     .at = {Phase::kModel, 1795},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1795",
     .reads = {K::moe_n_hash_layers, K::pipeline_model_parallel_size, K::pipeline_model_parallel_layout},
     .when = HashLayersBeyondTheFirstStage,
     .needs = "all hash layers stand in the first virtual stage of the pipeline_model_parallel_layout",
     .fixes = {{{K::moe_n_hash_layers, 0}}}},
    {.id = "lff.hash-vs-ep-overlap",
     .area = "ep-overlap",
     .at = {Phase::kModel, 1801},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1801",
     .reads = {K::moe_n_hash_layers, K::overlap_moe_expert_parallel_comm},
     .when = [](F f) { return f.num(K::moe_n_hash_layers) > 0 && f.on(K::overlap_moe_expert_parallel_comm); },
     .needs = "EP overlap cannot run hash layers",
     .fixes = {{{K::overlap_moe_expert_parallel_comm, false}, {K::delay_wgrad_compute, false}}}},
    {.id = "lff.flex-deepep-no-pad",
     .area = "dispatcher",
     .at = {Phase::kModel, 1900},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1900",
     .reads = {K::moe_token_dispatcher_type, K::moe_pad_expert_input_to_capacity, K::moe_flex_dispatcher_backend},
     .when =
         [](F f) {
           return f.is(K::moe_token_dispatcher_type, "flex") && f.on(K::moe_pad_expert_input_to_capacity) &&
                  f.is(K::moe_flex_dispatcher_backend, "deepep");
         },
     .needs = "DeepEP does not pad to the experts' capacity; HybridEP does",
     .fixes = {{{K::moe_flex_dispatcher_backend, "hybridep"}}, {{K::moe_pad_expert_input_to_capacity, false}}}},
    {.id = "lff.echo-gaf",
     .area = "moe",
     .at = {Phase::kModel, 1924},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1924",
     .reads = {K::moe_enable_echo, K::gradient_accumulation_fusion},
     .when = [](F f) { return f.on(K::moe_enable_echo) && !f.on(K::gradient_accumulation_fusion); },
     .needs = "echo experts need gradient_accumulation_fusion",
     .fixes = {{{K::gradient_accumulation_fusion, true}}, {{K::moe_enable_echo, false}}}},
    {.id = "lff.echo-count",
     .area = "moe",
     .at = {Phase::kModel, 1926},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1926",
     .reads = {K::moe_enable_echo, K::moe_num_echo_experts},
     .when = [](F f) { return f.on(K::moe_enable_echo) && f.none(K::moe_num_echo_experts); },
     .needs = "echo experts need moe_num_echo_experts",
     .fixes = {{{K::moe_enable_echo, false}}}},
    {.id = "lff.echo-ep-divides",
     .area = "moe",
     .at = {Phase::kModel, 1929},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:1929",
     .reads = {K::moe_enable_echo, K::moe_num_echo_experts, K::expert_model_parallel_size},
     .when =
         [](F f) {
           return f.on(K::moe_enable_echo) && f.set(K::moe_num_echo_experts) &&
                  !Divisible(f.num(K::moe_num_echo_experts), f.num(K::expert_model_parallel_size));
         },
     .needs = "expert_model_parallel_size must divide moe_num_echo_experts",
     .fixes = {{{K::moe_enable_echo, false}}}},
    {.id = "lff.fp32-param-names",
     .area = "precision",
     .at = {Phase::kModel, 2074},
     .source = "Loong-Megatron:megatron/core/transformer/transformer_config.py:2074",
     .reads = {K::use_fp32_dtype_for_param_pattern},
     .when = [](F f) { return HasOther(f, K::use_fp32_dtype_for_param_pattern, kFp32Names); },
     .needs = "the patterns are names and no regular expressions: expert_bias, router, norm and fifteen more",
     .fix = [](F f) { return OnlyOf(f, K::use_fp32_dtype_for_param_pattern, kFp32Names); }},
};

}  // namespace

RuleList LoongforgeForkConfigRules() { return kRules; }

}  // namespace flightplan
