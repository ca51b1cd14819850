#include "service/local/memory_limit.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace flightplan::service {
namespace {

class MemoryLimitTest : public ::testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = root_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  int64_t Limit() const { return MemoryLimit(root_ / "own", root_ / "groups"); }

  const TemporaryFolder folder_;
  const std::filesystem::path root_ = folder_.path();
};

TEST_F(MemoryLimitTest, IsTheLeastOfAGroupAndWhatItIsIn) {
  Write("own", "0::/system.slice/flightplan.service");
  Write("groups/system.slice/flightplan.service/memory.max", "2097152");
  EXPECT_EQ(Limit(), 2097152);
  Write("groups/system.slice/memory.max", "1048576");
  EXPECT_EQ(Limit(), 1048576);
  Write("groups/system.slice/flightplan.service/memory.max", "max");
  EXPECT_EQ(Limit(), 1048576);
}

TEST_F(MemoryLimitTest, IsReadInAContainerToo) {
  Write("own", "0::/../../pod1/abc");
  Write("groups/memory.max", "536870912");
  EXPECT_EQ(Limit(), 536870912);
}

TEST_F(MemoryLimitTest, IsReadOfTheFirstKindOfGroups) {
  Write("own", "7:cpu,cpuacct:/docker/x\n5:memory:/docker/x\n0::/");
  Write("groups/memory/memory.limit_in_bytes", "4194304");
  EXPECT_EQ(Limit(), 4194304);
}

TEST_F(MemoryLimitTest, IsTheMachinesWhereNothingElseIsSaid) {
  const int64_t machine = Limit();
  EXPECT_GT(machine, int64_t{64} << 20);
  Write("own", "0::/a");
  Write("groups/a/memory.max", "9000000000000000000");
  EXPECT_EQ(Limit(), machine);
}

}  // namespace
}  // namespace flightplan::service
