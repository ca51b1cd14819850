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
