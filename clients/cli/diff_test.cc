// flightplan diff, of files as people have them.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/command.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::cli {
namespace {

std::string Launch(const TemporaryFolder& folder, absl::string_view name, absl::string_view size) {
  std::string path = folder.File(name);
  std::ofstream(path) << "torchrun --nnodes 1 --nproc-per-node 8 ${LOONGFORGE_PATH}/loongforge/train.py "
                         "--model-name qwen3-vl-30b-a3b --tensor-model-parallel-size "
                      << size << " --expert-model-parallel-size 4 --micro-batch-size 1 --seq-length 2048\n";
  return path;
}

std::string Diff(const TemporaryFolder& folder, std::vector<std::string> more) {
  std::vector<std::string> args = {"diff", Launch(folder, "a.sh", "1"), Launch(folder, "b.sh", "2"), "--gpu",
                                   "h100-sxm"};
  args.insert(args.end(), more.begin(), more.end());
  Context context;
  context.terminal.width = 110;
  RunCommandLine(args, context);
  return absl::StrCat(context.out, context.err);
}

TEST(Diff, ReadsALaunchAsTheStackThatItRuns) {
  const TemporaryFolder folder;  // whose name the answers show
  const std::string own = Diff(folder, {}), stated = Diff(folder, {"--target", "loongforge"});
  EXPECT_EQ(own, stated);
  EXPECT_TRUE(absl::StrContains(own, "tensor_model_parallel_size")) << own;
  EXPECT_NE(own, Diff(folder, {"--target", "megatron-lm"}));
}

}  // namespace
}  // namespace flightplan::cli
