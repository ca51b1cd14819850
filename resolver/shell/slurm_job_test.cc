#include "resolver/shell/slurm_job.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"

namespace flightplan {
namespace {

struct Case {
  const char* lines;
  std::optional<int64_t> gpus, per_node;
  const char* type;
};

TEST(ReadSbatchLines, CountsGpusAsSlurmDoes) {
  const Case cases[] = {
      {"#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n", 16, 8, ""},
      {"#SBATCH -N 2\n#SBATCH --gres=gpu:h100:8\n", 16, 8, "h100"},
      {"#SBATCH -N2 --gres gpu:8\n", 16, 8, ""},
      {"#SBATCH --nodes=2-2\n#SBATCH --gpus-per-node h100:4\n", 8, 4, "h100"},
      {"#SBATCH --gpus=32\n#SBATCH --nodes=4\n", 32, 8, ""},
      {"#SBATCH -G a100:6\n", 6, std::nullopt, "a100"},
      {"#SBATCH --ntasks=16\n#SBATCH --gpus-per-task=1\n", 16, std::nullopt, ""},
      {"#SBATCH --ntasks=16 --ntasks-per-node=8 --gpus-per-node=8\n", 16, 8, ""},
      {"#SBATCH --gpus-per-node=8\n", 8, 8, ""},                                  // one node is the default
      {"#SBATCH --nodes=2-4\n#SBATCH --gpus-per-node=8\n", std::nullopt, 8, ""},  // any of them
      {"#SBATCH --nodes=2\n", std::nullopt, std::nullopt, ""},                    // no GPU is asked for
      {"#SBATCH --gres=craynetwork:1\n#SBATCH -N 1\n", std::nullopt, std::nullopt, ""},
      {"#SBATCH --nodes=99999999999999999999 --gpus-per-node=8\n", std::nullopt, 8, ""},
      {"#SBATCH --nodes=0 --gpus-per-node=8\n", std::nullopt, 8, ""},
      {"echo go\n#SBATCH --nodes=2 --gpus-per-node=8\n", std::nullopt, std::nullopt, ""},  // sbatch stops there too
      {"# SBATCH --nodes=2\n##SBATCH --gpus=4\n", std::nullopt, std::nullopt, ""},
      {"#SBATCH --constraint=h200 --gpus=8 -N1\n", 8, 8, "h200"},
      {"#SBATCH -N 1048576 --ntasks-per-node=1048576 --gpus-per-task=1048576,1048576,1048576,1048576,1048576,"
       "1048576,1048576,1048576\n",
       std::numeric_limits<int64_t>::max(), std::nullopt, ""},
  };
  for (const Case& c : cases) {
    const SlurmJob job = ReadSbatchLines(absl::StrCat("#!/bin/bash\n", c.lines));
    EXPECT_EQ(job.GpuCount(), c.gpus) << c.lines;
    EXPECT_EQ(job.GpusPerNode(), c.per_node) << c.lines;
    EXPECT_EQ(job.gpu_type, c.type) << c.lines;
  }
}

TEST(ReadSbatchLines, SaysWhenGpusAreMixed) {
  EXPECT_TRUE(ReadSbatchLines("#SBATCH --gres=gpu:a100:2,gpu:h100:2 -N1\n").mixed_gpus);
  EXPECT_EQ(ReadSbatchLines("#SBATCH --gres=gpu:a100:2,gpu:h100:2 -N1\n").GpuCount(), 4);
}

TEST(SetSlurmField, TakesTheControllersFields) {
  SlurmJob job;
  for (const auto& [key, value] : {std::pair{"min_nodes", "4"}, std::pair{"max_nodes", "4"},
                                   std::pair{"tres_per_node", "gres:gpu:h100:8"}, std::pair{"ntasks_per_node", "8"}}) {
    EXPECT_TRUE(SetSlurmField(key, value, &job).ok()) << key;
  }
  EXPECT_EQ(job.GpuCount(), 32);
  EXPECT_EQ(job.gpu_type, "h100");
  ASSERT_TRUE(SetSlurmField("max_nodes", "8", &job).ok());
  EXPECT_EQ(job.GpuCount(), std::nullopt);  // four to eight nodes
  EXPECT_EQ(SetSlurmField("wall_time", "1", &job).code(), absl::StatusCode::kInvalidArgument);
}

TEST(SetSlurmField, LeavesOutWhatIsNoNumber) {
  SlurmJob job;
  for (const char* value : {"", "x", "-1", "4294967294", "$(reboot)", "gpu:", ":::", "gpu:h100:x"}) {
    for (const char* key : {"nodes", "ntasks", "gpus", "gres", "tres_per_job", "constraint"}) {
      EXPECT_TRUE(SetSlurmField(key, value, &job).ok());
    }
  }
}

TEST(AddSlurmVariables, SetsWhatSlurmWillAndKeepsWhatIsSet) {
  EnvVars vars = {{"SLURM_NTASKS", "7"}};
  AddSlurmVariables(ReadSbatchLines("#SBATCH -N 2 --gpus-per-node=h100:8 --ntasks-per-node=8\n"), &vars);
  EXPECT_EQ(vars["SLURM_NNODES"], "2");
  EXPECT_EQ(vars["SLURM_GPUS_ON_NODE"], "8");
  EXPECT_EQ(vars["SLURM_GPUS_PER_NODE"], "h100:8");
  EXPECT_EQ(vars["SLURM_NTASKS"], "7");
}

}  // namespace
}  // namespace flightplan
