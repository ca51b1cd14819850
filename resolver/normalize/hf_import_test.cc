#include "resolver/normalize/hf_import.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "rapidjson/document.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/hf_import_test_util.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

constexpr absl::string_view kFiles[] = {"dbrx",
                                        "deepseek-v3",
                                        "deepseek-v3.2",
                                        "deepseek-v4-flash",
                                        "deepseek-v4-pro",
                                        "ernie-4.5-21b-a3b",
                                        "gemma-2-2b",
                                        "glm-4.5",
                                        "glm-5",
                                        "gpt-oss-120b",
                                        "kimi-k2",
                                        "kimi-k3",
                                        "kimi-linear-48b-a3b",
                                        "llama-3.1-405b",
                                        "llama-3.1-8b",
                                        "llama-4-scout",
                                        "mimo-7b",
                                        "minimax-m2.5",
                                        "minimax-m3",
                                        "mixtral-8x7b",
                                        "moonlight-16b-a3b",
                                        "nemotron-3-nano-30b-a3b",
                                        "nemotron-h-56b",
                                        "olmoe-1b-7b",
                                        "phi-3.5-moe",
                                        "qwen1.5-moe-a2.7b",
                                        "qwen3-1.7b",
                                        "qwen3-235b-a22b",
                                        "qwen3-30b-a3b",
                                        "qwen3-32b",
                                        "qwen3-8b",
                                        "qwen3-next-80b-a3b",
                                        "qwen3.5-35b-a3b",
                                        "qwen3.5-397b-a17b",
                                        "step-3"};

// Where a file and the catalogue rightly differ.
struct Exception {
  absl::string_view file;
  absl::string_view field;
  absl::string_view reason;
};
constexpr Exception kExceptions[] = {
    {"minimax-m3", "architecture", "the file is a flattened text config; the published checkpoint has the other class"},
    {"qwen1.5-moe-a2.7b", "rotary_base", "this copy of the file leaves it out, other copies say it"},
    {"qwen1.5-moe-a2.7b", "max_position_embeddings", "this copy of the file leaves it out, other copies say it"},
    {"phi-3.5-moe", "rotary_base", "this copy of the file leaves it out"},
};

bool Expected(absl::string_view file, absl::string_view field) {
  for (const Exception& exception : kExceptions) {
    if (exception.file == file && exception.field == field) return true;
  }
  return false;
}

TEST(HfImport, PublishedFilesGiveTheCatalogueFigures) {
  const Catalog catalog = *Catalog::Builtin();
  int compared = 0;
  for (absl::string_view name : kFiles) {
    absl::StatusOr<ModelSpec> imported = ImportHfConfig(ReadFile(name));
    ASSERT_TRUE(imported.ok()) << name << ": " << imported.status();
    const ModelSpec& known = **catalog.FindModel(name);
    for (const ModelField& field : ModelFields()) {
      if (!IsArchitecture(field.name)) continue;
      ++compared;
      const Value got = GetField(field, *imported);
      const Value want = GetField(field, known);
      EXPECT_EQ(got != want, Expected(name, field.name))
          << name << " " << field.name << ": file " << got.ToJson() << ", catalogue " << want.ToJson();
    }
  }
  EXPECT_GT(compared, 2800);
}

TEST(HfImport, PublishedFilesGiveTheCatalogueKnobs) {
  const Catalog catalog = *Catalog::Builtin();
  int compared = 0;
  for (absl::string_view name : kFiles) {
    const ModelSpec imported = *ImportHfConfig(ReadFile(name));
    for (const auto& [knob, want] : (*catalog.FindModel(name))->knobs) {
      if (knob == Knob::model_name) continue;  // LoongForge's name for it, which no checkpoint knows
      const auto got = std::find_if(imported.knobs.begin(), imported.knobs.end(),
                                    [&, wanted = knob](const auto& entry) { return entry.first == wanted; });
      ASSERT_NE(got, imported.knobs.end()) << name << " " << Name(knob);
      EXPECT_EQ(got->second, want) << name << " " << Name(knob);
      ++compared;
    }
  }
  EXPECT_GT(compared, 150);
}

// A small sound file to spoil.
constexpr absl::string_view kQwen = R"({"architectures": ["Qwen3MoeForCausalLM"], "model_type": "qwen3_moe",
  "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 8,
  "vocab_size": 1000, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
  "norm_topk_prob": true})";

std::string Spoiled(absl::string_view from, absl::string_view to) {
  const std::string json = absl::StrReplaceAll(kQwen, {{from, to}});
  EXPECT_NE(json, kQwen) << from;
  return Fault(json);
}

