// Which release a launch is judged, resolved and converted for, by each way to say it.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "clients/cli/command.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::cli {
namespace {

constexpr char kLaunch[] = "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --train-iters 10\n";

std::string Printed(const std::vector<std::string>& args) {
  Context context;
  const int exit = RunCommandLine(args, context);
  EXPECT_TRUE(exit == kExitOk || exit == kExitFindings) << exit << ": " << context.err;
  return context.out + context.err;
}

TEST(Target, AReleaseAloneIsOneOfTheLaunchsOwnStackOrOfTheDefault) {
  const TemporaryFolder folder;
  const std::string path = folder.File("run.sh"), own = folder.File("own.sh");
  std::ofstream(path) << kLaunch;
  std::ofstream(own) << "# flightplan: --target @0.16\n" << kLaunch;
  struct Row {
    std::vector<std::string> args;
    const char* says;
  };
  const Row rows[] = {
      {{"validate", path, "--target", "@0.16"}, "megatron-lm 0.16"},
      {{"validate", own}, "megatron-lm 0.16"},
      {{"validate", own, "--target", "@0.17"}, "megatron-lm 0.17"},
      {{"validate", "--batch", path, "--target", "@0.16"}, "megatron-lm 0.16"},
      {{"validate", "--batch", own, "--release", "megatron-lm@0.17"}, "megatron-lm 0.16"},
      {{"validate", "--slurm-script", path, "--target", "@0.16"}, "megatron-lm 0.16"},
      {{"validate", "--target", "@0.16", "--", "--num-layers", "4"}, "megatron-lm 0.16"},
      {{"convert", path, "--from", "@0.16", "--to", "megatron-lm@main", "--format", "json"}, "megatron-lm 0.16"},
      {{"convert", path, "--to", "@0.17"}, "megatron-lm@0.17 finds"},
      {{"resolve", "--model", "qwen3-30b-a3b", "--gpu", "h100-sxm", "--gpus", "8", "--target", "@0.19"},
       "megatron-lm 0.19"},
  };
  for (const Row& row : rows) {
    const std::string printed = Printed(row.args);
    EXPECT_TRUE(absl::StrContains(printed, row.says)) << row.args[0] << " " << row.args[1] << "\n" << printed;
  }
}

TEST(Target, ALaunchThatIsWrittenForAReleaseIsJudgedByIt) {
  const TemporaryFolder folder;
  const std::string path = folder.File("run.sh");
  const std::pair<const char*, const char*> rows[] = {{"megatron-lm@0.16", "megatron-lm 0.16"},
                                                      {"megatron-bridge@0.4", "megatron-bridge 0.4"},
                                                      {"roll@0.16", "roll 0.16"},
                                                      {"megatron-lm@main", "megatron-lm main"},
                                                      {"vime", "vime main"}};
  for (const auto& [target, judged] : rows) {
    Context context;
    const std::vector<std::string> resolve = {
        "resolve", "--model", "qwen3-30b-a3b", "--gpu", "h100-sxm", "--gpus", "16",       "--tp", "1",
        "--pp",    "1",       "--ep",          "8",     "--target", target,   "--format", "shell"};
    ASSERT_EQ(RunCommandLine(resolve, context), kExitOk) << target << context.err;
    std::ofstream(path) << context.out;
    const std::string printed = Printed({"validate", path});
    EXPECT_TRUE(absl::StrContains(printed, judged)) << target << "\n" << printed;
  }
}

}  // namespace
}  // namespace flightplan::cli
