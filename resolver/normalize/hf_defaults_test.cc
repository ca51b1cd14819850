// What a config.json leaves out is as its class has it, and what it says against its class is said.
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "resolver/normalize/hf_import.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

constexpr absl::string_view kSizes =
    R"("num_hidden_layers": 4, "hidden_size": 4096, "num_attention_heads": 32, "intermediate_size": 256,
       "vocab_size": 1000)";
constexpr absl::string_view kExperts =
    R"(, "num_key_value_heads": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64)";

std::string File(absl::string_view model_class, absl::string_view fields) {
  return absl::StrCat(R"({"architectures": [")", model_class, R"("], )", kSizes, fields, "}");
}

std::string Said(const ModelSpec& model, absl::string_view name) {
  if (const ModelField* field = FindModelField(name)) return GetField(*field, model).ToJson();
  for (const auto& [knob, value] : model.knobs) {
    if (Name(knob) == name) return value.ToJson();
  }
  return "";
}

struct Default {
  absl::string_view model_class, fields, field, value;
};
constexpr Default kDefaults[] = {
    {"MistralForCausalLM", "", "num_query_groups", "8"},
    {"MistralForCausalLM", "", "window_size", "4096"},
    {"MistralForCausalLM", R"(, "sliding_window": null)", "window_size", "null"},
    {"MixtralForCausalLM", R"(, "num_experts_per_tok": 2)", "rotary_base", "1000000.0"},
    {"MixtralForCausalLM", R"(, "num_experts_per_tok": 2)", "num_query_groups", "8"},
    {"Qwen3ForCausalLM", R"(, "num_key_value_heads": 8)", "kv_channels", "128"},
    {"LlamaForCausalLM", "", "layernorm_epsilon", "1e-06"},
    {"GemmaForCausalLM", "", "kv_channels", "256"},
    {"Qwen3_5ForCausalLM", R"(, "num_key_value_heads": 8, "head_dim": 128)", "rotary_percent", "0.25"},
    {"Ernie4_5_MoeForCausalLM", R"(, "num_key_value_heads": 8)", "tie_embeddings", "true"},
    {"Exaone4ForCausalLM", R"(, "sliding_window": 64, "sliding_window_pattern": "LLG")", "no_rope_freq", "[0,0,1,1]"},
    {"Exaone4ForCausalLM", R"(, "sliding_window": null)", "window_size", "null"},
    {"Mistral3ForConditionalGeneration", "", "window_size", "null"},
    {"HYV3ForCausalLM", R"(, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64)", "first_k_dense",
     "1"},
    // A list of the layers goes over the count of the dense ones.
    {"DeepseekV3ForCausalLM", R"(, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
        "first_k_dense_replace": 1, "moe_layer_freq": [0, 0, 1, 1])",
     "first_k_dense", "2"},
    {"DeepseekV3ForCausalLM", R"(, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
        "first_k_dense_replace": 1, "mlp_layer_types": ["dense", "dense", "dense", "sparse"])",
     "first_k_dense", "3"},
    {"DeepseekV2ForCausalLM", R"(, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
        "first_k_dense_replace": 1, "n_group": 4, "topk_group": 2, "topk_method": "greedy")",
     "moe_router_num_groups", "null"},
    // An MLP beside the experts of each layer is a shared expert.
    {"Grok1ForCausalLM", R"(, "num_local_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64,
        "residual_moe": true)",
     "moe_shared_expert_intermediate_size", "256"},
    {"NemotronHForCausalLM", R"(, "layers_block_type": ["mamba", "moe", "attention", "mlp"], "mamba_num_heads": 8,
        "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "num_nextn_predict_layers": 1,
        "mtp_layers_block_type": ["attention", "moe"])",
     "mtp_hybrid_override_pattern", R"("*E")"},
    {"GraniteMoeHybridForCausalLM", R"(, "num_local_experts": 8, "num_experts_per_tok": 2,
        "layer_types": ["mamba", "attention", "mamba", "mamba"])",
     "hybrid_layer_pattern", R"("ME*EMEME")"},
    {"GraniteMoeHybridForCausalLM", R"(, "num_local_experts": 0)", "hybrid_layer_pattern", R"("M-M-M-M-")"},
    {"LlamaForCausalLM", R"(, "rope_scaling": {"type": "deepseek_yarn", "factor": 4})", "rope_scaling_type",
     R"("yarn")"},
};