TEST(HfImport, NamesThePathOfAWrongField) {
  EXPECT_EQ(Fault(kQwen), "");
  EXPECT_EQ(Spoiled("\"num_hidden_layers\": 4", "\"num_hidden_layers\": -4"),
            "$.num_hidden_layers: is -4; needs an integer from 1 to 10000");
  EXPECT_EQ(Spoiled("\"num_hidden_layers\": 4", "\"num_hidden_layers\": \"4\""),
            "$.num_hidden_layers: is \"4\"; needs an integer from 1 to 10000");
  EXPECT_EQ(Spoiled("\"num_hidden_layers\": 4", "\"num_hidden_layers\": NaN"),
            "$.num_hidden_layers: is NaN; needs an integer from 1 to 10000");
  EXPECT_EQ(Spoiled("\"num_hidden_layers\": 4", "\"num_hidden_layers\": {\"a\": 1}"),
            "$.num_hidden_layers: is an object; needs a plain value or a list");
  EXPECT_EQ(Spoiled("\"num_hidden_layers\": 4,", ""), "$.num_hidden_layers: is missing");
  EXPECT_EQ(Spoiled("\"num_experts\": 8", "\"num_experts\": 1000000000000000000"),
            "$.num_experts: is 1000000000000000000; needs an integer from 1 to 65536");
  EXPECT_EQ(Spoiled("\"num_experts_per_tok\": 2", "\"num_experts_per_tok\": 9"),
            "$.num_experts_per_tok: is 9; needs at most num_moe_experts, 8");
  EXPECT_EQ(Spoiled("\"norm_topk_prob\": true", "\"norm_topk_prob\": 1"),
            "$.norm_topk_prob: is 1; needs true or false");
  EXPECT_EQ(Spoiled("\"norm_topk_prob\": true", "\"norm_topk_prob\": true, \"decoder_sparse_step\": 2"),
            "$.decoder_sparse_step: is 2; only 1 (every layer MoE) is converted");
  EXPECT_EQ(Spoiled("\"norm_topk_prob\": true", "\"norm_topk_prob\": true, \"hidden_act\": \"mish\"").substr(0, 31),
            "$.hidden_act: is 'mish'; needs ");
  EXPECT_EQ(Spoiled("\"norm_topk_prob\": true", "\"norm_topk_prob\": true, \"rms_norm_eps\": \"x\""),
            "$.rms_norm_eps: is \"x\"; wrong type for layernorm_epsilon");
  EXPECT_EQ(Fault(R"({"architectures": ["Qwen3_5MoeForConditionalGeneration"],
                      "text_config": {"num_hidden_layers": 0}})"),
            "$.text_config.num_hidden_layers: is 0; needs an integer from 1 to 10000");
}

TEST(HfImport, NamesAnUnknownClassAndWhatIsMissing) {
  const std::string fault = Spoiled("Qwen3MoeForCausalLM", "Qwen4MoeForCausalLM");
  EXPECT_NE(fault.find("'Qwen4MoeForCausalLM' is not known"), std::string::npos) << fault;
  EXPECT_NE(fault.find("nearest known: Qwen2MoeForCausalLM"), std::string::npos) << fault;
  EXPECT_EQ(Fault("{}").substr(0, 26), "$.architectures: is missin");
  EXPECT_EQ(Fault(R"({"architectures": [3]})").substr(0, 22), "$.architectures: needs");
  EXPECT_EQ(Fault(R"({"architectures": "LlamaForCausalLM"})").substr(0, 22), "$.architectures: needs");
}

TEST(HfImport, SaysWhatAUserShouldKnow) {
  std::vector<std::string> notes;
  ASSERT_TRUE(ImportHfConfig(ReadFile("step-3"), &notes).ok());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("converts no such class"), std::string::npos);
  notes.clear();
  ASSERT_TRUE(ImportHfConfig(ReadFile("qwen3-30b-a3b"), &notes).ok());
  EXPECT_TRUE(notes.empty());
}

// A published Llama with `fields` in place of its own.
std::string Llama(absl::string_view fields) {
  return absl::StrCat(R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 4,
    "hidden_size": 64, "num_attention_heads": 8, "intermediate_size": 256, "vocab_size": 1000,
    "max_position_embeddings": 2048)",
                      fields, "}");
}

