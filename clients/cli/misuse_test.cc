// Command lines that are refused, because something on them could have no effect.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "clients/cli/command.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::cli {
namespace {

TEST(Misuse, IsSaidWhereAWordWouldHaveNoEffect) {
  const TemporaryFolder folder;
  const std::string job = folder.File("job.sh");
  std::ofstream(job) << "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --train-iters 10\n";
  const std::vector<std::string> resolve = {"resolve", "--model", "qwen3-30b-a3b", "--gpu", "h100-sxm", "--gpus", "8"};
  const auto with = [](std::vector<std::string> args, const std::vector<std::string>& more) {
    args.insert(args.end(), more.begin(), more.end());
    return args;
  };
  struct Row {
    std::vector<std::string> args;
    const char* says;
  };
  const Row rows[] = {
      {{"validate", job, "--job", "min_nodes=2"}, "no effect without --slurm-script"},
      {{"validate", job, "--door-mode", "warn"}, "no effect without --slurm-script"},
      {{"validate", "--slurm-script", job, "--format", "json"}, "it goes without --format"},
      {{"validate", "--slurm-script", job, "--te", "abc"}, "--te: 'abc' is not a version"},
      {{"validate", "--slurm-script", job, "--input-format", "x"}, "--input-format wants shell, argv"},
      {{"validate", "--batch", job, "--input-format", "x"}, "--input-format wants shell, argv"},
      {{"validate", "--batch", job, "--target", "slime", "--input-format", "bridge-yaml"},
       "--input-format wants shell, argv, not 'bridge-yaml'"},
      {{"validate", job, "--driver", "x.y"}, "--driver: 'x.y' is not a version"},
      {{"observe", job, "--idle", "3"}, "--idle has no effect without --follow"},
      {{"models", "qwen3", "--import", job}, "a NAME or --import: 'qwen3' has no effect"},
      {{"site", job}, "is no folder"},
      {with(resolve, {"--export"}), "--export has no effect without --format env"},
      {with(resolve, {"--show", "ab", "--format", "json"}), "no effect with --format json"},
  };
  for (const Row& row : rows) {
    Context context;
    EXPECT_EQ(RunCommandLine(row.args, context), kExitMisuse) << absl::StrJoin(row.args, " ") << context.out;
    EXPECT_TRUE(absl::StrContains(context.err, row.says)) << absl::StrJoin(row.args, " ") << "\n" << context.err;
  }
}

}  // namespace
}  // namespace flightplan::cli
