// A config.json as published gives the parameters that the model's card says, to one percent.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "resolver/derive/parameters.h"
#include "resolver/normalize/hf_import.h"

namespace flightplan {
namespace {

struct Card {
  const char* model;
  absl::string_view model_class;
  absl::string_view fields;
  double total;   // of the card or the tensors, in billions
  double active;  // with embeddings, as counted here: cards often leave them out
};

std::string Times(absl::string_view item, size_t times) {
  return absl::StrJoin(std::vector<absl::string_view>(times, item), ", ");
}

// Four of forty layers have attention.
const std::string kGraniteLayers = absl::StrCat(R"("layer_types": [)", Times(R"("mamba")", 5), R"(, "attention", )",
                                                Times(absl::StrCat(Times(R"("mamba")", 9), R"(, "attention")"), 3),
                                                ", ", Times(R"("mamba")", 4), "], ");

const std::string kGraniteSmall = absl::StrCat(kGraniteLayers, R"("hidden_size": 4096, "num_hidden_layers": 40,
    "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 768, "num_local_experts": 72,
    "num_experts_per_tok": 10, "shared_intermediate_size": 1536, "mamba_n_heads": 128, "mamba_d_head": 64,
    "mamba_d_state": 128, "mamba_n_groups": 1, "vocab_size": 100352, "tie_word_embeddings": true,
    "position_embedding_type": "nope", "embedding_multiplier": 12, "residual_multiplier": 0.22)");
const std::string kHunyuan =
    absl::StrCat(R"("hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "attention_head_dim": 128, "intermediate_size": 3072, "num_experts": 64,
    "use_mixed_mlp_moe": true, "use_qk_norm": true, "vocab_size": 128167, "tie_word_embeddings": true,
    "moe_intermediate_size": [)",
                 Times("3072", 32), R"(], "moe_topk": [)", Times("8", 32), R"(], "num_shared_expert": [)",
                 Times("1", 32), R"(], "rope_scaling": {"alpha": 1000.0, "type": "dynamic"})");

const Card kCards[] = {
    {"Qwen3-Omni-30B-A3B", "Qwen3OmniMoeForConditionalGeneration", R"("talker_config": {}, "thinker_config": {
        "audio_config": {}, "text_config": {"hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "moe_intermediate_size": 768, "num_experts": 128,
        "num_experts_per_tok": 8, "norm_topk_prob": true, "vocab_size": 152064}})",
     30.5, 3.35},
    {"Kimi-VL-A3B", "KimiVLForConditionalGeneration", R"("vision_config": {}, "text_config": {
        "model_type": "deepseek_v3", "hidden_size": 2048, "num_hidden_layers": 27, "num_attention_heads": 16,
        "intermediate_size": 11264, "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2,
        "num_experts_per_tok": 6, "first_k_dense_replace": 1, "q_lora_rank": null, "kv_lora_rank": 512,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 163840})",
     16, 2.91},
    {"K-EXAONE-236B-A23B", "ExaoneMoEForCausalLM", R"("hidden_size": 6144, "num_hidden_layers": 48,
        "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 18432,
        "moe_intermediate_size": 2048, "num_experts": 128, "num_experts_per_tok": 8, "num_shared_experts": 1,
        "first_k_dense_replace": 1, "sliding_window": 128, "sliding_window_pattern": "LLLG", "vocab_size": 153600,
        "num_nextn_predict_layers": 1)",
     236, 23.7},
    {"EXAONE-4.0-32B", "Exaone4ForCausalLM", R"("hidden_size": 5120, "num_hidden_layers": 64,
        "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 27392,
        "vocab_size": 102400, "sliding_window": 4096, "sliding_window_pattern": "LLLG")",
     32, 32},
    {"Hy3-preview", "HYV3ForCausalLM", R"("hidden_size": 4096, "num_hidden_layers": 80, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 13312, "moe_intermediate_size": 1536,
        "num_experts": 192, "num_experts_per_tok": 8, "num_shared_experts": 1, "first_k_dense_replace": 1,
        "vocab_size": 120832, "router_scaling_factor": 2.826, "qk_norm": true)",
     295, 20.7},
    {"Hunyuan-A13B", "HunYuanMoEV1ForCausalLM", kHunyuan, 80.4, 12.7},
    {"sarvam-30b", "SarvamMoEForCausalLM", R"("hidden_size": 4096, "num_hidden_layers": 19, "num_attention_heads": 64,
        "num_key_value_heads": 4, "head_dim": 64, "intermediate_size": 8192, "moe_intermediate_size": 1024,
        "num_experts": 128, "num_experts_per_tok": 6, "num_shared_experts": 1, "first_k_dense_replace": 1,
        "vocab_size": 262144)",
     32.2, 4.54},
    {"sarvam-105b", "SarvamMLAForCausalLM", R"("hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 64, "intermediate_size": 16384, "moe_intermediate_size": 2048, "num_experts": 128,
        "num_experts_per_tok": 8, "num_shared_experts": 1, "first_k_dense_replace": 1, "vocab_size": 262144,
        "n_group": 16, "topk_group": 2, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "v_head_dim": 128, "rope_scaling": {"type": "deepseek_yarn", "factor": 40})",
     106, 12.4},
    {"dots.llm1", "Dots1ForCausalLM", R"("hidden_size": 4096, "num_hidden_layers": 62, "num_attention_heads": 32,
        "num_key_value_heads": 32, "intermediate_size": 10944, "moe_intermediate_size": 1408, "n_routed_experts": 128,
        "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "vocab_size": 152064,
        "scoring_func": "noaux_tc", "norm_topk_prob": true)",
     142.8, 14},
    {"Trinity-Mini", "AfmoeForCausalLM", R"("hidden_size": 2048, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 4, "head_dim": 128, "intermediate_size": 6144, "moe_intermediate_size": 1024,
        "num_experts": 128, "num_experts_per_tok": 8, "num_shared_experts": 1, "num_dense_layers": 2,
        "vocab_size": 200192, "route_scale": 2.826, "sliding_window": 2048, "mup_enabled": true)",
     26.1, 3.46},
    {"Trinity-Large", "AfmoeForCausalLM", R"("hidden_size": 3072, "num_hidden_layers": 60, "num_attention_heads": 48,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 12288, "moe_intermediate_size": 3072,
        "num_experts": 256, "num_experts_per_tok": 4, "num_shared_experts": 1, "num_dense_layers": 6,
        "vocab_size": 200192, "sliding_window": 4096)",
     398.6, 13.4},
    {"Solar-Open-100B", "SolarOpenForCausalLM", R"("hidden_size": 4096, "num_hidden_layers": 48,
        "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 10240, "moe_intermediate_size": 1280,
        "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8, "vocab_size": 196608)",
     102.6, 12.1},
    {"deepseek-moe-16b", "DeepseekForCausalLM", R"("hidden_size": 2048, "num_hidden_layers": 28,
        "num_attention_heads": 16, "intermediate_size": 10944, "moe_intermediate_size": 1408, "n_routed_experts": 64,
        "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "norm_topk_prob": false,
        "vocab_size": 102400)",
     16.4, 2.83},
    {"Ling-lite", "BailingMoeForCausalLM", R"("hidden_size": 2048, "num_hidden_layers": 28, "num_attention_heads": 16,
        "num_key_value_heads": 4, "intermediate_size": 5632, "moe_intermediate_size": 1408, "num_experts": 64,
        "num_shared_experts": 2, "num_experts_per_tok": 6, "norm_topk_prob": true, "vocab_size": 126464)",
     16.8, 2.75},
    {"granite-4.0-h-small", "GraniteMoeHybridForCausalLM", kGraniteSmall, 32.2, 8.8},
    {"granite-3.1-3b-a800m", "GraniteMoeForCausalLM", R"("hidden_size": 1536, "num_hidden_layers": 32,
        "num_attention_heads": 24, "num_key_value_heads": 8, "intermediate_size": 512, "num_local_experts": 40,
        "num_experts_per_tok": 8, "vocab_size": 49155, "tie_word_embeddings": true)",
     3.3, 0.883},
    {"Mistral-Small-4-119B", "Mistral3ForConditionalGeneration", R"("text_config": {"model_type": "mistral4",
        "hidden_size": 4096, "num_hidden_layers": 36, "num_attention_heads": 32, "intermediate_size": 12288,
        "moe_intermediate_size": 2048, "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 4,
        "q_lora_rank": 1024, "kv_lora_rank": 256, "qk_nope_head_dim": 64, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "vocab_size": 131072})",
     119, 6.6},
    {"grok-2", "Grok1ForCausalLM", R"("hidden_size": 8192, "num_hidden_layers": 64, "num_attention_heads": 64,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 32768, "moe_intermediate_size": 16384,
        "num_local_experts": 8, "num_experts_per_tok": 2, "residual_moe": true, "vocab_size": 131072)",
     269.5, 115},
    {"Intern-S1", "InternS1ForConditionalGeneration", R"("vision_config": {}, "text_config": {
        "model_type": "qwen3_moe", "hidden_size": 4096, "num_hidden_layers": 94, "num_attention_heads": 64,
        "num_key_value_heads": 4, "head_dim": 128, "moe_intermediate_size": 1536, "num_experts": 128,
        "num_experts_per_tok": 8, "norm_topk_prob": true, "vocab_size": 153216})",
     235, 22.2},
};

TEST(ImportedSizes, AreThoseOfTheCards) {
  for (const Card& card : kCards) {
    const absl::StatusOr<ModelSpec> model =
        ImportHfConfig(absl::StrCat(R"({"architectures": [")", card.model_class, R"("], )", card.fields, "}"));
    ASSERT_TRUE(model.ok()) << card.model << ": " << model.status();
    const absl::StatusOr<ModelParameters> parameters = CountParameters(*model);
    ASSERT_TRUE(parameters.ok()) << card.model << ": " << parameters.status();
    const double total = static_cast<double>(parameters->counts.total) / 1e9;
    const double active = static_cast<double>(parameters->counts.active) / 1e9;
    EXPECT_NEAR(total, card.total, 0.01 * card.total) << card.model;
    EXPECT_NEAR(active, card.active, 0.01 * card.active) << card.model;
  }
}

}  // namespace
}  // namespace flightplan
