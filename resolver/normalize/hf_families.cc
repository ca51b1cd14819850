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

const HfFamily kFamilies[] = {
    {"llama", "LlamaForCausalLM", kLlama, {}},
    {"mistral", "MistralForCausalLM|Mistral3ForConditionalGeneration", kMistral, kSliding},
    {"mixtral", "MixtralForCausalLM", kMixtral, kMixtralDerivations},
    {"qwen2", "Qwen2ForCausalLM|Qwen2_5_VLForConditionalGeneration", kQwen2, {}},
    {"qwen3", "Qwen3ForCausalLM|Qwen3VLForConditionalGeneration", kQwen3, {}},
    {"qwen3_moe",
     "Qwen3MoeForCausalLM|Qwen3VLMoeForConditionalGeneration|Qwen3OmniMoeForConditionalGeneration|"
     "Qwen3OmniMoeThinkerForConditionalGeneration",
     kQwen3Moe, kMoeEverywhere},
    {"qwen2_moe", "Qwen2MoeForCausalLM", kQwen2Moe, kMoeEverywhere},
    {"qwen3_next", "Qwen3NextForCausalLM", kQwenHybrid, kQwenHybridDerivations},
    {"qwen3_5_moe", "Qwen3_5MoeForCausalLM|Qwen3_5MoeForConditionalGeneration", kQwenHybrid, kQwenHybridDerivations},
    {"qwen3_5", "Qwen3_5ForCausalLM|Qwen3_5ForConditionalGeneration", kQwenHybridDense, kLinearLayers},
    {"deepseek_v2", "DeepseekV2ForCausalLM", kDeepSeekV2, kLatentMoe},
    // Kimi-K2 is published with DeepSeek's class and converted as such.
    {"deepseek_v3", "DeepseekV3ForCausalLM", kDeepSeekV3, kLatentMoe},
    {"kimi_k2", "KimiK2ForCausalLM|KimiK25ForConditionalGeneration", kKimiK2, kLatentMoe},
    {"deepseek_v32", "DeepseekV32ForCausalLM", kDeepSeekV3, kDeepSeekV32Derivations},
    {"glm4_moe_lite", "Glm4MoeLiteForCausalLM", kGlm47Flash, kLatentMoe},
    {"glm_moe_dsa", "GlmMoeDsaForCausalLM", kGlm5, kGlm5Derivations, "Megatron-Bridge trains this class without MTP"},
    {"deepseek_v4", "DeepseekV4ForCausalLM", kDeepSeekV4, kDeepSeekV4Derivations},
    {"glm4_moe", "Glm4MoeForCausalLM|Glm4vMoeForConditionalGeneration", kGlm45, kGlm45Derivations},
    {"gpt_oss", "GptOssForCausalLM", kGptOss, kAllMoe},
    {"olmoe", "OlmoeForCausalLM", kOlmoe, kOlmoeDerivations},
    {"minimax_m2", "MiniMaxM2ForCausalLM", kMiniMaxM2, kMiniMaxM2Derivations, "MTP modules are not converted"},
    {"minimax_m3", "MiniMaxM3SparseForConditionalGeneration|MiniMaxM3ForCausalLM", kMiniMaxM3, kMiniMaxM3Derivations},
    {"ernie4_5_moe", "Ernie4_5_MoeForCausalLM", kErnie, kErnieDerivations},
    {"nemotron_h",
     "NemotronHForCausalLM|NemotronH_Nano_VL_V2|NemotronH_Nano_Omni_Reasoning_V3|"
     "NemotronH_Super_Omni_Reasoning_V3",
     kNemotronH, kNemotronHDerivations},
    {"nemotron", "NemotronForCausalLM", kNemotron, {}},
    {"gemma", "GemmaForCausalLM", kGemma, kGemmaDerivations},
    {"gemma2", "Gemma2ForCausalLM", kGemma2, kGemma2Derivations},
    {"gemma3", "Gemma3ForCausalLM|Gemma3ForConditionalGeneration", kGemma3, kGemma3Derivations},
    {"gemma4", "Gemma4ForCausalLM|Gemma4ForConditionalGeneration", kGemma4, kGemma4Derivations},
    {"mimo", "MiMoForCausalLM", kMimo, {}},
    {"mimo_v2_flash", "MiMoV2FlashForCausalLM", kMimoV2Flash, kMimoV2FlashDerivations},
    {"bailing_moe_v2", "BailingMoeV2ForCausalLM", kBailing, kGlm45Derivations},
    {.label = "step3p5",
     .classes = "Step3p5ForCausalLM|Step3p7ForConditionalGeneration",
     .rows = kStep35,
     .derivations = kStep35Derivations,
     .own = "rotary_base"},
    {"kimi_k3", "KimiK3ForConditionalGeneration", kKimiHybrid, kKimiK3Derivations},
    {"kimi_linear", "KimiLinearForCausalLM", kKimiHybrid, kKimiLinearDerivations},
    {"llama4", "Llama4ForConditionalGeneration|Llama4ForCausalLM", kLlama4, kLlama4Derivations},
    {"dbrx", "DbrxForCausalLM", kDbrx, kAllMoe},
    {"phimoe", "PhiMoEForCausalLM", kPhiMoe, kAllMoe},
    {"grok1", "Grok1ForCausalLM|Grok1ModelForCausalLM", kGrok1, kGrok1Derivations},
    {"step3", "Step3TextForCausalLM|Step3VLForConditionalGeneration", kStep3, kStep3Derivations},
    {"mistral4", "Mistral4ForCausalLM|Mistral3ForConditionalGeneration/mistral4", kMistral4, kLatentMoe},
    {.label = "dots1",
     .classes = "Dots1ForCausalLM",
     .rows = kDots1,
     .derivations = kFirstDense,
     .own = "moe_router_score_function"},
    {"solar_open", "SolarOpenForCausalLM", kSolarOpen, kFirstDense},
    {"deepseek", "DeepseekForCausalLM", kSoftmaxFirstDense, kSoftmaxFirstDenseDerivations},
    {"bailing_moe", "BailingMoeForCausalLM", kSoftmaxFirstDense, kSoftmaxFirstDenseDerivations},
    {"hy_v3", "HYV3ForCausalLM", kHyV3, kFirstDense},
    {.label = "hunyuan_v1_moe",
     .classes = "HunYuanMoEV1ForCausalLM",
     .rows = kHunyuanMoe,
     .derivations = kHunyuanMoeDerivations,
     .own = "moe_ffn_hidden_size"},
    {"hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", kHunyuanDense, {}},
    {"exaone4", "Exaone4ForCausalLM|Exaone4_5_ForConditionalGeneration", kExaone4, kExaone4Derivations},
    {"exaone_moe", "ExaoneMoeForCausalLM|ExaoneMoEForCausalLM", kExaoneMoe, kWindowedFirstDense},
    {"afmoe", "AfmoeForCausalLM", kAfmoe, kWindowedFirstDense},
    {"sarvam_moe", "SarvamMoEForCausalLM", kSarvam, kFirstDense},
    {"sarvam_mla", "SarvamMLAForCausalLM", kSarvam, kLatentMoe},
    {"granitemoe", "GraniteMoeForCausalLM|GraniteMoeSharedForCausalLM", kGraniteMoe, kAllMoe},
    {.label = "granitemoehybrid",
     .classes = "GraniteMoeHybridForCausalLM",
     .rows = kGraniteHybrid,
     .derivations = kGraniteHybridDerivations,
     .own = "num_moe_experts"},
};

