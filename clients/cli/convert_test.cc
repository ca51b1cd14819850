// flightplan convert, of files as people have them.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "clients/cli/command.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::cli {
namespace {

TEST(Convert, FindsNothingInAnEmptyLaunch) {
  const TemporaryFolder folder;
  for (const char* text : {"", " \n"}) {
    std::ofstream(folder.File("empty")) << text;
    for (const std::vector<std::string>& launch :
         {std::vector<std::string>{folder.File("empty")}, std::vector<std::string>{"--"}}) {
      std::vector<std::string> args = {"convert", "--to", "megatron-bridge"};
      args.insert(args.end(), launch.begin(), launch.end());
      Context context;
      EXPECT_EQ(RunCommandLine(args, context), kExitMisuse) << context.out;
      EXPECT_TRUE(absl::StrContains(context.err, "nothing to convert")) << context.err;
      EXPECT_EQ(context.out, "");
    }
  }
}

// A field that no row of the table has is spelled by its section all the same.
TEST(Convert, SpellsFixesAsTheTargetDoes) {
  Context context;
  const std::vector<std::string> args = absl::StrSplit(
      "convert --to megatron-bridge --gpu h100-sxm --gpus 64 -- --pipeline-model-parallel-size 4 "
      "--expert-model-parallel-size 8 --num-layers 48 --hidden-size 2048 --num-attention-heads 32 --num-experts 128 "
      "--moe-router-topk 8 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 1 "
      "--global-batch-size 512 --bf16 --moe-token-dispatcher-type alltoall --overlap-moe-expert-parallel-comm",
      ' ');
  RunCommandLine(args, context);
  const std::string page = context.out + context.err;
  EXPECT_TRUE(absl::StrContains(page, "fix: model.virtual_pipeline_model_parallel_size=2")) << page;
}

}  // namespace
}  // namespace flightplan::cli
