// What is particular to the families of models.
#include "resolver/normalize/hf_families.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/hf_import.h"
#include "resolver/normalize/hf_import_test_util.h"
// The catalogue and the importer say the same of a model's class.
#include "resolver/normalize/hf_families.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/hf_import.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

TEST(HfFamilies, EveryRowNamesAFieldOrAKnob) {
  std::vector<HfRow> rows(HfCommonRows().begin(), HfCommonRows().end());
  for (const HfFamily& family : HfFamilies()) rows.insert(rows.end(), family.rows.begin(), family.rows.end());
  for (const HfRow& row : rows) {
    EXPECT_TRUE(FindModelField(row.field) != nullptr || FindKnob(row.field).has_value()) << row.field;
    EXPECT_FALSE(row.keys.empty() && row.otherwise.empty()) << row.field;
  }
  EXPECT_GE(HfFamilies().size(), 36u);
}

// A published DeepSeek-V3 with one value in place of its own: the first of two keys counts.
std::string DeepSeek(absl::string_view field) {
  std::string json = ReadFile("deepseek-v3");
  json.replace(json.find('{'), 1, absl::StrCat("{", field, ", "));
  return json;
}

TEST(HfFamilies, DeepSeekTakesItsExpertsFromTheFile) {
  std::vector<std::string> notes;
  EXPECT_EQ(ImportHfConfig(DeepSeek(R"("n_shared_experts": null)"))->moe_shared_expert_intermediate_size, std::nullopt);
  EXPECT_EQ(ImportHfConfig(DeepSeek(R"("n_shared_experts": 2)"))->moe_shared_expert_intermediate_size, 4096);
  const ModelSpec sparse = *ImportHfConfig(DeepSeek(R"("moe_layer_freq": 2)"), &notes);
  EXPECT_EQ(std::count(sparse.moe_layer_freq.begin(), sparse.moe_layer_freq.end(), 1), 29);  // 4, 6 ... 60
  EXPECT_EQ(sparse.first_k_dense, 4);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("moe_layer_freq of 2"), std::string::npos) << notes[0];
}

TEST(HfFamilies, LatentAttentionScalesByYarnAlone) {
  std::vector<std::string> notes;
  const ModelSpec model = *ImportHfConfig(DeepSeek(R"("rope_scaling": {"type": "linear", "factor": 4})"), &notes);
  EXPECT_EQ(KnobOf(model, Knob::rotary_scaling_factor), Value(1.0));  // 40 by default
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("'linear' is not carried over"), std::string::npos) << notes[0];
}

TEST(HfFamilies, Gemma4HasTheCatalogueFigures) {
  std::vector<std::string> notes;
  const absl::StatusOr<ModelSpec> imported = ImportHfConfig(Gemma4Moe(), &notes);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Catalog catalog = *Catalog::Builtin();
  const ModelSpec& known = **catalog.FindModel("gemma-4-26b-a4b");
  for (const ModelField& field : ModelFields()) {
    // The file's MLP beside the experts is the shared expert: both have its width here.
    if (!IsArchitecture(field.name) || field.name == "ffn_hidden_size") continue;
    EXPECT_EQ(GetField(field, *imported), GetField(field, known)) << field.name;
  }
  // 5 layers of 2816 x (2 x 16 x 512 + 2 x 2 x 512 - 2 x 16 x 256 - 2 x 8 x 256).
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(
      notes[0],
      "its 5 layers without a window have 16 query and 2 key and value heads of 512; they are counted with 16 and "
      "8 of 256, which is 86.5 million parameters too few");
}

