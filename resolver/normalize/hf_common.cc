// What each family says alike in its config.json: activation, scaled rotary positions, vocabulary.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/hf_families.h"

namespace flightplan {
namespace {

// Where the settings of scaled positions stand: newer files have them with the rotary base, in rope_parameters.
absl::string_view RopeSettings(const HfReader& r) {
  return r.Has("rope_scaling") ? absl::string_view("rope_scaling") : "rope_parameters";
}

// What transformers takes where a file leaves it out. Megatron-Bridge's own value for these is None, which its rotary
// embedding cannot calculate with.
absl::Status YarnDefaults(HfReader& r, absl::string_view settings) {
  const auto at = [&](absl::string_view key) { return absl::StrCat(settings, ".", key); };
  if (!r.Has(at("factor"))) return r.Error(at("factor"), "is missing");
  if (!r.Has(at("beta_fast"))) FLIGHTPLAN_RETURN_IF_ERROR(r.Set("yarn_beta_fast", Value(32.0), at("beta_fast")));
  if (!r.Has(at("beta_slow"))) FLIGHTPLAN_RETURN_IF_ERROR(r.Set("yarn_beta_slow", Value(1.0), at("beta_slow")));
  const std::optional<int64_t>& positions = r.model().max_position_embeddings;
  if (!r.Has(at("original_max_position_embeddings")) && positions.has_value()) {
    FLIGHTPLAN_RETURN_IF_ERROR(
        r.Set("yarn_original_max_position_embeddings", Value(*positions), "max_position_embeddings"));
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(bool rounded, r.Bool(at("truncate"), true));
  return r.Set("yarn_correction_range_round_to_int", Value(rounded), at("truncate"));
}

// The MLA classes take the settings under their own names, other attention under yarn_*.
absl::Status Yarn(HfReader& r, absl::string_view settings, bool latent) {
  struct Setting {
    absl::string_view key;
    absl::string_view mla;
    absl::string_view other;
    bool integer;
  };
  static constexpr Setting kSettings[] = {
      {"factor", "rotary_scaling_factor", "yarn_rotary_scaling_factor", false},
      {"original_max_position_embeddings", "original_max_position_embeddings", "yarn_original_max_position_embeddings",
       true},
      {"beta_fast", "beta_fast", "yarn_beta_fast", true},
      {"beta_slow", "beta_slow", "yarn_beta_slow", true},
      {"mscale", "mscale", "yarn_mscale", false},
      {"mscale_all_dim", "mscale_all_dim", "yarn_mscale_all_dim", false},
  };
  for (const Setting& setting : kSettings) {
    const std::string path = absl::StrCat(settings, ".", setting.key);
    if (!r.Has(path)) continue;
    FLIGHTPLAN_ASSIGN_OR_RETURN(double number, r.Real(path, 0));
    const bool as_integer = setting.integer && latent && number == std::floor(number) && std::abs(number) < 1e15;
    const Value value = as_integer || setting.key == "original_max_position_embeddings"
                            ? Value(static_cast<int64_t>(number))
                            : Value(number);
    FLIGHTPLAN_RETURN_IF_ERROR(r.Set(latent ? setting.mla : setting.other, value, path));
  }
  if (latent) return absl::OkStatus();
  return YarnDefaults(r, settings);
}

// Megatron's classes have the factor as a setting and the rest as constants.
absl::Status Llama3(HfReader& r, absl::string_view settings) {
  struct Constant {
    absl::string_view key;
    double value;
  };
  static constexpr Constant kConstants[] = {
      {"low_freq_factor", 1}, {"high_freq_factor", 4}, {"original_max_position_embeddings", 8192}};
  for (const Constant& constant : kConstants) {
    const std::string path = absl::StrCat(settings, ".", constant.key);
    FLIGHTPLAN_ASSIGN_OR_RETURN(double number, r.Real(path, constant.value));
    if (number == constant.value) continue;
    r.Note(absl::StrCat("its ", path, " of ", number, " is not carried over: Megatron scales positions of type llama3",
                        " with ", constant.value));
  }
  const std::string path = absl::StrCat(settings, ".factor");
  FLIGHTPLAN_ASSIGN_OR_RETURN(double factor, r.Real(path, 8.0));
  return r.Set("rope_scaling_factor", Value(factor), path);
}

}  // namespace

namespace hf {

// The classes' MLPs have a gate whatever their activation is; the families without one say so in their rows.
absl::Status Activation(HfReader& r) {
  absl::string_view path = "hidden_act";
  for (absl::string_view other : {"hidden_activation", "mlp_hidden_act", "ffn_config.ffn_act_fn.name"}) {
    if (!r.Has(path)) path = other;
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::string name, r.Text(path, "silu"));
  struct Known {
    absl::string_view name;
    absl::string_view activation;
  };
  static constexpr Known kKnown[] = {
      {"silu", "swiglu"},
      {"swish", "swiglu"},
      {"situ", "situ_glu"},
      {"swigluoai", "swiglu_oai"},
      {"gelu", "geglu"},
      {"gelu_pytorch_tanh", "geglu_tanh"},
      {"fast_gelu", "geglu_tanh"},
      {"relu2", "squared_relu"},
      {"squared_relu", "squared_relu"},
      {"relu", "relu"},
  };
  for (const Known& known : kKnown) {
    if (known.name != name) continue;
    r.model().activation = std::string(known.activation);
    r.model().gated_linear_unit = true;
    return absl::OkStatus();
  }
  std::vector<absl::string_view> names;
  for (const Known& known : kKnown) names.push_back(known.name);
  return r.Error(path, absl::StrCat("is '", Utf8Prefix(name, 60), "'; needs one of ", absl::StrJoin(names, ", ")));
}

absl::Status RopeScaling(HfReader& r) {
  const rapidjson::Value* const node = r.Find("rope_scaling");
  if (node != nullptr && !node->IsNull() && !node->IsObject()) {
    return r.Error("rope_scaling", "needs an object, such as {\"rope_type\": \"yarn\", \"factor\": 4}, or null");
  }
  const absl::string_view settings = RopeSettings(r);
  const auto at = [&](absl::string_view key) { return absl::StrCat(settings, ".", key); };
  const std::string type_path = r.Has(at("rope_type")) ? at("rope_type") : at("type");
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::string type, r.Text(type_path, "default"));
  if (type == "deepseek_yarn") type = "yarn";  // what servers of DeepSeek's attention call its yarn
  // Of a model that sees: text has the same position in each of its sections.
  if (type == "default" || type == "mrope") return absl::OkStatus();
  FLIGHTPLAN_RETURN_IF_ERROR(r.Set("rope_scaling_type", Value(type), type_path));
  const bool latent = r.Has("kv_lora_rank") || r.Has("o_lora_rank");
  if (type == "yarn") return Yarn(r, settings, latent);
  if (latent || type == "dynamic" || type == "longrope") {
    if (latent) r.model().rope_scaling_type.reset();  // its positions are built as those of a file without it
    r.Note(absl::StrCat("its ", type_path, " '", type, "' is not carried over: Megatron ",
                        latent ? "scales the positions of latent attention by yarn alone"
                               : "builds rotary positions of types yarn, llama3 and linear",
                        ", and trains these unscaled; keep the training's seq_length within the unscaled positions"));
    return absl::OkStatus();
  }
  if (type == "llama3") return Llama3(r, settings);
  if (!r.Has(at("factor"))) return r.Error(at("factor"), "is missing");
  FLIGHTPLAN_ASSIGN_OR_RETURN(double factor, r.Real(at("factor"), 1.0));
  return r.Set("seq_len_interpolation_factor", Value(factor), at("factor"));
}

// The largest power of two, at most 128, that divides the vocabulary.
absl::Status VocabularyDivisor(HfReader& r) {
  const int64_t vocabulary = r.model().vocab_size;
  int64_t divisor = 128;
  while (vocabulary % divisor != 0) divisor /= 2;
  return r.Set("make_vocab_size_divisible_by", Value(divisor), "vocab_size");
}

}  // namespace hf
}  // namespace flightplan