TEST(HfImport, AnActivationLeavesTheGateOfItsClass) {
  for (const auto& [name, activation] : {std::pair("silu", "swiglu"), std::pair("gelu", "geglu"),
                                         std::pair("relu2", "squared_relu"), std::pair("relu", "relu")}) {
    const absl::StatusOr<ModelSpec> model = ImportHfConfig(Llama(absl::StrCat(R"(, "hidden_act": ")", name, "\"")));
    ASSERT_TRUE(model.ok()) << model.status();
    EXPECT_EQ(model->activation, activation);
    EXPECT_TRUE(model->gated_linear_unit) << name;
  }
  EXPECT_FALSE(ImportHfConfig(ReadFile("nemotron-h-56b"))->gated_linear_unit);
}

TEST(HfImport, NullIsAsGoodAsAbsent) {
  const ModelSpec model = *ImportHfConfig(Llama(R"(, "num_key_value_heads": null)"));
  EXPECT_EQ(model.num_query_groups, 8);
  EXPECT_EQ(model.attention, "mha");
}

TEST(HfImport, SaysThatAWindowIsNotCarriedOver) {
  constexpr struct {
    absl::string_view fields, note;  // note empty: none
  } kRows[] = {
      {R"(, "use_sliding_window": true, "sliding_window": 512, "max_window_layers": 1)",
       "the window of its 3 layers with sliding attention, 512 tokens, is not carried over"},
      {R"(, "sliding_window": 512, "layer_types": ["sliding_attention", "full_attention", "sliding_attention",
          "full_attention"])",
       "of its 2 layers"},
      {R"(, "use_sliding_window": false, "sliding_window": 512)", ""},
      {R"(, "use_sliding_window": true, "sliding_window": 512, "max_window_layers": 4)", ""},
      {R"(, "use_sliding_window": true, "sliding_window": null)", ""},
  };
  for (const auto& row : kRows) {
    std::vector<std::string> notes;
    ASSERT_TRUE(ImportHfConfig(Llama(row.fields), &notes).ok()) << row.fields;
    ASSERT_EQ(notes.size(), row.note.empty() ? 0u : 1u) << row.fields;
    EXPECT_TRUE(notes.empty() || absl::StrContains(notes[0], row.note)) << notes[0];
  }
}

TEST(HfImport, RotaryScalingIsCarriedOrSaid) {
  const auto scaled = [](absl::string_view settings, std::vector<std::string>* notes) {
    return *ImportHfConfig(Llama(absl::StrCat(R"(, "rope_scaling": {)", settings, "}")), notes);
  };
  std::vector<std::string> notes;
  // What the file leaves out is as transformers takes it.
  ModelSpec model = scaled(R"("rope_type": "yarn", "factor": 4)", &notes);
  EXPECT_EQ(KnobOf(model, Knob::yarn_rotary_scaling_factor), Value(4));
  EXPECT_EQ(KnobOf(model, Knob::yarn_original_max_position_embeddings), Value(2048));
  EXPECT_EQ(KnobOf(model, Knob::yarn_beta_fast), Value(32.0));
  EXPECT_EQ(KnobOf(model, Knob::yarn_beta_slow), Value(1.0));
  EXPECT_EQ(KnobOf(model, Knob::yarn_correction_range_round_to_int), Value(true));
  model = scaled(R"("rope_type": "linear", "factor": 2.0)", &notes);
  EXPECT_EQ(KnobOf(model, Knob::seq_len_interpolation_factor), Value(2.0));
  EXPECT_TRUE(notes.empty());
  scaled(R"("rope_type": "longrope", "factor": 2.0)", &notes);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("'longrope' is not carried over"), std::string::npos) << notes[0];
  scaled(R"("rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 4096)", &notes);
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_NE(notes[1].find("of 4096 is not carried over"), std::string::npos) << notes[1];
  // Newer files have the settings beside the base.
  const ModelSpec newer = *ImportHfConfig(Llama(R"(, "rope_parameters": {"rope_type": "yarn", "factor": 4})"));
  EXPECT_EQ(newer.rope_scaling_type, "yarn");
  EXPECT_EQ(Fault(Llama(R"(, "rope_scaling": {"type": "linear"})")), "$.rope_scaling.factor: is missing");
  EXPECT_EQ(Fault(Llama(R"(, "rope_scaling": {"type": "yarn"})")), "$.rope_scaling.factor: is missing");
}

// No prefix of a file and no single wrong value may crash or be taken for a model.
TEST(HfImport, SurvivesTruncationAtEveryByte) {
  const std::string json = ReadFile("deepseek-v3");
  for (size_t length = 0; length + 1 < json.size() - 1; ++length) {
    const absl::Status status = ImportHfConfig(absl::string_view(json).substr(0, length)).status();
    ASSERT_FALSE(status.ok()) << length;
    ASSERT_NE(status.message().find("offset"), absl::string_view::npos) << status;
  }
}

