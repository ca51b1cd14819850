#include "probe/device/lock.h"

#include <gtest/gtest.h>

namespace flightplan::probe {
namespace {

TEST(DeviceLock, OneHolderPerDevice) {
  const std::string directory = testing::TempDir();
  DeviceLock other_device, second;
  {
    DeviceLock first;
    ASSERT_TRUE(first.Take(directory, "GPU-a").ok());
    EXPECT_TRUE(other_device.Take(directory, "GPU-b").ok());
    DeviceLock refused;
    const Status status = refused.Take(directory, "GPU-a");
    EXPECT_EQ(status.code, Code::kLocked);
    EXPECT_NE(status.message.find("another probe is running on GPU-a"), std::string::npos) << status.message;
  }
  EXPECT_TRUE(second.Take(directory, "GPU-a").ok()) << "free again once its holder is gone";
}

TEST(DeviceLock, SaysWhereItCannotLock) {
  DeviceLock lock;
  const Status status = lock.Take("/nonexistent", "GPU-a");
  EXPECT_EQ(status.code, Code::kFailed);
  EXPECT_NE(status.message.find("/nonexistent"), std::string::npos);
}

}  // namespace
}  // namespace flightplan::probe
