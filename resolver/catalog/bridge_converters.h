// The models that Megatron-Bridge's AutoBridge reads from a Hugging Face folder, for the stacks that load by it.
#pragma once

#include <algorithm>
#include <array>

#include "absl/strings/string_view.h"
#include "resolver/plan/environment.h"

namespace flightplan {

// The classes that a converter is registered for, sorted (NVIDIA-NeMo/Megatron-Bridge@067f987df
// src/megatron/bridge/models, each register_bridge).
inline constexpr std::array<absl::string_view, 62> kBridgeConverters = {
    "BailingMoeV2ForCausalLM",
    "DeciLMForCausalLM",
    "DeepseekV2ForCausalLM",
    "DeepseekV3ForCausalLM",
    "DeepseekV4ForCausalLM",
    "Ernie4_5_MoeForCausalLM",
    "Ernie4_5_VLMoeForConditionalGeneration",
    "Exaone4ForCausalLM",
    "Exaone4_5_ForConditionalGeneration",
    "ExaoneMoEForCausalLM",
    "ExaoneMoeForCausalLM",
    "FalconH1ForCausalLM",
    "Gemma2ForCausalLM",
    "Gemma3ForCausalLM",
    "Gemma3ForConditionalGeneration",
    "Gemma4ForCausalLM",
    "Gemma4ForConditionalGeneration",
    "GemmaForCausalLM",
    "Glm4MoeForCausalLM",
    "Glm4MoeLiteForCausalLM",
    "Glm4vMoeForConditionalGeneration",
    "GlmMoeDsaForCausalLM",
    "GptOssForCausalLM",
    "HYV3ForCausalLM",
    "KimiK25ForConditionalGeneration",
    "KimiK2ForCausalLM",
    "KimiK3ForConditionalGeneration",
    "LLaDAModelLM",
    "LlamaForCausalLM",
    "MiMoForCausalLM",
    "MiMoV2FlashForCausalLM",
    "MiniMaxM2ForCausalLM",
    "MiniMaxM3SparseForConditionalGeneration",
    "Mistral3ForConditionalGeneration",
    "MistralForCausalLM",
    "NemotronForCausalLM",
    "NemotronHForCausalLM",
    "NemotronH_Nano_Omni_Reasoning_V3",
    "NemotronH_Nano_VL_V2",
    "NemotronH_Super_Omni_Reasoning_V3",
    "OlmoeForCausalLM",
    "Qwen2AudioForConditionalGeneration",
    "Qwen2ForCausalLM",
    "Qwen2_5OmniForConditionalGeneration",
    "Qwen2_5OmniModel",
    "Qwen2_5_VLForConditionalGeneration",
    "Qwen3ASRForConditionalGeneration",
    "Qwen3ForCausalLM",
    "Qwen3MoeForCausalLM",
    "Qwen3NextForCausalLM",
    "Qwen3OmniMoeForConditionalGeneration",
    "Qwen3VLForConditionalGeneration",
    "Qwen3VLMoeForConditionalGeneration",
    "Qwen3_5ForCausalLM",
    "Qwen3_5ForConditionalGeneration",
    "Qwen3_5ForTokenClassification",
    "Qwen3_5MoeForCausalLM",
    "Qwen3_5MoeForConditionalGeneration",
    "SarvamMLAForCausalLM",
    "SarvamMoEForCausalLM",
    "Step3p5ForCausalLM",
    "Step3p7ForConditionalGeneration",
};

inline bool IsBridgeConverter(absl::string_view model_class) {
  return std::binary_search(kBridgeConverters.begin(), kBridgeConverters.end(), model_class);
}

// By _validate_config, which refuses every other class before a weight is read. A model of no known class passes.
inline bool HasBridgeConverter(const Environment& env) {
  return env.model_class.empty() || IsBridgeConverter(env.model_class);
}

}  // namespace flightplan
