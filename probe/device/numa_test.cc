#include "probe/device/numa.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace flightplan::probe {
namespace {

class NumaTest : public testing::Test {
 protected:
  ~NumaTest() override { std::filesystem::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << "\n";
  }
  const std::filesystem::path root_ = std::filesystem::path(testing::TempDir()) / "numa_sysfs";
};

TEST_F(NumaTest, ANodeIsReadOfTheBus) {
  Write("bus/pci/devices/0000:3b:00.0/numa_node", "1");
  Write("bus/pci/devices/0000:5e:00.0/numa_node", "-1");  // a machine with one node
  EXPECT_EQ(NumaNodeOf("0000:3B:00.0", root_), 1);
  EXPECT_EQ(NumaNodeOf("00000000:3B:00.0", root_), 1);
  EXPECT_EQ(NumaNodeOf("0000:5e:00.0", root_), std::nullopt);
  EXPECT_EQ(NumaNodeOf("0000:99:00.0", root_), std::nullopt);
}

TEST_F(NumaTest, ListsOfCpus) {
  EXPECT_EQ(CpusOf("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(CpusOf("7"), std::vector<int>{7});
  for (const char* none : {"", "x", "3-1", "1-", "0-99999"}) EXPECT_TRUE(CpusOf(none).empty()) << none;
}

TEST_F(NumaTest, BindsToWhatTheProcessMayUse) {
  std::thread([&] {  // which alone is bound
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    int last = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) last = CPU_ISSET(cpu, &before) ? cpu : last;
    Write("devices/system/node/node0/cpulist", std::to_string(last) + ",1000");
    Write("devices/system/node/node1/cpulist", "1000-1001");
    EXPECT_EQ(BindToNode(1, root_), "not bound to NUMA node 1, the GPU's: this process may use none of its CPUs");
    EXPECT_EQ(BindToNode(0, root_).rfind("bound to NUMA node 0, the GPU's", 0), 0U);
    cpu_set_t after;
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_EQ(CPU_COUNT(&after), 1);
    EXPECT_TRUE(CPU_ISSET(last, &after));
  })
      .join();
}

}  // namespace
}  // namespace flightplan::probe
