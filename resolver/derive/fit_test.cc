#include "resolver/derive/fit.h"

#include <gtest/gtest.h>

#include "resolver/catalog/catalog.h"

namespace flightplan {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

struct Case {
  const char* model;
  int64_t world, tp, pp, ep;
  const char* layout;
  size_t stage;
  double gib;               // bf16 weights, fp32 gradients and moments, distributed optimizer
  double gib_bf16_moments;  // with bf16 moments
};

Config ConfigOf(const Case& c, bool bf16_moments) {
  Config config;
  config.Set(Knob::tensor_model_parallel_size, Value(c.tp), Origin::kCaller);
  config.Set(Knob::pipeline_model_parallel_size, Value(c.pp), Origin::kCaller);
  config.Set(Knob::expert_model_parallel_size, Value(c.ep), Origin::kCaller);
  config.Set(Knob::use_distributed_optimizer, Value(true), Origin::kDecided);
  if (c.layout != nullptr) config.Set(Knob::pipeline_model_parallel_layout, Value(c.layout), Origin::kCaller);
  if (bf16_moments) {
    config.Set(Knob::use_precision_aware_optimizer, Value(true), Origin::kDecided);
    config.Set(Knob::exp_avg_dtype, Value("bf16"), Origin::kDecided);
    config.Set(Knob::exp_avg_sq_dtype, Value("bf16"), Origin::kDecided);
  }
  return config;
}

// Worked by hand from the formulas, term by term.
TEST(StaticMemory, EqualsTheWorkedExamples) {
  const Case kCases[] = {
      {"qwen3-30b-a3b", 8, 1, 1, 8, nullptr, 0, 71.51, 57.30},
      {"mixtral-8x7b", 16, 2, 1, 8, nullptr, 0, 68.61, 57.74},
      {"deepseek-v3", 512, 1, 8, 64, "Et*8|t*8|t*8|t*8|t*8|t*8|t*8|t*5mL", 0, 36.91, 33.40},
      {"deepseek-v3", 512, 1, 8, 64, "Et*8|t*8|t*8|t*8|t*8|t*8|t*8|t*5mL", 3, 34.37, 29.01},
      {"deepseek-v3", 512, 1, 8, 64, "Et*8|t*8|t*8|t*8|t*8|t*8|t*8|t*5mL", 7, 37.05, 32.91},
  };
  const Catalog catalog = *Catalog::Builtin();
  for (const Case& c : kCases) {
    const ModelSpec& model = **catalog.FindModel(c.model);
    Environment env;
    env.world_size = c.world;
    for (bool bf16_moments : {false, true}) {
      const Config config = ConfigOf(c, bf16_moments);
      auto stages = StaticMemoryByStage(model, config, PlaceLayout(config, env));
      ASSERT_TRUE(stages.ok());
      ASSERT_LT(c.stage, stages->size());
      const double got = static_cast<double>((*stages)[c.stage].total()) / kGib;
      EXPECT_NEAR(got, bf16_moments ? c.gib_bf16_moments : c.gib, 0.01) << c.model << " stage " << c.stage;
    }
  }
}

struct Memory {
  StaticMemory first, last;
};

Memory MemoryOf(absl::string_view name, int64_t world, const std::vector<std::pair<Knob, Value>>& knobs,
                int cc_major = 9) {
  const Catalog catalog = *Catalog::Builtin();
  Config config;
  config.Set(Knob::use_distributed_optimizer, Value(true), Origin::kDecided);
  for (const auto& [knob, value] : knobs) config.Set(knob, value, Origin::kCaller);
  Environment env;
  env.world_size = world;
  auto stages = StaticMemoryByStage(**catalog.FindModel(name), config, PlaceLayout(config, env), cc_major);
  EXPECT_TRUE(stages.ok());
  return {stages->front(), stages->back()};
}

// Llama-3.1-8B on 8 GPUs: 8,030,261,248 parameters, of which two matrices of 128256 x 4096 and 65 norms of 4096 stay
// bf16 whatever the recipe.
TEST(StaticMemory, CountsLowPrecisionWeights) {
  constexpr int64_t kTotal = 8030261248;
  constexpr int64_t kBf16 = 2 * int64_t{128256} * 4096 + 65 * 4096;
  constexpr int64_t kLinear = kTotal - kBf16;
  const auto weights = [](const std::vector<std::pair<Knob, Value>>& knobs, int cc_major) {
    return MemoryOf("llama-3.1-8b", 8, knobs, cc_major).first.parameters;
  };
  EXPECT_EQ(weights({}, 9), 2 * kTotal);
  EXPECT_EQ(weights({{Knob::fp8, "hybrid"}, {Knob::fp8_recipe, "tensorwise"}}, 9), 2 * kTotal + 2 * kLinear);
  EXPECT_EQ(weights({{Knob::fp8, "hybrid"}, {Knob::fp8_recipe, "tensorwise"}}, 10), 2 * kTotal + kLinear);
  EXPECT_EQ(weights({{Knob::fp8, "hybrid"}, {Knob::fp8_recipe, "tensorwise"}, {Knob::fp8_param_gather, true}}, 9),
            2 * kBf16 + 2 * kLinear);
  EXPECT_EQ(weights({{Knob::fp8, "e4m3"}, {Knob::fp8_recipe, "mxfp8"}, {Knob::fp8_param_gather, true}}, 10),
            2 * kBf16 + kLinear / 16 * 33);
}

TEST(StaticMemory, ShardsTheOptimizerAndPadsTheVocabulary) {
  constexpr int64_t kTotal = 8030261248;
  const StaticMemory eight = MemoryOf("llama-3.1-8b", 8, {}).first;
  EXPECT_EQ(eight.gradients, 4 * kTotal);
  EXPECT_NEAR(static_cast<double>(eight.optimizer_state), 12.0 * kTotal / 8, 8);
  const StaticMemory two = MemoryOf("llama-3.1-8b", 8, {{Knob::num_distributed_optimizer_instances, 4}}).first;
  EXPECT_NEAR(static_cast<double>(two.optimizer_state), 12.0 * kTotal / 2, 8);
  // 128256 = 1002 * 128 is padded to 63 * 2048.
  const StaticMemory padded = MemoryOf("llama-3.1-8b", 8, {{Knob::make_vocab_size_divisible_by, 2048}}).first;
  EXPECT_EQ(padded.parameters, 2 * (kTotal + 2 * int64_t{63 * 2048 - 128256} * 4096));
}

TEST(StaticMemory, EmbeddingAndLossMayTakeALayersPlace) {
  const Catalog catalog = *Catalog::Builtin();
  Config config;
  config.Set(Knob::pipeline_model_parallel_size, Value(4), Origin::kCaller);
  config.Set(Knob::account_for_embedding_in_pipeline_split, Value(true), Origin::kCaller);
  config.Set(Knob::account_for_loss_in_pipeline_split, Value(true), Origin::kCaller);
  const std::vector<StageContents> stages = SplitStages(**catalog.FindModel("llama-3.1-405b"), config);  // 126 layers
  EXPECT_EQ(stages[0].layers.size(), 31u);
  EXPECT_EQ(stages[1].layers.size(), 32u);
  EXPECT_EQ(stages[3].layers.size(), 31u);
}

TEST(StaticMemory, SplitsUnevenLayersAndSurvivesAbsurdStages) {
  const Catalog catalog = *Catalog::Builtin();
  const ModelSpec& model = **catalog.FindModel("deepseek-v3");
  Config config;
  config.Set(Knob::pipeline_model_parallel_size, Value(8), Origin::kCaller);
  const std::vector<StageContents> stages = SplitStages(model, config);
  int64_t layers = 0;
  for (const StageContents& stage : stages) layers += static_cast<int64_t>(stage.layers.size());
  EXPECT_EQ(layers, 61);
  EXPECT_TRUE(stages.front().embedding);
  EXPECT_TRUE(stages.back().output);
  config.Set(Knob::pipeline_model_parallel_size, Value(int64_t{1} << 60), Origin::kCaller);
  EXPECT_LE(SplitStages(model, config).size(), 4096U);
}

}  // namespace
}  // namespace flightplan
