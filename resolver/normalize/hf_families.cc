#include "resolver/normalize/hf_families.h"

#include "resolver/normalize/hf_rows_dense.h"
#include "resolver/normalize/hf_rows_hybrid.h"
#include "resolver/normalize/hf_rows_latent.h"
#include "resolver/normalize/hf_rows_moe.h"

namespace flightplan {
namespace {

constexpr HfRow kCommon[] = {
    {"num_layers", "num_hidden_layers|n_layers", kRequired},
    {"hidden_size", "hidden_size|d_model", kRequired},
    {"ffn_hidden_size", "intermediate_size"},
    {"num_attention_heads", "num_attention_heads|n_heads", kRequired},
    {"num_query_groups", "num_key_value_heads|num_attention_groups|num_attention_heads|n_heads", kRequired},
    {"kv_channels", "head_dim"},
    {"vocab_size", "vocab_size", kRequired},
    {"max_position_embeddings", "max_position_embeddings|max_position_embedding|model_max_length|max_seq_len"},
    {"layernorm_epsilon", "rms_norm_eps", "1e-5"},
    {"init_method_std", "initializer_range", "0.02"},
    {"attention_dropout", "attention_dropout", "0.0"},
    {"hidden_dropout", "hidden_dropout", "0.0"},
    {"tie_embeddings", "tie_word_embeddings", "false"},
    {"add_qkv_bias", "attention_bias", "false"},
    {"add_bias_linear", "mlp_bias", "false"},
    {"qk_layernorm", "use_qk_norm", "false"},
    {"rotary_base", "rope_theta|rope_parameters.rope_theta", "10000"},
    {"rotary_percent", kPartialRotary, "1.0"},
    {"num_moe_experts", "num_experts|num_local_experts|n_routed_experts"},
    {"moe_router_topk", "num_experts_per_tok"},
    {"moe_ffn_hidden_size", "moe_intermediate_size"},
    {"moe_aux_loss_coeff", "aux_loss_alpha|router_aux_loss_coef"},
    {"moe_router_score_function", "scoring_func"},
    {"moe_router_num_groups", "n_group"},
    {"moe_router_group_topk", "topk_group"},
    {"moe_router_topk_scaling_factor", "routed_scaling_factor"},
    {"q_lora_rank", "q_lora_rank"},
    {"kv_lora_rank", "kv_lora_rank"},
    {"qk_head_dim", "qk_nope_head_dim"},
    {"qk_pos_emb_head_dim", "qk_rope_head_dim"},
    {"v_head_dim", "v_head_dim"},
    {"mtp_num_layers", "num_nextn_predict_layers|mtp_num_hidden_layers", "", true},
};
constexpr HfDerivation kCommonDerivations[] = {hf::Activation, hf::RopeScaling, hf::VocabularyDivisor};

constexpr absl::string_view kNoConverter =
    "Megatron-Bridge@067f987df converts no such class: the sizes hold for plans and estimates, the checkpoint needs a "
    "converter of its own";

const HfFamily kFamilies[] = {
    {"llama", "LlamaForCausalLM", kLlama, {}},
    {"mistral", "MistralForCausalLM|Mistral3ForConditionalGeneration", kMistral, kSliding},
    {"mixtral", "MixtralForCausalLM", kMixtral, kMixtralDerivations, kNoConverter},
    {"qwen2", "Qwen2ForCausalLM|Qwen2_5_VLForConditionalGeneration", kQwen2, {}},
    {"qwen3", "Qwen3ForCausalLM|Qwen3VLForConditionalGeneration", kQwen3, {}},
    {"qwen3_moe", "Qwen3MoeForCausalLM|Qwen3VLMoeForConditionalGeneration", kQwen3Moe, kMoeEverywhere},
    {"qwen2_moe", "Qwen2MoeForCausalLM", kQwen2Moe, kMoeEverywhere, kNoConverter},
    {"qwen3_next", "Qwen3NextForCausalLM", kQwenHybrid, kQwenHybridDerivations},
    {"qwen3_5_moe", "Qwen3_5MoeForCausalLM|Qwen3_5MoeForConditionalGeneration", kQwenHybrid, kQwenHybridDerivations},
    {"qwen3_5", "Qwen3_5ForCausalLM|Qwen3_5ForConditionalGeneration", kQwenHybridDense, kLinearLayers},
    {"deepseek_v2", "DeepseekV2ForCausalLM", kDeepSeekV2, kLatentMoe},
    // Kimi-K2 is published with DeepSeek's class and converted as such.
    {"deepseek_v3", "DeepseekV3ForCausalLM", kDeepSeekV3, kLatentMoe},
    {"kimi_k2", "KimiK2ForCausalLM|KimiK25ForConditionalGeneration", kKimiK2, kLatentMoe},
    {"deepseek_v32", "DeepseekV32ForCausalLM", kDeepSeekV3, kDeepSeekV32Derivations, kNoConverter},
    {"glm4_moe_lite", "Glm4MoeLiteForCausalLM", kGlm47Flash, kLatentMoe},
    {"glm_moe_dsa", "GlmMoeDsaForCausalLM", kGlm5, kGlm5Derivations, "Megatron-Bridge trains this class without MTP"},
    {"deepseek_v4", "DeepseekV4ForCausalLM", kDeepSeekV4, kDeepSeekV4Derivations},
    {"glm4_moe", "Glm4MoeForCausalLM|Glm4vMoeForConditionalGeneration", kGlm45, kGlm45Derivations},
    {"gpt_oss", "GptOssForCausalLM", kGptOss, kAllMoe},
    {"olmoe", "OlmoeForCausalLM", kOlmoe, kOlmoeDerivations},
    {"minimax_m2", "MiniMaxM2ForCausalLM", kMiniMaxM2, kMiniMaxM2Derivations, "MTP modules are not converted"},
    {"minimax_m3", "MiniMaxM3SparseForConditionalGeneration|MiniMaxM3ForCausalLM", kMiniMaxM3, kMiniMaxM3Derivations},
    {"ernie4_5_moe", "Ernie4_5_MoeForCausalLM", kErnie, kErnieDerivations},
    {"nemotron_h", "NemotronHForCausalLM", kNemotronH, kNemotronHDerivations},
    {"nemotron", "NemotronForCausalLM", kNemotron, {}},
    {"gemma", "GemmaForCausalLM", kGemma, kGemmaDerivations},
    {"gemma2", "Gemma2ForCausalLM", kGemma2, kGemma2Derivations},
    {"gemma3", "Gemma3ForCausalLM|Gemma3ForConditionalGeneration", kGemma3, kGemma3Derivations},
    {"gemma4", "Gemma4ForCausalLM|Gemma4ForConditionalGeneration", kGemma4, kGemma4Derivations},
    {"mimo", "MiMoForCausalLM", kMimo, {}},
    {"mimo_v2_flash", "MiMoV2FlashForCausalLM", kMimoV2Flash, kMimoV2FlashDerivations},
    {"bailing_moe_v2", "BailingMoeV2ForCausalLM", kBailing, kGlm45Derivations},
    {.label = "step3p5",
     .classes = "Step3p5ForCausalLM",
     .rows = kStep35,
     .derivations = kStep35Derivations,
     .own = "rotary_base"},
    {"kimi_k3", "KimiK3ForConditionalGeneration", kKimiHybrid, kKimiK3Derivations},
    {"kimi_linear", "KimiLinearForCausalLM", kKimiHybrid, kKimiLinearDerivations, kNoConverter},
    {"llama4", "Llama4ForConditionalGeneration|Llama4ForCausalLM", kLlama4, kLlama4Derivations, kNoConverter},
    {"dbrx", "DbrxForCausalLM", kDbrx, kAllMoe, kNoConverter},
    {"phimoe", "PhiMoEForCausalLM", kPhiMoe, kAllMoe, kNoConverter},
    {"grok1", "Grok1ForCausalLM|Grok1ModelForCausalLM", kGrok1, kAllMoe, kNoConverter},
    {"step3", "Step3TextForCausalLM", kStep3, kStep3Derivations, kNoConverter},
};

}  // namespace

absl::Span<const HfRow> HfCommonRows() { return kCommon; }
absl::Span<const HfDerivation> HfCommonDerivations() { return kCommonDerivations; }
absl::Span<const HfFamily> HfFamilies() { return kFamilies; }

}  // namespace flightplan