TEST(HfFamilies, Gemma4WithoutExpertsIsDense) {
  const absl::StatusOr<ModelSpec> imported =
      ImportHfConfig(Gemma4(absl::StrCat(R"("num_hidden_layers": 60, "hidden_size": 5376, "intermediate_size": 21504,
        "num_attention_heads": 32, "num_key_value_heads": 16, "num_global_key_value_heads": 4, "num_experts": null,
        "top_k_experts": null, "moe_intermediate_size": null, "layer_types": [)",
                                         Repeated(kGemmaCycle, 10), "]")));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_FALSE(imported->is_moe());
  EXPECT_EQ(imported->ffn_hidden_size, 21504);
  EXPECT_EQ(Fault(Gemma4(R"("num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
                             "num_key_value_heads": 2, "hidden_size_per_layer_input": 256)")),
            "$.text_config.hidden_size_per_layer_input: is 256; a model description here holds no embeddings of single "
            "layers");
}

TEST(HfFamilies, MiMoV2FlashSaysWhatIsCountedAlike) {
  // The first layer and each sixth have no window; the first has no experts.
  const std::string pattern = absl::StrCat("0, 1, 1, 1, 1, 0, ", Repeated("1, 1, 1, 1, 1, 0", 7));
  std::vector<std::string> notes;
  const absl::StatusOr<ModelSpec> imported =
      ImportHfConfig(MiMoV2Flash(pattern, absl::StrCat("0, ", Repeated("1", 47))), &notes);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->num_query_groups, 4);
  EXPECT_EQ(imported->kv_channels, 192);
  EXPECT_EQ(imported->window_size, 128);
  EXPECT_EQ(imported->window_attn_skip_freq, 5);
  EXPECT_EQ(imported->first_k_dense, 1);
  EXPECT_EQ(imported->num_moe_experts, 256);
  EXPECT_EQ(imported->moe_router_enable_expert_bias, true);
  EXPECT_FALSE(imported->is_mla());
  ASSERT_EQ(notes.size(), 4u);
  EXPECT_NE(notes[0].find("9 of its 48 layers have no window"), std::string::npos) << notes[0];
  // Values of 128 are counted with 192: 4096 x (64 + 4) x 64, nine times.
  EXPECT_NE(notes[1].find("160 million parameters too many"), std::string::npos) << notes[1];
  EXPECT_NE(notes[2].find("its 39 layers with a window have 64 query and 8 key and value heads of 192 and 128"),
            std::string::npos)
      << notes[2];
  EXPECT_NE(notes[3].find("mtp_num_layers"), std::string::npos) << notes[3];

  EXPECT_EQ(Fault(MiMoV2Flash("0, 1", Repeated("1", 48))),
            "$.hybrid_layer_pattern: has 2 entries; needs one for each of 48 layers");
  EXPECT_EQ(Fault(MiMoV2Flash(pattern, "1")), "$.moe_layer_freq: has 1 entries; needs one for each of 48 layers");
}

TEST(HfFamilies, Step35TakesARotaryBaseALayer) {
  std::vector<std::string> notes;
  const absl::StatusOr<ModelSpec> imported = ImportHfConfig(Step35("[5000000.0, 10000.0]"), &notes);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->rotary_base, 5000000);
  EXPECT_EQ(imported->first_k_dense, 3);
  EXPECT_EQ(imported->moe_router_score_function, "sigmoid");
  ASSERT_EQ(notes.size(), 2u);  // 3 layers of 4096 x 2 x 32 x 128
  EXPECT_NE(notes[1].find("101 million parameters too few"), std::string::npos) << notes[1];
  EXPECT_TRUE(ImportHfConfig(Step35("10000")).ok());
  EXPECT_EQ(Fault(Step35("[]")), "$.rope_theta: needs a number, or a list of them");
  EXPECT_EQ(Fault(Step35("[[1]]")), "$.rope_theta: needs a number, or a list of them");
const HfFamily* FamilyOf(const ModelSpec& model) {
  for (const HfFamily& family : HfFamilies()) {
    for (absl::string_view name : absl::StrSplit(family.classes, '|')) {
      if (name == model.architecture) return &family;
    }
  }
  return nullptr;
}

// What a catalogue entry says of a row: a field of the model, or else a knob that a launch must repeat.
Value Said(const ModelSpec& model, absl::string_view name) {
  if (const ModelField* field = FindModelField(name)) return GetField(*field, model);
  for (const auto& [knob, value] : model.knobs) {
    if (Name(knob) == name) return value;
  }
  return Value();
}

bool Same(const Value& value, absl::string_view literal) {
  double number = 0;
  if (value.is_number() && absl::SimpleAtod(literal, &number)) return value.real() == number;
  if (value.is_bool()) return literal == (value.truthy() ? "true" : "false");
  if (value.is_text()) return literal == value.text();
  return value.is_none() && literal == "null";
}