TEST(HfImport, WhatAFileLeavesOutIsAsItsClassHasIt) {
  for (const Default& row : kDefaults) {
    const absl::StatusOr<ModelSpec> model = ImportHfConfig(File(row.model_class, row.fields));
    ASSERT_TRUE(model.ok()) << row.model_class << ": " << model.status();
    EXPECT_EQ(Said(*model, row.field), row.value) << row.model_class << row.fields << " " << row.field;
  }
}

struct Note {
  absl::string_view model_class, fields, note;
};
constexpr absl::string_view kLing = R"(, "num_experts": 8, "first_k_dense_replace": 1)";
constexpr absl::string_view kErnie = R"(, "moe_num_experts": 8, "moe_k": 2)";
const Note kNotes[] = {
    {"BailingMoeV2ForCausalLM", R"(, "score_function": "softmax")",
     "its score_function of softmax is not carried over"},
    {"BailingMoeV2ForCausalLM", R"(, "use_qk_norm": false)", "its use_qk_norm of false is not carried over"},
    {"BailingMoeV2ForCausalLM", R"(, "score_function": "sigmoid", "use_bias": false)", ""},
    {"BailingMoeV2ForCausalLM", R"(, "num_shared_experts": 2)", "its num_shared_experts of 2 is not carried over"},
    {"Ernie4_5_MoeForCausalLM", R"(, "rope_theta": 10000)", "its rope_theta of 10000 is not carried over"},
    {"Ernie4_5_MoeForCausalLM", R"(, "moe_layer_interval": 2)", "its moe_layer_interval is not carried over"},
    {"Ernie4_5_MoeForCausalLM", R"(, "moe_layer_end_index": 2)", "its moe_layer_end_index is not carried over"},
    {"Ernie4_5_MoeForCausalLM", R"(, "moe_layer_end_index": -1, "moe_layer_interval": 1, "rope_theta": 5e5)", ""},
    {"Qwen2_5_VLForConditionalGeneration", R"(, "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]})", ""},
    {"LlamaForCausalLM", R"(, "clip_qkv": 8, "embedding_multiplier": 1.0, "residual_multiplier": 0.22)",
     "classes do not build a clip of queries, keys and values, a scale of residuals"},
    {"OlmoeForCausalLM", R"(, "num_experts": 8, "num_experts_per_tok": 2, "norm_topk_prob": true)",
     "its norm_topk_prob of true is not carried over: Megatron takes the weights of a softmax"},
    {"OlmoeForCausalLM", R"(, "num_experts": 8, "num_experts_per_tok": 2, "norm_topk_prob": false)", ""},
    {"OlmoeForCausalLM", R"(, "num_experts": 8, "num_experts_per_tok": 2, "first_k_dense_replace": 1)",
     "its first_k_dense_replace is not carried over: 4 of 4 layers have experts"},
    {"OlmoeForCausalLM", R"(, "num_experts": 8, "num_experts_per_tok": 2, "moe_layer_freq": [0, 1, 1, 1])",
     "its moe_layer_freq is not carried over"},
    {"BailingMoeV2ForCausalLM", R"(, "topk_method": "greedy")", "its topk_method of greedy is not carried over"},
    {"Qwen3VLForConditionalGeneration", R"(, "vision_config": {})", "the encoder of its vision_config is not counted"},
};

TEST(HfImport, WhatAFileSaysAgainstItsClassIsSaid) {
  for (const Note& row : kNotes) {
    const bool ernie = absl::StartsWith(row.model_class, "Ernie"), ling = absl::StartsWith(row.model_class, "Bailing");
    const std::string fields = absl::StrCat(row.fields, ernie || ling ? kExperts : "",
                                            ernie  ? kErnie
                                            : ling ? kLing
                                                   : "");
    std::vector<std::string> notes;
    const absl::StatusOr<ModelSpec> model = ImportHfConfig(File(row.model_class, fields), &notes);
    ASSERT_TRUE(model.ok()) << row.model_class << ": " << model.status();
    const std::string all = absl::StrJoin(notes, "\n");
    EXPECT_EQ(notes.size(), row.note.empty() ? 0u : 1u) << row.model_class << row.fields << ": " << all;
    EXPECT_TRUE(absl::StrContains(all, row.note)) << row.fields << ": " << all;
  }
}

