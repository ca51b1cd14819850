#include "service/doors/recognise_stack.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"

namespace flightplan::doors {
namespace {

std::optional<Target> Recognised(absl::string_view script, absl::string_view words) {
  std::vector<Argument> args;
  for (absl::string_view word : absl::StrSplit(words, ' ')) args.push_back({std::string(word), {}});
  return RecogniseStack(script, args);
}

TEST(RecogniseStack, OneOverrideMakesNoContainerOfACommandLine) {
  constexpr absl::string_view kFlags =
      "--num-layers 32 --tensor-model-parallel-size 2 --micro-batch-size 1 model.foo=3";
  EXPECT_EQ(Recognised("pretrain_gpt.py", kFlags), Target::kMegatronLm);
  EXPECT_EQ(Recognised("examples/pretrain_gpt.py", kFlags), Target::kMegatronLm);
  EXPECT_EQ(Recognised("scripts/training/run_recipe.py", "--recipe qwen3_8b_pretrain_config model.num_layers=4"),
            Target::kMegatronBridge);
  EXPECT_EQ(Recognised("train.py", "model.num_layers=4"), Target::kMegatronBridge);
  EXPECT_EQ(Recognised("pretrain_gpt.py", "model.num_layers=4"), Target::kMegatronBridge);
}

}  // namespace
}  // namespace flightplan::doors
