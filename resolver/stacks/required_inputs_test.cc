#include "resolver/stacks/required_inputs.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "resolver/catalog/defaults.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/dialects.h"
#include "resolver/stacks/spelling.h"

namespace flightplan {
namespace {

constexpr absl::string_view kDialects[] = {"megatron-lm", "megatron-bridge", "megatron-bridge-perf", "loongforge"};

Environment Nodes(Target target, int64_t gpus) {
  Environment env;
  env.target = target;
  env.world_size = gpus;
  env.gpus_per_node = 8;
  env.gpu_name = "NVIDIA H100 80GB HBM3";
  return env;
}

Target TargetOf(absl::string_view dialect) {
  const Stack* const stack = FindStack(absl::StartsWith(dialect, "megatron-bridge") ? "megatron-bridge" : dialect);
  return stack->target;
}

Launch Rendered(absl::string_view dialect, int64_t gpus, bool benchmark, Knob given = Knob::lr, Value value = Value()) {
  const Environment env = Nodes(TargetOf(dialect), gpus);
  Config config = DefaultsFor(env.target, env.core_release, env.bridge_release, false);
  if (!value.is_none()) config.Set(given, std::move(value), Origin::kCaller);
  return RenderDialect(dialect, {config, env, env.vars, nullptr, benchmark});
}

std::set<std::string> Names(const Launch& launch) {
  std::set<std::string> names;
  for (const RequiredInput& input : launch.required_inputs) names.insert(std::string(input.name));
  return names;
}

size_t Placeholders(absl::string_view text) {
  size_t count = 0;
  for (size_t at = text.find(":?"); at != absl::string_view::npos; at = text.find(":?", at + 2)) ++count;
  return count;
}

TEST(TorchrunWords, KeepRanksBesideTheirGpusWhereTorchrunCan) {
  const auto binds = [](const Environment& env) {
    return absl::StrContains(TorchrunWords(env), " --numa-binding node");
  };
  Environment env = Nodes(Target::kMegatronLm, 16);
  env.torch_stated = false;
  EXPECT_TRUE(binds(env));
  env.torch_stated = true;
  EXPECT_FALSE(binds(env));  // stated to be none
  env.torch = Version::Parse("2.8.0");
  EXPECT_FALSE(binds(env));
  env.torch = Version::Parse("2.9.0");
  EXPECT_TRUE(binds(env));
  env.world_size = 1;
  EXPECT_FALSE(binds(env));
  Environment fork = Nodes(Target::kLoongForge, 16);
  fork.torch_stated = false;
  EXPECT_FALSE(binds(fork));  // its image is older
  fork.torch_stated = true;
  fork.torch = Version::Parse("2.9.0");
  EXPECT_TRUE(binds(fork));
}

TEST(RequiredInputs, EachHasOnePlaceholderThatStopsAShell) {
  for (const absl::string_view dialect : kDialects) {
    for (const int64_t gpus : {8, 16}) {
      for (const bool benchmark : {false, true}) {
        const Launch launch = Rendered(dialect, gpus, benchmark);
        const size_t silent = Names(launch).count("save");  // nothing stops without it
        EXPECT_EQ(Placeholders(launch.text), launch.required_inputs.size() - silent) << launch.text;
        for (const std::string& word : launch.argv) EXPECT_FALSE(absl::StrContains(word, "$")) << dialect << word;
      }
    }
  }
}

// Whether bash reads a text to its end: it takes an unfinished quotation for one that goes on.
bool IsBash(const std::string& text) {
  FILE* const bash = popen("bash -n 2>/dev/null", "w");
  if (bash == nullptr) return false;
  std::fwrite(text.data(), 1, text.size(), bash);
  return pclose(bash) == 0;
}

TEST(RequiredInputs, EveryLaunchOfEveryStackIsBash) {
  ASSERT_FALSE(IsBash("echo \"${X:?it's}\"\n"));
  size_t launches = 0;
  for (const StackSpelling* spelling : AllSpellings()) {
    for (const OutputDialect& dialect : spelling->dialects) {
      for (const int64_t gpus : {4, 12, 16}) {
        for (const bool benchmark : {false, true}) {
          const Environment env = Nodes(spelling->target, gpus);
          Config config = DefaultsFor(env.target, env.core_release, env.bridge_release, false);
          config.Set(Knob::seq_length, Value(4096), Origin::kCaller);  // two knobs: a launch, and not a patch of one
          config.Set(Knob::tensor_model_parallel_size, Value(2), Origin::kCaller);
          config.Set(Knob::recompute_modules, Value(Value::List{Value("moe_act"), Value("it's")}), Origin::kCaller);
          const Launch launch = RenderDialect(dialect.name, {config, env, env.vars, nullptr, benchmark});
          EXPECT_TRUE(IsBash(launch.text)) << dialect.name << "\n" << launch.text;
          launches += launch.required_inputs.empty() ? 0 : 1;
          for (const RequiredInput& input : launch.required_inputs) {
            EXPECT_EQ(input.what.find_first_of("'\"`"), absl::string_view::npos) << dialect.name << ": " << input.what;
          }
        }
      }
    }
  }
  EXPECT_GT(launches, 6 * AllSpellings().size());
}

TEST(RequiredInputs, AreWhatEachProgramAsksFor) {
  using Set = std::set<std::string>;
  EXPECT_EQ(Names(Rendered("megatron-lm", 8, false)), Set({"train_iters", "lr", "tokenizer", "data", "save"}));
  EXPECT_EQ(Names(Rendered("loongforge", 16, false)),
            Set({"node_rank", "master_addr", "model", "train_iters", "lr", "tokenizer", "data", "save"}));
  EXPECT_EQ(Names(Rendered("megatron-bridge", 8, false)), Set({"recipe"}));
  EXPECT_EQ(Names(Rendered("megatron-bridge-perf", 16, false)), Set({"model_family_name", "model_recipe_name"}));
}

TEST(RequiredInputs, OfABenchmarkAreNone) {
  const Launch launch = Rendered("megatron-lm", 8, true);
  EXPECT_TRUE(launch.required_inputs.empty());
  for (const char* word : {"--mock-data", "NullTokenizer", "--train-iters", "--lr"}) {
    EXPECT_NE(std::find(launch.argv.begin(), launch.argv.end(), word), launch.argv.end()) << word;
    EXPECT_TRUE(absl::StrContains(launch.text, word)) << word;
  }
}

TEST(RequiredInputs, NothingStartsWithoutData) {
  for (const absl::string_view dialect : {"megatron-lm", "loongforge"}) {
    for (const RequiredInput& input : Rendered(dialect, 8, false).required_inputs) {
      EXPECT_TRUE(input.name != "data" || input.without.empty()) << input.without;
    }
  }
}

bool HasPair(const Launch& launch, absl::string_view flag, absl::string_view value) {
  const auto at = std::find(launch.argv.begin(), launch.argv.end(), flag);
  return at != launch.argv.end() && at + 1 != launch.argv.end() && *(at + 1) == value;
}

// The vocabulary stands in the model's file, and the tokenizer of numbers takes its size from a flag.
TEST(RequiredInputs, ABenchmarkOfLoongForgeSaysItsVocabulary) {
  const Launch text = Rendered("loongforge", 8, true, Knob::model_name, Value("qwen3-30b-a3b"));
  EXPECT_TRUE(text.required_inputs.empty());
  EXPECT_TRUE(HasPair(text, "--vocab-size", "151936")) << text.text;
  const Launch images = Rendered("loongforge", 8, true, Knob::model_name, Value("qwen3-vl-30b-a3b"));
  EXPECT_EQ(Names(images), std::set<std::string>({"tokenizer", "data"})) << "it has no mock data";
}

TEST(RequiredInputs, LeaveOutWhatIsGiven) {
  EXPECT_EQ(Names(Rendered("megatron-lm", 8, false, Knob::lr, Value(3e-4))).count("lr"), 0u);
  EXPECT_EQ(Names(Rendered("megatron-lm", 8, false, Knob::train_samples, Value(10))).count("train_iters"), 0u);
}

TEST(Nodes, AreAsManyGpusAsThePlan) {
  for (const auto& [gpus, of_node, nodes, each] :
       {std::array{12, 8, 2, 6}, {36, 8, 6, 6}, {18, 4, 6, 3}, {16, 8, 2, 8}, {4, 8, 1, 4}, {13, 8, 13, 1}}) {
    Environment env = Nodes(Target::kMegatronLm, gpus);
    env.gpus_per_node = of_node;
    EXPECT_EQ(NodesOf(env).count, nodes) << gpus;
    EXPECT_EQ(NodesOf(env).gpus, each) << gpus;
    EXPECT_TRUE(absl::StrContains(TorchrunWords(env), absl::StrCat(" --nnodes ", nodes, " --nproc-per-node ", each)));
  }
  EXPECT_TRUE(HasPair(Rendered("megatron-bridge-perf", 12, false), "-gn", "6"));
}

// A converted launch has words behind it whose values only its shell knows.
TEST(RequiredInputs, AskForNothingThatIsPutBehindTheLaunch) {
  Launch launch;
  launch.text = "torchrun pretrain_gpt.py \\\n    --bf16\n";
  Ask({"lr", "the rate", "--lr VALUE", "--lr 1e-4", ""}, "--lr \"${LR:?the rate}\"", &launch);
  Ask({"data", "a prefix", "--data-path PATH", "--data-path /data/x", ""}, "--data-path \"${DATA_PATH:?a prefix}\"",
      &launch);
  Ask({"save", "a folder", "--save FOLDER --save-interval N", "--save /x --save-interval 5", "it keeps none"}, "",
      &launch);
  Answered("--lr", &launch);
  Answered("--save", &launch);
  Answered("--seed", &launch);
  EXPECT_EQ(launch.text, "torchrun pretrain_gpt.py \\\n    --bf16 \\\n    --data-path \"${DATA_PATH:?a prefix}\"\n");
  ASSERT_EQ(launch.required_inputs.size(), 1u);
  EXPECT_EQ(launch.required_inputs[0].name, "data");
  Answered("--data-path", &launch);
  EXPECT_EQ(launch.text, "torchrun pretrain_gpt.py \\\n    --bf16\n");
}

TEST(RequiredInputs, TheGpuOfTheHarnessIsKnown) {
  const Launch launch = Rendered("megatron-bridge-perf", 16, false);
  const auto at = std::find(launch.argv.begin(), launch.argv.end(), "-g");
  ASSERT_NE(at, launch.argv.end());
  EXPECT_EQ(*(at + 1), "h100");
}

}  // namespace
}  // namespace flightplan