struct Refusal {
  absl::string_view json, fault;
};
TEST(HfImport, RefusalsNameTheKeyOfTheFile) {
  const std::string moe = absl::StrCat(kExperts, R"(, "norm_topk_prob": true)");
  const std::string hybrid = File("Qwen3NextForCausalLM", absl::StrCat(kExperts, R"(, "num_experts": 8,
      "decoder_sparse_step": 2)"));
  const std::string none = File("Qwen3MoeForCausalLM", moe);
  const std::string no_topk = File("MixtralForCausalLM", "");
  const std::string text = File("LlamaForCausalLM", R"(, "rope_scaling": "linear")");
  const std::string unknown = File("SomeForCausalLM", "");
  const std::string decilm = File("DeciLMForCausalLM", "");
  const std::string jamba = File("JambaForCausalLM", "");
  const std::string cla = File("HunYuanMoEV1ForCausalLM", R"(, "num_experts": 8, "use_cla": true)");
  const std::string uneven = File("HunYuanMoEV1ForCausalLM", R"(, "num_experts": 8, "moe_topk": [1, 2, 1, 1])");
  const std::string letters = File("Exaone4ForCausalLM", R"(, "sliding_window": 64, "sliding_window_pattern": "LX")");
  const std::string typed = absl::StrCat(R"({"architectures": ["Qwen3OmniMoeForConditionalGeneration"],
      "thinker_config": {"text_config": {)",
                                         kSizes, moe, "}}}");
  const std::string granite = File("GraniteMoeHybridForCausalLM", R"(, "layer_types": ["mamba"])");
  const Refusal rows[] = {
      {hybrid, "$.decoder_sparse_step: is 2; only 1"},
      {none, "$.num_experts: is missing"},
      {no_topk, "$.num_experts_per_tok: is missing"},
      {text, "$.rope_scaling: needs an object"},
      {R"({"peft_type": "LORA", "base_model_name_or_path": "meta-llama/Llama-3.1-8B"})",
       "$.peft_type: this is an adapter and has no sizes; give the config.json of its base model, meta-llama/Llama"},
      {R"({"_name_or_path": "x/y"})", "$.architectures: is missing, and so are the sizes: give the config.json of"},
      {unknown, "so there is no mapping from its keys; give its sizes instead, as a model of a catalogue"},
      {decilm, "$.architectures: models of the class 'DeciLMForCausalLM' have layers of different widths"},
      {jamba, "have layers of Mamba-1, where Megatron-Core has Mamba-2; a model description here has no words for it"},
      {cla, "$.use_cla: is true; Megatron-Core shares no keys and values between layers"},
      {uneven, "$.moe_topk: differs between layers"},
      {letters, "$.sliding_window_pattern: needs a number, or letters L (with a window) and G (without)"},
      {typed, "$.thinker_config.text_config.num_experts: is missing"},
      {granite, "$.layer_types: has 1 entries; needs one for each of 4 layers"}};
  for (const Refusal& row : rows) {
    const absl::Status status = ImportHfConfig(row.json).status();
    EXPECT_TRUE(absl::StrContains(status.message(), row.fault)) << row.fault << ": " << status;
  }
}

TEST(HfImport, DeepSeeksClassWithoutExpertsIsDense) {
  const absl::StatusOr<ModelSpec> model = ImportHfConfig(
      File("DeepseekV3ForCausalLM",
           R"(, "n_routed_experts": null, "first_k_dense_replace": 1, "kv_lora_rank": 512, "q_lora_rank": 512)"));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_FALSE(model->is_moe());
  EXPECT_TRUE(model->moe_layer_freq.empty());
}

// A class whose checkpoint Megatron-Bridge converts and Megatron-Core's own classes do not build.
TEST(HfImport, KnowsWhatMegatronCoreDoesNotBuild) {
  const absl::StatusOr<ModelSpec> model = ImportHfConfig(
      R"({"architectures": ["Step3p5ForCausalLM"], "hidden_size": 4096, "num_hidden_layers": 2, "vocab_size": 1000,
          "num_attention_heads": 64, "num_attention_groups": 8, "head_dim": 128, "intermediate_size": 64,
          "moe_num_experts": 8, "moe_top_k": 2, "moe_intermediate_size": 64, "share_expert_dim": 64,
          "moe_layers_enum": "1", "rope_theta": [5000000.0, 10000.0], "use_head_wise_attn_gate": true,
          "layer_types": ["full_attention", "full_attention"]})");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->beyond_core,
            (std::vector<std::string>{"a rotary base for each layer", "a gate for each attention head"}));
}

}  // namespace
}  // namespace flightplan
