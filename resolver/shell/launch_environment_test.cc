// What a training's process has in its environment, whatever stands between it and the script.
#include "gtest/gtest.h"
#include "resolver/shell/reader.h"

namespace flightplan {
namespace {

constexpr char kVar[] = "CUDA_DEVICE_MAX_CONNECTIONS";

// Its value; "unset", or "?" where only a run would know.
std::string ValueOf(const std::string& script, const EnvVars& given = {}) {
  const ShellLaunch launch = ReadShellLaunch(script, given);
  EXPECT_FALSE(launch.args.empty()) << script;
  if (launch.unknown_vars.count(kVar) > 0) return "?";
  if (const auto var = launch.vars.find(kVar); var != launch.vars.end()) return var->second;
  if (launch.unset_vars.count(kVar) > 0) return "unset";
  if (const auto var = given.find(kVar); var != given.end()) return var->second;
  return launch.vars_elsewhere ? "?" : "unset";
}

std::string Behind(const std::string& launcher) {
  return ValueOf("export CUDA_DEVICE_MAX_CONNECTIONS=1\n" + launcher + " pretrain_gpt.py --train-iters 2\n");
}

TEST(LaunchEnvironment, EnvChangesWhatItsProgramGets) {
  EXPECT_EQ(Behind("torchrun"), "1");
  EXPECT_EQ(Behind("env CUDA_DEVICE_MAX_CONNECTIONS=8 torchrun"), "8");
  EXPECT_EQ(Behind("CUDA_DEVICE_MAX_CONNECTIONS=8 torchrun"), "8");
  EXPECT_EQ(Behind("CUDA_DEVICE_MAX_CONNECTIONS=8 true; torchrun"), "1");
  EXPECT_EQ(Behind("/usr/bin/env -u CUDA_DEVICE_MAX_CONNECTIONS torchrun"), "unset");
  EXPECT_EQ(Behind("env -uCUDA_DEVICE_MAX_CONNECTIONS torchrun"), "unset");
  EXPECT_EQ(Behind("env --unset=CUDA_DEVICE_MAX_CONNECTIONS torchrun"), "unset");
  EXPECT_EQ(Behind("env -i PATH=$PATH torchrun"), "unset");
  EXPECT_EQ(Behind("env -i CUDA_DEVICE_MAX_CONNECTIONS=4 torchrun"), "4");
  EXPECT_EQ(Behind("env $(cat vars) torchrun"), "1");
}

TEST(LaunchEnvironment, SrunPassesOnWhatItsExportNames) {
  EXPECT_EQ(Behind("srun -N 2 torchrun"), "1");
  EXPECT_EQ(Behind("srun --export=ALL,CUDA_DEVICE_MAX_CONNECTIONS=8 torchrun"), "8");
  EXPECT_EQ(Behind("srun --export ALL,NCCL_DEBUG=INFO torchrun"), "1");
  EXPECT_EQ(Behind("srun --export=NCCL_DEBUG=INFO torchrun"), "?");  // what the node's own start sets is not known
  EXPECT_EQ(Behind("srun --export=NCCL_DEBUG,CUDA_DEVICE_MAX_CONNECTIONS torchrun"), "1");
  EXPECT_EQ(Behind("srun --export=NONE torchrun"), "?");
  EXPECT_EQ(Behind("srun bash -c 'CUDA_DEVICE_MAX_CONNECTIONS=8 torchrun pretrain_gpt.py --bf16'; true #"), "8");
}

TEST(LaunchEnvironment, AContainerHasWhatItIsGiven) {
  EXPECT_EQ(Behind("docker run --rm image torchrun"), "?");
  EXPECT_EQ(Behind("srun --container-image <path to docker image> bash launch.sh"), "1");  // a word like others
  EXPECT_EQ(Behind("docker run -e CUDA_DEVICE_MAX_CONNECTIONS=8 image torchrun"), "8");
  EXPECT_EQ(Behind("docker run -e CUDA_DEVICE_MAX_CONNECTIONS image torchrun"), "1");
  EXPECT_EQ(Behind("docker run --env=CUDA_DEVICE_MAX_CONNECTIONS=8 --env-file v image torchrun"), "8");
  EXPECT_EQ(Behind("singularity exec --nv image.sif torchrun"), "1");
  EXPECT_EQ(Behind("apptainer exec --env NCCL_DEBUG=INFO,CUDA_DEVICE_MAX_CONNECTIONS=8 image.sif torchrun"), "8");
  EXPECT_EQ(Behind("apptainer exec --cleanenv image.sif torchrun"), "?");
}

TEST(LaunchEnvironment, MpirunPassesOnWhatItIsTold) {
  EXPECT_EQ(Behind("mpirun -np 8 -x CUDA_DEVICE_MAX_CONNECTIONS=8 python"), "8");
  EXPECT_EQ(Behind("mpirun -np 8 -x CUDA_DEVICE_MAX_CONNECTIONS python"), "1");
  EXPECT_EQ(Behind("mpiexec -genv CUDA_DEVICE_MAX_CONNECTIONS 8 -n 8 python"), "8");
}

TEST(LaunchEnvironment, WhatIsGivenIsExportedUntilTheScriptTakesItAway) {
  const EnvVars given{{kVar, "1"}};
  const std::string launch = "torchrun pretrain_gpt.py --bf16\n";
  EXPECT_EQ(ValueOf(launch, given), "1");
  EXPECT_EQ(ValueOf("unset CUDA_DEVICE_MAX_CONNECTIONS\n" + launch, given), "unset");
  EXPECT_EQ(ValueOf("export -n CUDA_DEVICE_MAX_CONNECTIONS\n" + launch, given), "unset");
  EXPECT_EQ(ValueOf("CUDA_DEVICE_MAX_CONNECTIONS=8\n" + launch, given), "8");
  EXPECT_EQ(ValueOf("CUDA_DEVICE_MAX_CONNECTIONS=8\n" + launch), "unset");  // nobody exports it
  EXPECT_EQ(ValueOf("(unset CUDA_DEVICE_MAX_CONNECTIONS)\n" + launch, given), "1");
  EXPECT_EQ(ValueOf("unset CUDA_DEVICE_MAX_CONNECTIONS | cat\n" + launch, given), "1");
  EXPECT_EQ(ValueOf("for v in CUDA_DEVICE_MAX_CONNECTIONS=8; do export \"$v\"; done\n" + launch), "8");
  EXPECT_EQ(ValueOf("export CUDA_DEVICE_MAX_CONNECTIONS=$(nvidia-smi -L)\n" + launch), "?");
  EXPECT_EQ(ValueOf("if [ $(hostname) = a ]; then unset CUDA_DEVICE_MAX_CONNECTIONS; fi\n" + launch, given), "?");
  EXPECT_EQ(ValueOf("if [ $(hostname) = a ]; then export CUDA_DEVICE_MAX_CONNECTIONS=1; fi\n" + launch), "?");
}

// A classic: TP is empty there.
TEST(LaunchEnvironment, AShellInsideHasNoVariablesThatNobodyExports) {
  const auto needs = [](const std::string& script) {
    std::string all;
    for (const ParseFinding& entry : ReadShellLaunch(script, {}).findings) all += entry.finding.needs + "\n";
    return all;
  };
  const std::string inner = "srun bash -c 'torchrun a.py --tensor-model-parallel-size $TP --train-iters 2'\n";
  EXPECT_NE(needs("TP=4\n" + inner).find("does not export it"), std::string::npos);
  EXPECT_EQ(needs("export TP=4\n" + inner), "");
  EXPECT_NE(needs(inner).find("neither in the script"), std::string::npos);
}

}  // namespace
}  // namespace flightplan
