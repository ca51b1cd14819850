#include "resolver/plan/tuning_variable.h"

#include <gtest/gtest.h>

namespace flightplan {
namespace {

TEST(TuningVariable, IsOfALibraryAndNoSecret) {
  for (const char* name : {"NCCL_ALGO", "CUDA_DEVICE_MAX_CONNECTIONS", "NVTE_CPU_OFFLOAD_V1", "MAMBA_DETERMINISTIC"}) {
    EXPECT_TRUE(IsTuningVariable(name)) << name;
  }
  for (const char* name : {"HF_TOKEN", "WANDB_API_KEY", "NCCL_SOME_TOKEN", "CUDA_password", "HOME", "PATH", ""}) {
    EXPECT_FALSE(IsTuningVariable(name)) << name;
  }
}

}  // namespace
}  // namespace flightplan
