// What is particular to the families of models.
#include "resolver/normalize/hf_families.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/hf_import.h"
#include "resolver/normalize/hf_import_test_util.h"
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

// A published DeepSeek-V3 with one value in place of its own: the last of two keys counts.
std::string DeepSeek(absl::string_view field) {
  std::string json = ReadFile("deepseek-v3");
  json.replace(json.rfind('}'), 1, absl::StrCat(", ", field, "}"));
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
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_EQ(notes[1], "Megatron-Core's own classes do not build a cap on logits");
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
  EXPECT_EQ(imported->window_attn_skip_freq, std::nullopt);  // the first layer is none of a period
  ASSERT_EQ(imported->window_attn_layers.size(), 48u);
  EXPECT_EQ(std::count(imported->window_attn_layers.begin(), imported->window_attn_layers.end(), 0), 9);
  EXPECT_EQ(imported->first_k_dense, 1);
  EXPECT_EQ(imported->num_moe_experts, 256);
  EXPECT_EQ(imported->moe_router_enable_expert_bias, true);
  EXPECT_FALSE(imported->is_mla());
  ASSERT_EQ(notes.size(), 4u);
  // Values of 128 are counted with 192: 4096 x (64 + 4) x 64, nine times.
  EXPECT_NE(notes[0].find("160 million parameters too many"), std::string::npos) << notes[0];
  EXPECT_NE(notes[1].find("its 39 layers with a window have 64 query and 8 key and value heads of 192 and 128"),
            std::string::npos)
      << notes[1];
  EXPECT_NE(notes[2].find("mtp_num_layers"), std::string::npos) << notes[2];
  EXPECT_NE(notes[3].find("do not build a scale of its own for values"), std::string::npos) << notes[3];

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
  EXPECT_EQ(imported->window_attn_layers, (std::vector<int64_t>{0, 1, 1, 1, 0}));
  ASSERT_EQ(notes.size(), 1u);  // 3 layers of 4096 x 2 x 32 x 128
  EXPECT_NE(notes[0].find("101 million parameters too few"), std::string::npos) << notes[0];
  EXPECT_TRUE(ImportHfConfig(Step35("10000")).ok());
  EXPECT_EQ(Fault(Step35("[]")), "$.rope_theta: needs a number, or a list of them");
  EXPECT_EQ(Fault(Step35("[[1]]")), "$.rope_theta: needs a number, or a list of them");
}

}  // namespace
}  // namespace flightplan