// Keys that few families read.
constexpr absl::string_view kFamilyFields[] = {
    R"("architectures": ["GraniteMoeHybridForCausalLM"], "num_local_experts": 8, "shared_intermediate_size": 32,
       "mamba_n_heads": 8, "mamba_d_head": "auto", "mamba_expand": 2, "position_embedding_type": "nope",
       "layer_types": ["mamba", "attention", "mamba", "mamba"], "residual_multiplier": 0.5)",
    R"("architectures": ["HunYuanMoEV1ForCausalLM"], "moe_topk": [2, 2, 2, 2], "num_shared_expert": [1, 1, 1, 1],
       "use_mixed_mlp_moe": true, "use_cla": false)",
    R"("architectures": ["ExaoneMoEForCausalLM"], "sliding_window": 64, "sliding_window_pattern": "LLG",
       "num_shared_experts": 1, "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"])",
    R"("architectures": ["AfmoeForCausalLM"], "sliding_window": 64, "global_attn_every_n_layers": 2,
       "num_dense_layers": 1, "num_shared_experts": 1, "mup_enabled": true, "moe_layer_freq": 1)",
    R"("architectures": ["Grok1ForCausalLM"], "num_local_experts": 8, "residual_moe": true,
       "first_k_dense_replace": 1, "clip_qkv": 8)"};

TEST(HfImport, SurvivesAnyTypeInAnyField) {
  const char* const kValues[] = {
      "null", "true",  "-1", "0",    "1000000000000000000",    "1e300", "NaN", "-Infinity", "\"x\"",
      "[]",   "[[1]]", "{}", "[-1]", "99999999999999999999999"};
  std::vector<std::string> files = {Gemma4Moe(), MiMoV2Flash("0, 1", "0, 1", 2), Step35("[5000000.0, 10000.0]")};
  for (absl::string_view fields : kFamilyFields) {
    files.push_back(absl::StrCat(R"({"num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 8,
        "num_key_value_heads": 2, "intermediate_size": 128, "moe_intermediate_size": 32, "vocab_size": 1000,
        "num_experts": 8, "num_experts_per_tok": 2, "norm_topk_prob": true, "topk_method": "noaux_tc", )",
                                 fields, "}"));
  }
  for (absl::string_view name : kFiles) files.push_back(ReadFile(name));
  for (const std::string& json : files) {
    ASSERT_TRUE(ImportHfConfig(json).ok()) << json;
    rapidjson::Document document;
    document.Parse<rapidjson::kParseNanAndInfFlag>(json.c_str());
    ASSERT_FALSE(document.HasParseError()) << json;
    const bool nested = document.HasMember("text_config");
    const rapidjson::Value& fields = nested ? document["text_config"] : document;
    for (const auto& member : fields.GetObject()) {
      const std::string key = absl::StrCat("\"", member.name.GetString(), "\"");
      for (const char* value : kValues) {
        // The spoiled key goes first: the reader takes the first of two.
        const std::string object = absl::StrCat("{", key, ": ", value, ", ");
        std::string spoiled = json;
        const size_t at = nested ? spoiled.find('{', spoiled.find("\"text_config\"")) : spoiled.find('{');
        spoiled.replace(at, 1, object);
        const absl::StatusOr<ModelSpec> model = ImportHfConfig(spoiled);
        if (model.ok()) {
          EXPECT_TRUE(CheckModel(*model).empty()) << object;
        } else {
          EXPECT_FALSE(model.status().message().empty());
        }
      }
    }
  }
}

TEST(HfImport, RefusesHostileFiles) {
  EXPECT_NE(Fault(std::string(kMaxHfConfigBytes + 1, ' ')).find("262145 bytes; it may have at most 262144"),
            std::string::npos);
  EXPECT_NE(Fault(std::string(200000, '[')).find("offset 100 of 200000: Nested more than 100"), std::string::npos);
  std::string deep = "{\"architectures\": " + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_NE(Fault(deep).find("Nested more than 100 deep"), std::string::npos);
  EXPECT_EQ(Fault("{\"architectures\": [\"MixtralForCausalLM\"], \"rope_theta\": 0." + std::string(16000, '0') + "25}")
                .find("not readable"),
            std::string::npos);  // RapidJSON's own reading of it ends the process
  EXPECT_NE(Fault("[]").find("needs an object"), std::string::npos);
  EXPECT_NE(Fault("\xff\xfe").find("offset"), std::string::npos);
}

}  // namespace
}  // namespace flightplan
