// Launches of run_recipe.py.
#include <algorithm>
#include <optional>

#include "gtest/gtest.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/defaults.h"
#include "resolver/catalog/library_recipes.h"
#include "resolver/stacks/megatron_bridge/dialect.h"
#include "resolver/stacks/megatron_bridge/override_reader.h"
#include "resolver/stacks/megatron_bridge/start.h"
#include "tests/support/bridge_launch.h"

namespace flightplan {
namespace {

using K = Knob;
using testing::BridgeEnv;
using testing::LastOf;

ParseResult Read(const std::vector<std::string>& words, const Environment& env = BridgeEnv()) {
  return ParseBridgeRecipe(Arguments(words), env);
}

TEST(ParseBridgeRecipe, TakesTheModeForTheAdapters) {
  const auto scheme = [](const std::vector<std::string>& words) { return LastOf(Read(words), K::peft_scheme); };
  EXPECT_EQ(scheme({"--recipe", "llama3_8b_peft_config"}), Value("lora"));
  EXPECT_EQ(scheme({"--mode", "dora", "--recipe", "llama3_8b_peft_config"}), Value("dora"));
  EXPECT_EQ(scheme({"--mode", "pretrain", "--recipe", "llama3_8b_pretrain_config"}), Value());
}

// A recipe that says its model's sizes itself is that model's, too.
TEST(RecipeFor, PrefersThePlainNameToOneMachines) {
  const std::optional<Recipe> recipe = RecipeFor("nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", false, kMain);
  ASSERT_TRUE(recipe.has_value());
  EXPECT_EQ(recipe->function, "nemotron_3_nano_pretrain_config");
}

TEST(ParseBridgeRecipe, TellsAMisspeltRecipe) {
  const auto refused = [](const char* name) { return !Read({"--recipe", name}).findings.empty(); };
  EXPECT_TRUE(refused("llama3_8b_pretrain_confg"));
  EXPECT_TRUE(refused("llama3_8b_pertrain_config"));
  EXPECT_FALSE(refused("llama3_8b_pretrain_config"));
  EXPECT_FALSE(refused("llama3_9b_pretrain_config"));  // another release may have it
  EXPECT_FALSE(refused("my_own_config"));
}

TEST(ParseBridgeRecipe, StartsFromTheRecipeThatItNames) {
  const std::vector<std::string> named = {"--recipe", "qwen3_30b_a3b_pretrain_config", "--seq_length", "8192",
                                          "model.moe_router_fusion=false"};
  const ParseResult parsed = Read(named);
  EXPECT_EQ(parsed.base, "qwen3_30b_a3b_pretrain_config");
  EXPECT_EQ(parsed.hf_model, "Qwen/Qwen3-30B-A3B");
  EXPECT_EQ(LastOf(parsed, K::expert_model_parallel_size), Value(16));
  EXPECT_EQ(LastOf(parsed, K::moe_flex_dispatcher_backend), Value("hybridep"));
  EXPECT_EQ(LastOf(parsed, K::seq_length), Value(8192));  // the recipe has 4096
  EXPECT_EQ(LastOf(parsed, K::moe_router_fusion), Value(false));
  // A model's name and a mode choose the same.
  const ParseResult by_model = Read({"--model", "qwen3_30b_a3b", "--mode", "pretrain"});
  EXPECT_EQ(by_model.base, "qwen3_30b_a3b_pretrain_config");
  EXPECT_EQ(Read({"--mode", "lora", "--model", "llama3_8b"}).base, "llama3_8b_peft_config");
  // What both packages have is the harness's.
  EXPECT_FALSE(IsLibraryRecipe("qwen3_30b_a3b_pretrain_16gpu_h100_bf16_config"));
  // Of another release, and of another name, nothing is known.
  Environment older = BridgeEnv();
  older.bridge_release = kBridgeReleases[0];
  EXPECT_EQ(Read(named, older).base, "");
  EXPECT_EQ(Read({"--recipe", "my_own_pretrain_config"}).base, "");
}

// The script copies the dataset's length over the model's, after all overrides.
TEST(ParseBridgeRecipe, TrainsAtTheDatasetsLength) {
  const auto read = [](const std::vector<std::string>& words) {
    std::vector<std::string> all = {"--recipe", "qwen3_30b_a3b_pretrain_config"};  // 4096 in both
    all.insert(all.end(), words.begin(), words.end());
    return Read(all);
  };
  const ParseResult dataset = read({"dataset.seq_length=16384"});
  EXPECT_EQ(LastOf(dataset, K::seq_length), Value(16384));
  EXPECT_TRUE(dataset.findings.empty());
  const ParseResult model = read({"model.seq_length=16384"});
  EXPECT_EQ(LastOf(model, K::seq_length), Value(4096));
  ASSERT_EQ(model.findings.size(), 1u);
  EXPECT_EQ(model.findings[0].finding.rule_id, "bridge-recipe.dataset-length");
  EXPECT_EQ(model.findings[0].finding.severity, Severity::kWarning);
  EXPECT_TRUE(read({"model.seq_length=16384", "dataset.seq_length=16384"}).findings.empty());
  // Without a recipe that is known the dataset's length may be anything.
  const ParseResult alone = Read({"--recipe", "my_config", "model.seq_length=16384"});
  EXPECT_EQ(LastOf(alone, K::seq_length), Value(16384));
  EXPECT_TRUE(alone.findings.empty());
}

// `model.expert_model_parallel_size=$EP`, where no script sets EP: neither its text nor the recipe's value, or 1.
TEST(RenderBridge, LeavesScheduleAndLoggingToTheRecipe) {
  const Environment env = BridgeEnv();
  const Config config = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  RenderInput input{config, env, {}};
  input.hf_model = "Qwen/Qwen3-30B-A3B";
  const Launch launch = RenderBridge(input);
  EXPECT_NE(launch.text.find("--recipe qwen3_30b_a3b_pretrain_config"), std::string::npos);
  for (const char* section : {"scheduler.", "checkpoint.", "profiling.", "logger."}) {
    EXPECT_EQ(launch.text.find(section), std::string::npos) << launch.text;
  }
}

TEST(ParseBridgeRecipe, KnowsNothingOfAVariableThatIsNotSet) {
  const auto word = [](const char* text, bool unknown = false) { return Argument{text, {}, unknown}; };
  const auto unknown = [](const ParseResult& parsed, K knob) {
    return std::find(parsed.unknown.begin(), parsed.unknown.end(), knob) != parsed.unknown.end();
  };
  const std::vector<Argument> args = {word("--recipe"),
                                      word("qwen3_30b_a3b_pretrain_config"),
                                      word("-tp"),
                                      word("$TP", true),
                                      word("--seq_length=$SEQ", true),
                                      word("-pp"),
                                      word("$PP", true),
                                      word("model.pipeline_model_parallel_size=2"),
                                      word("model.expert_model_parallel_size=$EP", true),
                                      word("$@", true)};
  const ParseResult parsed = ParseBridgeRecipe(args, BridgeEnv());
  EXPECT_TRUE(parsed.findings.empty());
  for (const K knob :
       {K::tensor_model_parallel_size, K::expert_model_parallel_size, K::seq_length, K::dataset_seq_length}) {
    EXPECT_TRUE(unknown(parsed, knob)) << Name(knob);
  }
  EXPECT_FALSE(unknown(parsed, K::pipeline_model_parallel_size));
  const std::vector<Argument> harness = {word("-mr"),
                                         word("qwen3_30b_a3b"),
                                         word("-g"),
                                         word("h100"),
                                         word("-tp"),
                                         word("$TP", true),
                                         word("model.tensor_model_parallel_size=4")};
  const ParseResult perf = ParseBridgePerf(harness, BridgeEnv());
  EXPECT_TRUE(unknown(perf, K::tensor_model_parallel_size));  // its flags win
  EXPECT_TRUE(unknown(perf, K::sequence_parallel));
}

}  // namespace
}  // namespace flightplan
