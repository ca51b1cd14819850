#include "resolver/derive/model_from_knobs.h"

#include <memory>

#include "gtest/gtest.h"
#include "resolver/catalog/catalog.h"
#include "resolver/catalog/defaults.h"
#include "resolver/derive/model_knobs.h"
#include "resolver/derive/parameters.h"
#include "resolver/derive/shape.h"

namespace flightplan {
namespace {

Config ConfigOf(const ModelSpec& model, const Environment& env) {
  Config config = DefaultsFor(env.target, env.core_release, env.bridge_release, model.is_mla());
  for (const auto& [knob, value] : ModelKnobs(model, env)) config.Set(knob, value, Origin::kCaller);
  return config;
}

// What a model is written as, is read back as a model with the same parameters.
class CountsAsTheModel : public testing::TestWithParam<const char*> {};

TEST_P(CountsAsTheModel, WrittenForBridge) {
  const auto catalog = Catalog::Builtin();
  ASSERT_TRUE(catalog.ok());
  const ModelSpec& model = **catalog->FindModel(GetParam());
  Environment env;
  env.target = Target::kMegatronBridge;
  const auto read = ModelFromKnobs(ConfigOf(model, env));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(CountParameters(*read)->counts, CountParameters(model)->counts);
}

INSTANTIATE_TEST_SUITE_P(Models, CountsAsTheModel,
                         testing::Values("deepseek-v3", "qwen3-30b-a3b", "qwen3-235b-a22b", "mixtral-8x7b", "qwen3-8b",
                                         "llama-3.1-70b", "qwen3-next-80b-a3b", "qwen3.5-35b-a3b", "deepseek-v3.2",
                                         "glm-5"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) c = c == '-' || c == '.' ? '_' : c;
                           return name;
                         });

class HybridCountsAsTheModel : public testing::TestWithParam<const char*> {};

TEST_P(HybridCountsAsTheModel, WrittenForMegatronLm) {
  const auto catalog = Catalog::Builtin();
  ASSERT_TRUE(catalog.ok());
  const ModelSpec& model = **catalog->FindModel(GetParam());
  Environment env;
  env.target = Target::kMegatronLm;
  const auto read = ModelFromKnobs(ConfigOf(model, env));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(CountParameters(*read)->counts, CountParameters(model)->counts);
}

INSTANTIATE_TEST_SUITE_P(Models, HybridCountsAsTheModel,
                         testing::Values("nemotron-3-nano-30b-a3b", "nemotron-3-super-120b-a12b", "qwen3-next-80b-a3b",
                                         "deepseek-v3.2"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) c = c == '-' || c == '.' ? '_' : c;
                           return name;
                         });

// The windows of the layers of gpt-oss-20b, whose own knobs give every second layer none.
std::vector<int64_t> WindowsWith(Knob knob, const Value& value) {
  const auto catalog = Catalog::Builtin();
  Environment env;
  env.target = Target::kMegatronBridge;
  Config config = ConfigOf(**catalog->FindModel("gpt-oss-20b"), env);
  config.Set(knob, value, Origin::kCaller);
  const auto read = ModelFromKnobs(config);
  EXPECT_TRUE(read.ok()) << read.status();
  const auto shape = MakeShape(*read);
  EXPECT_TRUE(shape.ok()) << shape.status();
  std::vector<int64_t> windows;
  for (const uint8_t kind : shape->layer_kinds) windows.push_back(shape->kinds[kind].window);
  return windows;
}

TEST(ModelFromKnobs, ReadsWhichLayersHaveAWindow) {
  const std::vector<int64_t> by_period = WindowsWith(Knob::window_attn_skip_freq, Value(2));
  EXPECT_EQ((std::vector<int64_t>{by_period[0], by_period[1], by_period[2]}), (std::vector<int64_t>{128, 0, 128}));
  Value::List listed(by_period.size(), Value(0));
  listed[1] = Value(1);
  std::vector<int64_t> wanted(by_period.size(), 0);
  wanted[1] = 128;
  EXPECT_EQ(WindowsWith(Knob::window_attn_skip_freq, Value(listed)), wanted);
}

TEST(ModelFromKnobs, AWindowWithoutALimitIsNone) {
  const std::vector<int64_t> windows = WindowsWith(Knob::window_size, Value(Value::List{-1, 0}));
  EXPECT_EQ(windows, std::vector<int64_t>(windows.size(), 0));
}

