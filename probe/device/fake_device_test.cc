#include "probe/device/fake_device.h"

#include <gtest/gtest.h>

namespace flightplan::probe {
namespace {

std::string Text(const std::string& row) {
  return R"({"device":{"name":"x"},"experiments":[{"group":"ceilings","rows":[)" + row + "]}]}";
}

TEST(FakeDevice, ReplaysSamplesInTurnAndIsSynthetic) {
  std::unique_ptr<Device> device;
  const Status status = ParseFakeDevice(
      "f", Text(R"({"id":"hbm.copy","work":10,"kind":"measured","parameters":{"bytes":5},"samples":[1,2]})"), &device);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_TRUE(device->Info().synthetic);
  auto experiments = device->Experiments("ceilings");
  ASSERT_EQ(experiments.size(), 1u);
  Experiment& experiment = *experiments[0];
  EXPECT_EQ(experiment.rows()[0].kind, "synthetic") << "whatever the file claims";
  EXPECT_EQ(experiment.rows()[0].unit, "bytes_per_second") << "from the table of rows";
  ASSERT_TRUE(experiment.Prepare().ok());
  std::vector<double> values;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(experiment.Take(&values).ok());
  EXPECT_EQ(values, (std::vector<double>{1, 2, 1}));
  EXPECT_FALSE(experiment.checked());
}

TEST(FakeDevice, NamesThePlaceOfAFault) {
  const std::pair<std::string, const char*> kWrong[] = {
      {"{", "f: "},
      {"{}", "f: device.name: must be a text"},
      {R"({"device":{"name":"x"}})", "f: experiments: must be a list"},
      {R"({"device":{"name":"x"},"experiments":[{"group":"all"}]})", "f: experiments[0].group: 'all' is no group"},
      {R"({"device":{"name":"x"},"experiments":[{"group":"memory","rows":[]}]})", "f: experiments[0].rows: must be"},
      {Text(R"({"id":"hbm.kopy","samples":[1]})"), "f: experiments[0].rows[0].id: 'hbm.kopy' is no row"},
      {Text(R"({"id":"hbm.copy"})"), "f: experiments[0].rows[0].samples: must be a list"},
      {Text(R"({"id":"hbm.copy","samples":["a"]})"), "f: experiments[0].rows[0].samples: must be numbers"},
  };
  for (const auto& [text, says] : kWrong) {
    std::unique_ptr<Device> device;
    const Status status = ParseFakeDevice("f", text, &device);
    EXPECT_EQ(status.code, Code::kBadOption) << says;
    EXPECT_EQ(status.message.rfind(says, 0), 0u) << status.message;
    EXPECT_EQ(device, nullptr);
  }
}

TEST(FakeDevice, MissingFileIsNamed) {
  std::unique_ptr<Device> device;
  EXPECT_EQ(OpenFakeDevice("/nonexistent.json", &device).message, "--fake: cannot read /nonexistent.json");
}

}  // namespace
}  // namespace flightplan::probe
