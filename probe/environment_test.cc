#include "probe/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace flightplan::probe {
namespace {

TEST(FixEnvironment, AJobsOwnVariablesDoNotLeakIn) {
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  FixEnvironment(8);
  EXPECT_EQ(std::string(getenv("CUDA_DEVICE_MAX_CONNECTIONS")), "8");
  EXPECT_EQ(getenv("CUDA_LAUNCH_BLOCKING"), nullptr);
  EXPECT_EQ(std::string(getenv("CUDA_VISIBLE_DEVICES")), "3") << "which devices are seen is the caller's to say";
  unsetenv("CUDA_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace flightplan::probe