// Beside the parameters, what a forecast asks of a model.
TEST(ModelFromKnobs, ForecastsAsTheModelWhereItsWordsSayAll) {
  const auto catalog = Catalog::Builtin();
  ASSERT_TRUE(catalog.ok());
  int compared = 0;
  Environment env;
  env.target = Target::kMegatronBridge;
  for (const ModelSpec& model : catalog->models()) {
    ModelSpec unbridged = model;
    unbridged.bridge = unbridged.architecture = std::nullopt;  // whose converter says more than words do
    std::vector<Knob> absent;
    ModelKnobs(model, env, &absent);
    if (!MissingModelFeatures(unbridged, env, absent).empty() || model.hybrid_layer_pattern.has_value()) continue;
    const auto read = ModelFromKnobs(ConfigOf(model, env));
    ASSERT_TRUE(read.ok()) << model.name << ": " << read.status();
    const auto is = MakeShape(*read), was = MakeShape(model);
    ASSERT_TRUE(is.ok() && was.ok()) << model.name;
    EXPECT_EQ(is->activation, was->activation) << model.name;
    EXPECT_EQ(is->gated, was->gated) << model.name;
    EXPECT_EQ(is->router_groups, was->router_groups) << model.name;
    EXPECT_EQ(is->router_group_topk, was->router_group_topk) << model.name;
    EXPECT_EQ(is->expert_bias && is->is_moe(), was->expert_bias) << model.name;
    EXPECT_EQ(is->tied, was->tied) << model.name;
    const auto total = static_cast<double>(CountParameters(model)->counts.total_with_mtp);
    EXPECT_NEAR(static_cast<double>(CountParameters(*read)->counts.total_with_mtp) / total, 1, 1e-3) << model.name;
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

TEST(ModelFromKnobs, NamesWhatIsMissing) {
  Config config = DefaultsFor(Target::kMegatronLm, kMain, kMain, false);
  config.Set(Knob::num_layers, 4, Origin::kCaller);
  config.Set(Knob::hidden_size, 1024, Origin::kCaller);
  config.Set(Knob::num_attention_heads, 16, Origin::kCaller);
  const auto model = ModelFromKnobs(config);
  EXPECT_EQ(model.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(model.status().message(), "vocab_size is not given: the tokenizer says it when the run starts");
}

TEST(ModelFromKnobs, CountsEveryNthLayerAsSoftmaxAttention) {
  Config config = DefaultsFor(Target::kMegatronLm, kMain, kMain, false);
  config.Set(Knob::num_layers, 6, Origin::kCaller);
  for (Knob knob : {Knob::hidden_size, Knob::num_attention_heads, Knob::vocab_size}) {
    config.Set(knob, 1024, Origin::kCaller);
  }
  config.Set(Knob::experimental_attention_variant, "gdn", Origin::kCaller);
  EXPECT_EQ(ModelFromKnobs(config).status().message(), "linear_attention_freq is not given");
  config.Set(Knob::linear_attention_freq, 4, Origin::kCaller);
  EXPECT_EQ(ModelFromKnobs(config)->linear_attention_freq, (std::vector<int64_t>{1, 1, 1, 0, 1, 1}));
  config.Set(Knob::linear_attention_freq, Value(Value::List{Value(0), Value(1)}), Origin::kCaller);
  EXPECT_EQ(ModelFromKnobs(config)->linear_attention_freq, (std::vector<int64_t>{0, 1, 0, 0, 0, 0}));
  config.Set(Knob::experimental_attention_variant, "gdn2", Origin::kCaller);
  EXPECT_EQ(ModelFromKnobs(config).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(ModelFromKnobs, SaysWhatItDoesNotWeigh) {
  Config config = DefaultsFor(Target::kMegatronBridge, kMain, kMain, false);
  for (Knob knob : {Knob::num_layers, Knob::hidden_size, Knob::num_attention_heads, Knob::vocab_size}) {
    config.Set(knob, 1024, Origin::kCaller);
  }
  config.Set(Knob::is_hybrid_model, true, Origin::kCaller);
  EXPECT_EQ(ModelFromKnobs(config).status().code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace flightplan
