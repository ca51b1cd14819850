#include "resolver/stacks/input_format.h"

#include <gtest/gtest.h>

#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

std::vector<Argument> Args(std::initializer_list<const char*> words) {
  std::vector<Argument> args;
  for (const char* word : words) args.push_back({word, {static_cast<int>(args.size()), 0, 0}});
  return args;
}

TEST(RecogniseArguments, TellsBridgesThreeFormsApart) {
  const Target bridge = Target::kMegatronBridge;
  EXPECT_EQ(RecogniseArguments(Args({"model.num_layers=4"}), "", bridge).name, "bridge-overrides");
  EXPECT_EQ(RecogniseArguments(Args({"--recipe", "x", "model.num_layers=4"}), "", bridge).name, "bridge-recipe");
  EXPECT_EQ(RecogniseArguments(Args({"--mode=sft"}), "", bridge).name, "bridge-recipe");
  EXPECT_EQ(RecogniseArguments(Args({"-m", "deepseek", "-tp", "2"}), "", bridge).name, "bridge-perf");
  EXPECT_EQ(RecogniseArguments(Args({"-tp", "2"}), "scripts/training/run_recipe.py", bridge).name, "bridge-recipe");
  EXPECT_EQ(RecogniseArguments(Args({"-tp", "2"}), "scripts/performance/run_script.py", bridge).name, "bridge-perf");
  EXPECT_EQ(RecogniseArguments(Args({"--recipe", "x"}), "", Target::kMegatronLm).name, "argv");
}

TEST(RecogniseFile, ByItsEndingThenByItsFirstLine) {
  struct Row {
    const char* name;
    const char* text;
    Target target;
    const char* format;
  };
  const Target swift = FindStack("ms-swift")->target, verl = FindStack("verl")->target,
               roll = FindStack("roll")->target;
  const Row rows[] = {
      {"a.yaml", "--x", Target::kMegatronLm, "megatron-lm-yaml"},
      {"a.YML", "", Target::kMegatronBridge, "bridge-yaml"},
      {"run.sh", "key: value\n", Target::kMegatronLm, "shell"},
      {"x", "#!/bin/bash\nkey: value\n", Target::kMegatronLm, "shell"},
      {"x", "\n# words\nmodel:\n  a: 1\n", Target::kMegatronBridge, "bridge-yaml"},
      {"x", "---\nmodel: 3\n", Target::kMegatronLm, "megatron-lm-yaml"},
      {"launch.args", "--num-layers\n4\n", Target::kMegatronLm, "argv"},
      {"launch.args", "--num-layers\n4\n", Target::kLoongForge, "argv"},
      {"x", "model.num_layers=4\n", Target::kMegatronBridge, "bridge-overrides"},
      {"x", "NODES=4\ntorchrun a.py --x\n", Target::kMegatronBridge, "shell"},
      {"x", "", Target::kMegatronLm, "shell"},
      {"x", "\xef\xbb\xbf--num-layers\n4\n", Target::kMegatronLm, "argv"},  // below a byte order mark
      {"x", "\xef\xbb\xbfmodel.num_layers=4\n", Target::kMegatronBridge, "bridge-overrides"},
      {"x", "\xef\xbb\xbf#!/bin/bash\n--x\n", Target::kMegatronLm, "shell"},
      // Settings of a stack that takes them; of a shell they are variables, for a command below them.
      {"x", "num_gpus_per_node=8\nsft_train.model_args.dtype=bf16\n", roll, "roll-overrides"},
      {"x", "num_gpus_per_node=8\n", roll, "roll-overrides"},
      {"x", "num_gpus_per_node=8\npython start_sft_pipeline.py\n", roll, "shell"},
      {"x", "num_gpus_per_node=8\n--x\n", Target::kMegatronLm, "shell"},
      // As `resolve --format argv` prints the launches of stacks that do not start with a flag.
      {"x", "sft\n--max_length\n4096\n", swift, "argv"},
      {"x", "verl.trainer.main_ppo\ntrainer.nnodes=2\n", verl, "verl-overrides"},
      {"x", "sft\necho\n--x\n", swift, "shell"},
      {"x", "make all\n--x\n", swift, "shell"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(RecogniseFile(row.name, row.text, row.target), row.format) << row.name << "\n" << row.text;
  }
}

TEST(ArgumentsOfLines, KeepTheirPlaces) {
  const std::vector<Argument> args = ArgumentsOfLines("# made\n--num-layers 4\r\n  --a=b\n\n([0]*3 + [1])\n");
  ASSERT_EQ(args.size(), 4u);
  EXPECT_EQ(args[1].text, "4");
  EXPECT_EQ(args[1].at.line, 2);
  EXPECT_EQ(args[1].at.column, 14);
  EXPECT_EQ(args[2].text, "--a=b");
  EXPECT_EQ(args[2].at.column, 3);
  EXPECT_EQ(args[3].text, "([0]*3 + [1])");  // a value with blanks, as `--format argv` prints it
  EXPECT_EQ(args[3].at.index, 3);
}

TEST(ArgumentsOfLines, BeginBelowAByteOrderMark) {
  const std::vector<Argument> args = ArgumentsOfLines("\xef\xbb\xbf--bf16\n");
  ASSERT_EQ(args.size(), 1u);
  EXPECT_EQ(args[0].text, "--bf16");
  EXPECT_EQ(args[0].at.column, 4);  // in bytes, as an edit counts them
}

TEST(InputFormats, AreFoundByNameAndTarget) {
  EXPECT_NE(FindInputFormat("bridge-yaml", Target::kMegatronBridge), nullptr);
  EXPECT_EQ(FindInputFormat("bridge-yaml", Target::kMegatronLm), nullptr);
  EXPECT_EQ(InputFormatNames(Target::kMegatronLm, /*file=*/true), "shell, argv, megatron-lm-yaml");
  EXPECT_EQ(InputFormatNames(Target::kMegatronLm, /*file=*/false), "argv");
  for (const auto& [target, format] : InputFormats()) {
    EXPECT_NE(format->arguments == nullptr, format->file == nullptr) << format->name;
    EXPECT_EQ(FindInputFormat(format->name, target), format);
  }
}

}  // namespace
}  // namespace flightplan
