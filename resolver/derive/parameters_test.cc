#include "resolver/derive/parameters.h"

#include "gtest/gtest.h"
#include "resolver/catalog/catalog.h"

namespace flightplan {
namespace {

const Catalog& Builtin() {
  static const auto* const kCatalog = new Catalog(*Catalog::Builtin());
  return *kCatalog;
}

TEST(CountParameters, EqualsTheComputedFiguresOfEveryCatalogueModel) {
  int compared = 0;
  for (const ModelSpec& model : Builtin().models()) {
    absl::StatusOr<ModelParameters> parameters = CountParameters(model);
    ASSERT_TRUE(parameters.ok()) << model.name << parameters.status();
    const ParameterCounts& counts = parameters->counts;
    EXPECT_EQ(counts.total, model.computed->total) << model.name;
    EXPECT_EQ(counts.total_with_mtp, model.computed->total_with_mtp) << model.name;
    EXPECT_EQ(counts.active, model.computed->active) << model.name;
    EXPECT_EQ(counts.active_without_input_embedding, model.computed->active_without_input_embedding) << model.name;
    EXPECT_EQ(counts.active_without_any_embedding, model.computed->active_without_any_embedding) << model.name;
    ++compared;
  }
  EXPECT_EQ(compared, 98);
}

TEST(CountParameters, PartsAddUpToTheTotal) {
  for (const ModelSpec& model : Builtin().models()) {
    const ModelParameters p = *CountParameters(model);
    int64_t sum = p.embedding + p.positions + p.output + p.head.total();
    for (const PartParameters& layer : p.layers) sum += layer.total();
    EXPECT_EQ(sum, p.counts.total) << model.name;
    EXPECT_EQ(sum + p.mtp_depths * p.mtp_depth.total(), p.counts.total_with_mtp) << model.name;
    EXPECT_EQ(static_cast<int64_t>(p.layers.size()), model.num_layers) << model.name;
  }
}

TEST(CountParameters, SplitsAttentionByHand) {
  // Qwen3-30B-A3B: h 2048, 32 heads, 4 groups of 128, 128 experts of 768, no shared expert.
  const ModelParameters p = *CountParameters(**Builtin().FindModel("qwen3-30b-a3b"));
  const PartParameters& layer = p.layers[0];
  EXPECT_EQ(layer.split, 2048 * (32 + 8) * 128 + 32 * 128 * 2048);
  EXPECT_EQ(layer.replicated, 2 * 128 + 2048 * 128 + 2 * 2048);
  EXPECT_EQ(layer.expert, int64_t{128} * 3 * 2048 * 768);
  EXPECT_EQ(layer.expert_active, int64_t{8} * 3 * 2048 * 768);
}

TEST(CountParameters, RefusesWhatDoesNotFit) {
  ModelSpec huge = **Builtin().FindModel("deepseek-v3");
  huge.num_moe_experts = 65536;
  huge.hidden_size = int64_t{1} << 24;
  huge.moe_ffn_hidden_size = int64_t{1} << 24;
  EXPECT_TRUE(absl::IsInvalidArgument(CountParameters(huge).status()));
  ModelSpec unsound = **Builtin().FindModel("deepseek-v3");
  unsound.moe_layer_freq.pop_back();
  EXPECT_NE(CountParameters(unsound).status().message().find("moe_layer_freq"), absl::string_view::npos);
}

}  // namespace
}  // namespace flightplan