constexpr HfRefusal kRefusals[] = {
    {"DeciLMForCausalLM",
     "layers of different widths and without some parts (block_configs), which Megatron-Core reads "
     "from heterogeneous_layers_config_encoded_json alone"},
    {"Ernie4_5_VLMoeForConditionalGeneration", "a second pool of experts in each layer, for what is no text"},
    {"FalconH1ForCausalLM", "attention and Mamba side by side in each layer"},
    {"JambaForCausalLM", "layers of Mamba-1, where Megatron-Core has Mamba-2"},
    {"LongcatFlashForCausalLM|LongcatCausalLM|LongcatFlashNgramForCausalLM|LongcatNextForCausalLM",
     "two attention blocks and a dense MLP beside the experts of each layer, and experts that calculate nothing"},
    {"MiniMaxForCausalLM|MiniMaxText01ForCausalLM|MiniMaxM1ForCausalLM|BailingMoeLinearForCausalLM|"
     "BailingMoeLinearV2ForCausalLM|BailingMoeV2_5ForCausalLM",
     "lightning attention, where Megatron-Core's linear attention is the gated delta net"},
    {"Lfm2MoeForCausalLM|Lfm2ForCausalLM", "short convolutions in place of attention"},
    {"GroveMoeForCausalLM", "experts of two sizes in each layer"},
    {"SmallThinkerForCausalLM", "a router in front of the attention of its layer"},
    {"CohereForCausalLM|Cohere2ForCausalLM|Cohere2MoeForCausalLM", "attention and MLP side by side in each layer"},
    {"Gemma3nForCausalLM|Gemma3nForConditionalGeneration", "embeddings of single layers"},
};

}  // namespace

absl::Span<const HfRow> HfCommonRows() { return kCommon; }
absl::Span<const HfDerivation> HfCommonDerivations() { return kCommonDerivations; }
absl::Span<const HfFamily> HfFamilies() { return kFamilies; }
absl::Span<const HfRefusal> HfRefusals() { return kRefusals; }

}  // namespace flightplan
