#include "resolver/stacks/megatron_lm/dialect.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "resolver/catalog/defaults.h"
#include "resolver/derive/target_knobs.h"

namespace flightplan {
namespace {

using Words = std::vector<std::string>;
using K = Knob;

Config Start(int release = kMain) { return DefaultsFor(Target::kMegatronLm, release, kMain, false); }

Words Render(const Config& config, int release = kMain) {
  Environment env;
  env.core_release = release;
  return RenderMegatronLm({config, env, {}}).argv;
}

// A value of the flag's type that is not its default.
Value Sample(const internal::FlagRow& row) {
  const std::string choices = row.choices;
  const std::string choice = choices.substr(choices.rfind('|') == std::string::npos ? 0 : choices.rfind('|') + 1);
  auto scalar = [&](int i) -> Value {
    if (!choices.empty()) return row.type == ValueType::kInt ? Value(std::stoi(choice)) : Value(choice);
    if (row.type == ValueType::kInt) return Value(i + 7);
    if (row.type == ValueType::kFloat) return Value(0.5 + i);
    if (row.type == ValueType::kFreq) return Value(Value::List{Value(0), Value(1), Value(1)});
    if (row.type == ValueType::kTuple) return Value(Value::List{Value(128), Value(0)});
    if (row.type == ValueType::kBool) return Value(true);
    return Value("text with 'quotes' and $signs");
  };
  switch (row.form) {
    case FlagForm::kSwitchOn:
      return Value(true);
    case FlagForm::kSwitchOff:
      return Value(false);
    case FlagForm::kSwitchPair:
      return Value(!absl::StartsWith(row.flag, "--no-"));
    case FlagForm::kValue:
      return scalar(0);
    case FlagForm::kListOfThree:
      return Value(Value::List{scalar(0), scalar(1), scalar(2)});
    case FlagForm::kList:
    case FlagForm::kListOrEmpty:
      break;
  }
  return Value(Value::List{scalar(0), scalar(1)});
}

TEST(MegatronLmDialect, EveryFlagOfEveryReleaseRoundTrips) {
  for (int release : kCoreReleases) {
    for (const internal::FlagRow& row : Flags()) {
      if (!row.releases.Contains(release)) continue;
      Config config = Start(release);
      config.Set(row.knob, Sample(row), Origin::kCaller);
      Environment env;
      env.core_release = release;
      const ParseResult back = ParseMegatronLm(Render(config, release), env);
      EXPECT_TRUE(back.ok()) << row.flag << " in " << release << ": " << back.findings[0].finding.needs;
      ASSERT_EQ(back.knobs.size(), 1u) << row.flag << " in " << release;
      EXPECT_EQ(back.knobs[0].knob, row.knob) << row.flag;
      EXPECT_EQ(back.knobs[0].value, Sample(row)) << row.flag;
    }
  }
}

TEST(MegatronLmDialect, LeavesOutDefaultsAndWhatUpstreamDerived) {
  Config config = Start();
  EXPECT_TRUE(Render(config).empty());
  config.Set(K::num_layers, 4, Origin::kModel);
  config.Set(K::encoder_num_layers, 4, Origin::kUpstream);
  config.Set(K::expert_model_parallel_size, 1, Origin::kCaller);  // the default, but the caller's word
  EXPECT_EQ(Render(config), (Words{"--expert-model-parallel-size", "1", "--num-layers", "4"}));
}

TEST(MegatronLmDialect, SaysWhatItCannotSpell) {
  Config config = Start();
  config.Set(K::overlap_p2p_comm, false, Origin::kCaller);
  config.Set(K::moe_flex_dispatcher_backend, Value(), Origin::kCaller);  // argparse cannot say None
  const Launch launch = RenderMegatronLm({config, Environment{}, {{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}}});
  EXPECT_EQ(launch.argv, Words{"--no-overlap-p2p-communication"});
  EXPECT_EQ(launch.unspelled, std::vector<Knob>{K::moe_flex_dispatcher_backend});
  EXPECT_EQ(launch.env.at("CUDA_DEVICE_MAX_CONNECTIONS"), "1");
  EXPECT_NE(launch.text.find("export CUDA_DEVICE_MAX_CONNECTIONS=1\n"), std::string::npos);
}

TEST(MegatronLmDialect, TranslatesClassFieldsToArguments) {
  Config config = Start();
  config.Set(K::activation_func, "silu", Origin::kModel);
  config.Set(K::gated_linear_unit, true, Origin::kModel);
  config.Set(K::num_attention_heads, 32, Origin::kModel);
  config.Set(K::num_query_groups, 4, Origin::kModel);
  config.Set(K::virtual_pipeline_model_parallel_size, 2, Origin::kCaller);
  UseTargetNames(Target::kMegatronLm, &config);
  EXPECT_TRUE(config.Get(K::swiglu).truthy());
  EXPECT_FALSE(config.Get(K::quick_geglu).truthy());
  EXPECT_TRUE(config.Get(K::group_query_attention).truthy());
  EXPECT_EQ(config.Get(K::num_virtual_stages_per_pipeline_rank), Value(2));
}

TEST(OneGpuCheck, IsTheWholeJobAsItsFirstRankSeesIt) {
  Config config = Start();
  config.Set(K::moe_token_dispatcher_type, "flex", Origin::kDecided);
  config.Set(K::moe_flex_dispatcher_backend, "deepep", Origin::kDecided);
  Environment env;
  env.target = Target::kMegatronLm;
  env.world_size = 1024;
  env.gpus_per_node = 8;
  const Launch launch = RenderOneGpuCheck({config, env, {{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}}});
  EXPECT_TRUE(launch.required_inputs.empty());
  EXPECT_EQ(launch.env.at("WORLD_SIZE"), "1024");
  EXPECT_EQ(launch.env.at("RANK"), "0");
  EXPECT_EQ(launch.env.at("CUDA_DEVICE_MAX_CONNECTIONS"), "1");
  const auto has = [&](const char* word) {
    return std::find(launch.argv.begin(), launch.argv.end(), word) != launch.argv.end();
  };
  EXPECT_TRUE(has("--fake-process-group") && has("--mock-data") && has("--train-iters"));
  EXPECT_FALSE(has("flex") || has("deepep"));  // refused with fake groups
  EXPECT_NE(launch.text.find("\npython pretrain_gpt.py"), std::string::npos) << launch.text;
  EXPECT_EQ(launch.text.find("torchrun"), std::string::npos);
}

// A pattern's layers are built by another program than GPT's, which has to be told what they are until 0.18.
TEST(MegatronLmDialect, StartsTheProgramThatBuildsTheModel) {
  const auto text = [](int release, K pattern) {
    Config config = Start(release);
    config.Set(pattern, "M*", Origin::kModel);
    config.Set(K::hidden_size, 64, Origin::kModel);
    Environment env;
    env.core_release = release;
    return RenderMegatronLm({config, env, {}}).text;
  };
  const auto says = [](const std::string& launch, absl::string_view program, absl::string_view layers) {
    const bool told = layers.empty() ? !absl::StrContains(launch, "--spec") : absl::StrContains(launch, layers);
    return absl::StrContains(launch, program) && told;
  };
  const absl::string_view mamba = "--spec megatron.core.models.mamba.mamba_layer_specs mamba_stack_spec";
  const absl::string_view hybrid = "--spec megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec";
  EXPECT_TRUE(says(text(15, K::hybrid_override_pattern), "torchrun pretrain_mamba.py", mamba));
  EXPECT_TRUE(says(text(17, K::hybrid_layer_pattern), "torchrun pretrain_mamba.py", mamba));
  EXPECT_TRUE(says(text(18, K::hybrid_layer_pattern), "torchrun pretrain_hybrid.py", hybrid));
  EXPECT_TRUE(says(text(19, K::hybrid_layer_pattern), "torchrun pretrain_hybrid.py", ""));
  EXPECT_TRUE(says(text(kMain, K::hybrid_layer_pattern), "torchrun pretrain_hybrid.py", ""));
  EXPECT_TRUE(says(text(kMain, K::num_layers), "torchrun pretrain_gpt.py", ""));
}

TEST(Dialect, QuotesForTheShell) {
  EXPECT_EQ(ShellQuote("a/b=c,d"), "a/b=c,d");
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("([0]*3)"), "'([0]*3)'");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
}

TEST(Dialect, ShowsHostileTextSafely) {
  EXPECT_EQ(Printable("a\x01\xff"), "a\\x01\\xff");
  EXPECT_EQ(Printable(std::string(100, 'x'), 4), "xxxx...");
  EXPECT_EQ(Printable("$(awk '{print \"\\t\"}')\n"), "$(awk '{print \"\\t\"}')\\n");  // quotes as they are written
}

}  // namespace
}  // namespace flightplan
