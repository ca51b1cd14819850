#include "probe/options.h"

#include <gtest/gtest.h>

namespace flightplan::probe {
namespace {

TEST(ParseOptions, TakesBothForms) {
  Options options;
  const Status status = ParseOptions(
      {"--groups", "ceilings,memory", "--device=1", "--budget-seconds", "2.5", "--fake=x.json", "--fault", "hang"},
      &options);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(options.groups, (std::vector<std::string>{"ceilings", "memory"}));
  EXPECT_EQ(options.device, 1);
  EXPECT_EQ(options.budget_seconds, 2.5);
  EXPECT_EQ(options.fake_file, "x.json");
  EXPECT_EQ(options.fault, "hang");
}

TEST(ParseOptions, TakesSeveralDevices) {
  Options options;
  ASSERT_TRUE(ParseOptions({"--devices", "3,1"}, &options).ok());
  EXPECT_EQ(options.devices, (std::vector<int>{3, 1}));
  EXPECT_FALSE(options.all_devices);
  Options all;
  ASSERT_TRUE(ParseOptions({"--devices=all"}, &all).ok());
  EXPECT_TRUE(all.all_devices && all.devices.empty());
}

TEST(ParseOptions, TakesAShape) {
  Options options;
  ASSERT_TRUE(ParseOptions({"--shape", "hidden=4096,experts=64"}, &options).ok());
  EXPECT_EQ(options.shape.hidden, 4096);
  EXPECT_EQ(options.shape.local_experts(), 8);
  EXPECT_EQ(ParseOptions({"--shape", "hidden=1"}, &options).code, Code::kBadOption);
}

TEST(ParseOptions, TakesWhatItMayHold) {
  Options options;
  EXPECT_EQ(options.memory_mib, 2048);
  ASSERT_TRUE(ParseOptions({"--memory-mib", "8192"}, &options).ok());
  EXPECT_EQ(options.memory_mib, 8192);
}

TEST(ParseOptions, TakesSwitches) {
  Options options;
  const Status status = ParseOptions({"--once", "--list", "--version", "-h", "--record", "--check"}, &options);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_TRUE(options.once && options.list && options.version && options.help);
  EXPECT_EQ(options.record_file, "--check");  // a value, whatever it looks like
  EXPECT_FALSE(options.check);
}

// An option a line: its name, what it takes, what it does.
TEST(Usage, TellsEveryOption) {
  const std::string usage = Usage();
  for (const char* line :
       {"\n  --groups A,B        what to measure (default: all): ceilings, dispatch, experts, exchange, overlap,",
        "\n  --device N          device index", "\n  --budget-seconds S  start nothing new",
        "\n  --fault NAME        of a fake device: crash, hang, garbage,",
        "\n  --check             run every kernel once", "\n  -h                  this text\n"}) {
    EXPECT_NE(usage.find(line), std::string::npos) << line << "is not in\n" << usage;
  }
}

struct Wrong {
  std::vector<std::string> arguments;
  const char* says;  // part of the message
};

TEST(ParseOptions, NamesWhatIsWrong) {
  const Wrong kWrong[] = {
      {{"--group", "ceilings"}, "unknown option '--group'; they are --groups, --device,"},
      {{"ceilings"}, "unknown option 'ceilings'"},
      {{"--groups", "ceilings,,memory"}, "--groups: '' is no group; they are ceilings"},
      {{"--groups", "all"}, "--groups: 'all' is no group"},
      {{"--groups", "memory,"}, "--groups: '' is no group"},
      {{"--device", "-1"}, "--device: '-1' is no device index"},
      {{"--device", "1x"}, "--device: '1x'"},
      {{"--device", "99999999999999"}, "--device:"},
      {{"--devices", "1"}, "--devices: '1' must be `all`, or 2 to 16 different device indices: 0,1,2"},
      {{"--devices", "0,0"}, "--devices: '0,0' must be"},
      {{"--devices", "0,,1"}, "--devices: '0,,1' must be"},
      {{"--devices", "0-7"}, "--devices: '0-7' must be"},
      {{"--devices", "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"}, "must be `all`, or 2 to 16"},
      {{"--devices", "0,1", "--device", "0"}, "--devices: names the devices; leave --device out"},
      {{"--devices", "all", "--fake", "x.json"}, "--devices: a fake device has no peers; leave --fake out"},
      {{"--budget-seconds", "0"}, "must be a number from 0.1 to 600"},
      {{"--budget-seconds", "nan"}, "must be a number from 0.1 to 600"},
      {{"--budget-seconds", "20s"}, "must be a number from 0.1 to 600"},
      {{"--budget-seconds"}, "--budget-seconds: needs a value"},
      {{"--memory-mib", "8G"}, "--memory-mib: '8G' must be a number from 512 to 65536"},
      {{"--memory-mib", "100"}, "--memory-mib: '100' must be"},
      {{"--connections", "0"}, "--connections: '0' must be a number from 1 to 32"},
      {{"--connections", "33"}, "must be a number from 1 to 32"},
      {{"--fake="}, "--fake: needs a value: --fake FILE"},
      {{"--groups", ""}, "--groups: needs a value: --groups A,B"},
      {{"--check=1"}, "--check: takes no value, '--check=1' has one"},
      {{"--fault", "crash"}, "add --fake FILE"},
      {{"--check", "--fake", "x"}, "--check: a fake device has no kernels"},
      {{"--once", "--fake", "x"}, "--once: a fake device has no kernels"},
      {{"--fake", "x", "--fault", "sleep"}, "--fault: 'sleep' must be one of crash hang"},
  };
  for (const Wrong& wrong : kWrong) {
    Options options;
    const Status status = ParseOptions(wrong.arguments, &options);
    EXPECT_EQ(status.code, Code::kBadOption) << wrong.says;
    EXPECT_NE(status.message.find(wrong.says), std::string::npos) << status.message;
  }
}

}  // namespace
}  // namespace flightplan::probe
