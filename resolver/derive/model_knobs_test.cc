#include "resolver/derive/model_knobs.h"

#include <map>

#include "gtest/gtest.h"
#include "resolver/catalog/catalog.h"
#include "resolver/catalog/defaults.h"

namespace flightplan {
namespace {

using K = Knob;

const ModelSpec& Model(absl::string_view name) {
  static const auto* const kCatalog = new Catalog(*Catalog::Builtin());
  return **kCatalog->FindModel(name);
}

Environment For(Target target, int release = kMain) {
  Environment env;
  env.target = target;
  env.core_release = release;
  return env;
}

std::map<Knob, Value> Knobs(absl::string_view model, const Environment& env) {
  std::map<Knob, Value> knobs;
  for (const auto& [knob, value] : ModelKnobs(Model(model), env)) {
    EXPECT_TRUE(knobs.emplace(knob, value).second) << "twice: " << Name(knob);
  }
  return knobs;
}

TEST(ModelKnobs, DeepSeekV3OnTheCommandLine) {
  const std::map<Knob, Value> k = Knobs("deepseek-v3", For(Target::kMegatronLm));
  EXPECT_EQ(k.at(K::num_layers), Value(61));
  EXPECT_EQ(k.at(K::multi_latent_attention), Value(true));
  EXPECT_EQ(k.at(K::q_lora_rank), Value(1536));
  EXPECT_EQ(k.at(K::kv_lora_rank), Value(512));
  EXPECT_EQ(k.at(K::qk_head_dim), Value(128));
  EXPECT_EQ(k.at(K::qk_pos_emb_head_dim), Value(64));
  EXPECT_EQ(k.at(K::swiglu), Value(true));
  EXPECT_EQ(k.at(K::untie_embeddings_and_output_weights), Value(true));
  EXPECT_EQ(k.at(K::add_bias_linear), Value(false));
  EXPECT_EQ(k.at(K::normalization), Value("RMSNorm"));
  EXPECT_EQ(k.at(K::position_embedding_type), Value("rope"));
  EXPECT_EQ(k.at(K::num_moe_experts), Value(256));
  EXPECT_EQ(k.at(K::moe_layer_freq).list().size(), 61u);
  EXPECT_EQ(k.at(K::moe_layer_freq).list()[2], Value(0));
  EXPECT_EQ(k.at(K::moe_router_score_function), Value("sigmoid"));
  EXPECT_EQ(k.at(K::mtp_num_layers), Value(1));
  EXPECT_EQ(k.at(K::layernorm_epsilon), Value(1e-6));
  EXPECT_EQ(k.at(K::rotary_scaling_factor), Value(40.0));
  // Upstream's FLOPs and memory helpers assert that MLA comes without it.
  EXPECT_EQ(k.count(K::group_query_attention), 0u);
}

TEST(ModelKnobs, GroupedQueriesNeedTheirSwitch) {
  const std::map<Knob, Value> cli = Knobs("qwen3-30b-a3b", For(Target::kMegatronLm));
  EXPECT_EQ(cli.at(K::group_query_attention), Value(true));
  EXPECT_EQ(cli.at(K::num_query_groups), Value(4));
  EXPECT_EQ(cli.at(K::kv_channels), Value(128));
  EXPECT_EQ(cli.at(K::qk_layernorm), Value(true));
  EXPECT_EQ(cli.at(K::moe_layer_freq), Value(1));
  const std::map<Knob, Value> mha = Knobs("olmoe-1b-7b", For(Target::kMegatronLm));
  EXPECT_EQ(mha.at(K::group_query_attention), Value(false));
  EXPECT_EQ(mha.count(K::num_query_groups), 0u);
}

TEST(ModelKnobs, ConfigClassesGetTheirOwnNames) {
  const std::map<Knob, Value> k = Knobs("mixtral-8x7b", For(Target::kMegatronBridge));
  EXPECT_EQ(k.at(K::activation_func), Value("silu"));
  EXPECT_EQ(k.at(K::gated_linear_unit), Value(true));
  EXPECT_EQ(k.at(K::share_embeddings_and_output_weights), Value(false));
  EXPECT_EQ(k.count(K::swiglu), 0u);
  EXPECT_EQ(k.count(K::untie_embeddings_and_output_weights), 0u);
  EXPECT_EQ(k.at(K::num_query_groups), Value(8));
}

TEST(ModelKnobs, SpecialArchitectures) {
  const std::map<Knob, Value> oss = Knobs("gpt-oss-120b", For(Target::kMegatronLm));
  EXPECT_EQ(oss.at(K::quick_geglu), Value(true));
  EXPECT_EQ(oss.count(K::swiglu), 0u);
  EXPECT_EQ(oss.at(K::window_size), Value(Value::List{127, 0}));
  EXPECT_EQ(oss.at(K::window_attn_skip_freq), Value(2));
  EXPECT_EQ(oss.at(K::softmax_type), Value("learnable"));
  EXPECT_EQ(oss.at(K::yarn_correction_range_round_to_int), Value(false));
  // Which layers have a window is a list where no period says it: the first of four has none.
  const std::map<Knob, Value> step = Knobs("step-3.5-flash", For(Target::kMegatronLm));
  ASSERT_EQ(step.at(K::window_attn_skip_freq).list().size(), 45u);
  EXPECT_EQ(step.at(K::window_attn_skip_freq).list()[0], Value(0));
  EXPECT_EQ(step.at(K::window_attn_skip_freq).list()[3], Value(1));
  EXPECT_EQ(oss.at(K::add_bias_linear), Value(true));
  EXPECT_EQ(oss.at(K::position_embedding_type), Value("yarn"));
  EXPECT_EQ(oss.at(K::rotary_scaling_factor), Value(32.0));
  const std::map<Knob, Value> next = Knobs("qwen3-next-80b-a3b", For(Target::kMegatronLm));
  EXPECT_EQ(next.at(K::experimental_attention_variant), Value("gdn"));
  EXPECT_EQ(Knobs("qwen3-next-80b-a3b", For(Target::kMegatronLm, 18)).at(K::experimental_attention_variant),
            Value("gated_delta_net"));
  EXPECT_EQ(Knobs("qwen3-next-80b-a3b", For(Target::kMegatronBridge)).at(K::experimental_attention_variant),
            Value("gdn"));
  EXPECT_EQ(next.at(K::linear_attention_freq).list()[3], Value(0));
  EXPECT_EQ(next.at(K::moe_shared_expert_gate), Value(true));
  const std::map<Knob, Value> super = Knobs("nemotron-3-super-120b-a12b", For(Target::kMegatronLm));
  EXPECT_EQ(super.at(K::squared_relu), Value(true));
  EXPECT_EQ(super.at(K::position_embedding_type), Value("none"));
  EXPECT_EQ(super.at(K::hybrid_layer_pattern).text().substr(88), "/*E");
  const std::map<Knob, Value> older = Knobs("nemotron-3-super-120b-a12b", For(Target::kMegatronLm, 16));
  EXPECT_EQ(older.at(K::hybrid_override_pattern).text().size(), 88u);
  EXPECT_EQ(Knobs("gpt3-175b", For(Target::kMegatronLm)).at(K::position_embedding_type), Value("learned_absolute"));
}

// Every knob exists in the release it is meant for, for every model, target and release.
TEST(ModelKnobs, StayInsideTheRelease) {
  const Catalog catalog = *Catalog::Builtin();
  for (const ModelSpec& model : catalog.models()) {
    for (Target target : {Target::kCore, Target::kMegatronLm, Target::kMegatronBridge, Target::kLoongForge}) {
      for (int release : kCoreReleases) {
        const Environment env = For(target, release);
        const Config& known = DefaultsFor(target, release, env.bridge_release, model.is_mla());
        for (const auto& [knob, value] : ModelKnobs(model, env)) {
          EXPECT_NE(known.origin(knob), Origin::kAbsent) << model.name << " " << Name(knob);
        }
      }
    }
  }
}

std::vector<std::string> Missing(absl::string_view model, const Environment& env) {
  std::vector<Knob> absent;
  ModelKnobs(Model(model), env, &absent);
  return MissingModelFeatures(Model(model), env, absent);
}

TEST(MissingModelFeatures, NamesWhatATargetCannotBuild) {
  EXPECT_TRUE(Missing("deepseek-v3", For(Target::kMegatronLm)).empty());
  EXPECT_TRUE(Missing("qwen3-235b-a22b", For(Target::kMegatronLm, 15)).empty());
  EXPECT_TRUE(Missing("kimi-k3", For(Target::kMegatronBridge)).empty());
  // A model that was imported names its class and no converter.
  ModelSpec imported = Model("minimax-m2.5");
  imported.bridge.reset();
  EXPECT_TRUE(MissingModelFeatures(imported, For(Target::kMegatronBridge), {}).empty());
  EXPECT_FALSE(MissingModelFeatures(imported, For(Target::kMegatronLm), {}).empty());
  const std::vector<std::string> step = Missing("step-3", For(Target::kMegatronLm));
  ASSERT_EQ(step.size(), 1u);
  EXPECT_EQ(step[0], "multi-matrix factorisation attention");
  // Gated delta nets came with 0.16.
  EXPECT_TRUE(Missing("qwen3-next-80b-a3b", For(Target::kMegatronLm)).empty());
  EXPECT_FALSE(Missing("qwen3-next-80b-a3b", For(Target::kCore, 15)).empty());
}

}  // namespace
}  // namespace flightplan
