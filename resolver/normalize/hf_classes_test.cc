// The catalogue and the importer say the same of a model's class.
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
#include "resolver/normalize/hf_families.h"
#include "resolver/normalize/hf_import.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

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
