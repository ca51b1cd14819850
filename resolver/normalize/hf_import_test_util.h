// Configs of published models, as files and as text, and what tests ask of them.
#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "resolver/normalize/hf_import.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/model.h"
#include "resolver/plan/value.h"

namespace flightplan {

inline std::string ReadFile(absl::string_view name) {
  std::ifstream stream(absl::StrCat(FLIGHTPLAN_SOURCE_DIR, "/tests/data/hf_configs/", name, ".json"));
  return std::string((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
}

inline std::string Fault(absl::string_view json) { return std::string(ImportHfConfig(json).status().message()); }

inline Value KnobOf(const ModelSpec& model, Knob knob) {
  for (const auto& [name, value] : model.knobs) {
    if (name == knob) return value;
  }
  return Value();
}

// Names, sources and published figures are the catalogue's own.
inline bool IsArchitecture(absl::string_view field) {
  for (absl::string_view own :
       {"name", "family", "aliases", "hf_id", "bridge", "sources", "derived", "unverified", "notes",
        "published_total_params", "published_active_params", "published_source", "published_scope"}) {
    if (field == own) return false;
  }
  return true;
}

// Layers of two shapes of heads: counted as one shape, and said how far off that is. The sizes are those published.
inline std::string Repeated(absl::string_view cycle, int times) {
  std::vector<absl::string_view> all(static_cast<size_t>(times), cycle);
  return absl::StrJoin(all, ", ");
}
inline constexpr absl::string_view kGemmaCycle =
    R"("sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention", "sliding_attention",
       "full_attention")";

inline std::string Gemma4(absl::string_view fields) {
  return absl::StrCat(R"({"architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4", "text_config": {
    "hidden_activation": "gelu_pytorch_tanh", "vocab_size": 262144, "head_dim": 256, "global_head_dim": 512,
    "sliding_window": 1024, "max_position_embeddings": 262144, "rms_norm_eps": 1e-06, "attention_bias": false, "final_logit_softcapping": 30.0,
    "rope_parameters": {"full_attention": {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0},
                        "sliding_attention": {"rope_theta": 10000.0}}, )",
                      fields, "}}");
}

inline std::string Gemma4Moe() {
  return Gemma4(absl::StrCat(R"("num_hidden_layers": 30, "hidden_size": 2816, "intermediate_size": 2112,
        "num_attention_heads": 16, "num_key_value_heads": 8, "num_global_key_value_heads": 2, "enable_moe_block": true,
        "num_experts": 128, "top_k_experts": 8, "moe_intermediate_size": 704, "layer_types": [)",
                             Repeated(kGemmaCycle, 5), "]"));
}

// `pattern`, `freq`: one entry a layer.
inline std::string MiMoV2Flash(absl::string_view pattern, absl::string_view freq, int layers = 48) {
  return absl::StrCat(R"({"architectures": ["MiMoV2FlashForCausalLM"], "model_type": "mimo_v2_flash",
    "vocab_size": 152576, "hidden_size": 4096, "num_attention_heads": 64, "num_key_value_heads": 4, "head_dim": 192, "v_head_dim": 128, "swa_num_attention_heads": 64,
    "swa_num_key_value_heads": 8, "swa_head_dim": 192, "swa_v_head_dim": 128, "partial_rotary_factor": 0.334,
    "rope_theta": 5000000, "swa_rope_theta": 10000, "sliding_window": 128, "sliding_window_size": 128,
    "intermediate_size": 16384, "n_routed_experts": 256, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
    "n_shared_experts": null, "routed_scaling_factor": null, "scoring_func": "sigmoid", "n_group": 1, "topk_group": 1,
    "norm_topk_prob": true, "layernorm_epsilon": 1e-5, "attention_value_scale": 0.707,
    "num_hidden_layers": )",
                      layers, R"(, "hybrid_layer_pattern": [)", pattern, R"(], "moe_layer_freq": [)", freq, "]}");
}

// `theta`: the value of rope_theta.
inline std::string Step35(absl::string_view theta) {
  return absl::StrCat(R"({"architectures": ["Step3p5ForCausalLM"], "model_type": "step3p5", "hidden_size": 4096,
    "num_hidden_layers": 5, "vocab_size": 128896, "num_attention_heads": 64, "num_attention_groups": 8, "head_dim": 128,
    "intermediate_size": 11264, "moe_num_experts": 288, "moe_top_k": 8, "moe_intermediate_size": 1280,
    "share_expert_dim": 1280, "moe_layers_enum": "3,4", "use_qk_norm": true, "moe_router_activation": "sigmoid",
    "use_moe_router_bias": true, "need_fp32_gate": true, "sliding_window": 512, "attention_other_setting":
    {"attention_type": "sliding_attention", "num_attention_heads": 96, "num_attention_groups": 8, "head_dim": 128},
    "layer_types": ["full_attention", "sliding_attention", "sliding_attention", "sliding_attention",
                    "full_attention", "full_attention"], "rope_theta": )",
                      theta, "}");
}

}  // namespace flightplan