// A row without keys is a constant of its class, whatever the file says: every model of the class has it.
TEST(HfFamilies, CatalogueModelsHaveTheConstantsOfTheirClass) {
  const Catalog catalog = *Catalog::Builtin();
  int compared = 0;
  for (const ModelSpec& model : catalog.models()) {
    const HfFamily* family = FamilyOf(model);
    if (family == nullptr) continue;
    for (const HfRow& row : family->rows) {
      if (!row.keys.empty() || row.field == "attention_dropout") continue;  // written as 0 for every model
      if (row.field == "mtp_loss_scaling_factor" && !model.mtp_num_layers.has_value()) continue;
      ++compared;
      const Value said = Said(model, row.field);
      EXPECT_TRUE(Same(said, row.otherwise))
          << model.name << " " << row.field << ": " << said.ToJson() << ", its class " << row.otherwise;
    }
  }
  EXPECT_GT(compared, 300);
}

// A model's windows as the launch has them: a period, or one flag a layer.
struct WindowRow {
  absl::string_view fields;
  std::optional<int64_t> period;
  std::vector<int64_t> layers;
};

TEST(HfImport, WindowsStandWhereTheFileSays) {
  const std::string full = R"("full_attention")", sliding = R"("sliding_attention")";
  const auto types = [&](const std::vector<int>& windowed) {
    std::vector<std::string> names;
    for (int layer : windowed) names.push_back(layer != 0 ? sliding : full);
    return absl::StrCat(R"("layer_types": [)", absl::StrJoin(names, ", "), "]");
  };
  constexpr absl::string_view kGemma3 = R"("architectures": ["Gemma3ForCausalLM"], "num_hidden_layers": 4, )";
  constexpr absl::string_view kMistral = R"("architectures": ["MistralForCausalLM"], "num_hidden_layers": 4,
      "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 8, "vocab_size": 1000,
      "sliding_window": 512, )";
  const std::string gemma_all = absl::StrCat(kGemma3, types({0, 0, 0, 0}));
  const std::string gemma_two = absl::StrCat(kGemma3, R"("sliding_window_pattern": 2)");
  const std::string mistral_one = absl::StrCat(kMistral, types({1, 0, 1, 0}));
  const std::string mistral_first = absl::StrCat(kMistral, types({0, 1, 1, 1}));
  const std::string mistral_each = absl::StrCat(kMistral, types({1, 1, 1, 1}));
  const WindowRow rows[] = {{gemma_all, 1, {}},
                            {gemma_two, 2, {}},
                            {mistral_one, 2, {}},
                            {mistral_first, std::nullopt, {0, 1, 1, 1}},
                            {mistral_each, std::nullopt, {}}};
  for (const WindowRow& row : rows) {
    const absl::StatusOr<ModelSpec> model = ImportHfConfig(absl::StrCat("{", row.fields, "}"));
    ASSERT_TRUE(model.ok()) << row.fields << ": " << model.status();
    EXPECT_EQ(model->window_attn_skip_freq, row.period) << row.fields;
    EXPECT_EQ(model->window_attn_layers, row.layers) << row.fields;
  }
}

// As it was published: its text_config says what differs from its class.
TEST(HfImport, AWrappersTextHasTheDefaultsOfItsClass) {
  const absl::StatusOr<ModelSpec> model = ImportHfConfig(R"({"architectures": ["Gemma3ForConditionalGeneration"],
      "model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "hidden_size": 2560,
      "intermediate_size": 10240, "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
      "sliding_window": 1024}})");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->vocab_size, 262208);
  EXPECT_EQ(model->num_attention_heads, 8);
  EXPECT_EQ(model->num_query_groups, 4);
  EXPECT_EQ(model->kv_channels, 256);
  EXPECT_EQ(Said(*model, "layernorm_epsilon"), Value(1e-6));
  EXPECT_EQ(Said(*model, "make_vocab_size_divisible_by"), Value(64));
}

}  // namespace
}  // namespace flightplan
