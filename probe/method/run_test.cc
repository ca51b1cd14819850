#include "probe/method/run.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "probe/device/fake_device.h"
#include "probe/json.h"
#include "probe/limits.h"
#include "probe/method/row_table.h"

namespace flightplan::probe {
namespace {

// Keeps the lines, and lets a test act on them.
class Lines : public LineWriter {
 public:
  Lines() : LineWriter(nullptr, nullptr) {}
  void Write(const std::string& line) override {
    lines.push_back(line);
    if (on_line) on_line(line);
  }
  int Count(const std::string& kind) const {
    int count = 0;
    for (const std::string& line : lines) count += line.starts_with("{\"" + kind + "\"");
    return count;
  }
  std::vector<std::string> lines;
  std::function<void(const std::string&)> on_line;
};

struct Ran {
  Status status;
  Profile profile;
  Lines lines;
};

class RunTest : public testing::Test {
 protected:
  // Time moves by `tick` seconds at every look.
  void RunText(const std::string& text, const RunRequest& request = {}, double tick = 0.001) {
    std::unique_ptr<Device> device;
    const Status parsed = ParseFakeDevice("f", text, &device);
    ASSERT_TRUE(parsed.ok()) << parsed.message;
    double now = 0;
    Progress progress;
    ran_.status = probe::Run(
        *device, request, [&] { return now += tick; }, stop_, &ran_.lines, &progress);
    ran_.profile = progress.Snapshot();
  }
  bool HasNote(const std::string& part) const {
    for (const std::string& note : ran_.profile.notes) {
      if (note.find(part) != std::string::npos) return true;
    }
    return false;
  }

  std::atomic<bool> stop_ = false;
  Ran ran_;
};

std::string ExperimentText(const std::string& group, const std::string& id, int stage = 0,
                           const std::string& more = "") {
  return R"({"group":")" + group + R"(","stage":)" + std::to_string(stage) + more + R"(,"rows":[{"id":")" + id +
         R"(","work":1e6,"samples":[1,2,3,1,2,3,1,2,3]}]})";
}
std::string Text(const std::string& experiments, const std::string& states = "") {
  return R"({"device":{"name":"x"},"states":[)" + states + R"(],"experiments":[)" + experiments + "]}";
}

TEST_F(RunTest, ReportsEveryRowThenTheProfile) {
  RunText(Text(ExperimentText("ceilings", "hbm.copy") + "," + ExperimentText("memory", "offload.d2h")));
  EXPECT_TRUE(ran_.status.ok());
  EXPECT_EQ(ran_.lines.Count("device"), 1);
  EXPECT_EQ(ran_.lines.Count("progress"), 2);
  EXPECT_EQ(ran_.lines.Count("row"), 2);
  ASSERT_EQ(ran_.profile.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(ran_.profile.rows[0].value, 0.5e12);
  EXPECT_EQ(ran_.profile.rows[0].sample_count, 9);
  EXPECT_EQ(ran_.profile.rows[0].spec.kind, "synthetic");
  EXPECT_FALSE(ran_.profile.partial);
}

TEST_F(RunTest, OnlyTheGroupsAskedFor) {
  RunText(Text(ExperimentText("ceilings", "hbm.copy") + "," + ExperimentText("memory", "offload.d2h")),
          {.groups = {"memory"}});
  ASSERT_EQ(ran_.profile.rows.size(), 1u);
  EXPECT_EQ(ran_.profile.rows[0].spec.id, "offload.d2h");
}

TEST_F(RunTest, EarlyStagesOfAllGroupsComeFirst) {
  RunText(Text(ExperimentText("ceilings", "hbm.fill", 1) + "," + ExperimentText("memory", "offload.d2h", 0)));
  ASSERT_EQ(ran_.profile.rows.size(), 2u);
  EXPECT_EQ(ran_.profile.rows[0].spec.id, "offload.d2h");
}

TEST_F(RunTest, BudgetEndsTheRunAndSaysWhatIsMissing) {
  RunText(Text(ExperimentText("ceilings", "hbm.copy") + "," + ExperimentText("ceilings", "hbm.fill") + "," +
               ExperimentText("memory", "offload.d2h")),
          {.budget_seconds = 1}, /*tick=*/0.2);
  EXPECT_TRUE(ran_.status.ok());
  EXPECT_TRUE(ran_.profile.partial);
  EXPECT_EQ(ran_.profile.rows.size(), 1u);
  EXPECT_TRUE(HasNote("the budget ended; not measured: hbm.fill offload.d2h"));
}

TEST_F(RunTest, AbsentRowsAreNotedButDoNotMakeItPartial) {
  RunText(Text(ExperimentText("exchange", "a2a.nccl", 0, R"(,"absent":"needs two GPUs")")));
  EXPECT_FALSE(ran_.profile.partial);
  EXPECT_TRUE(ran_.profile.rows.empty());
  EXPECT_TRUE(HasNote("a2a.nccl is absent: needs two GPUs"));
}

TEST_F(RunTest, OneFailureCostsTheOtherRowsNothing) {
  RunText(Text(ExperimentText("ceilings", "hbm.copy") + "," +
               ExperimentText("ceilings", "hbm.fill", 0, R"(,"failure":"boom")") + "," +
               ExperimentText("memory", "offload.d2h")));
  EXPECT_TRUE(ran_.status.ok()) << ran_.status.message;
  EXPECT_TRUE(ran_.profile.partial);
  EXPECT_EQ(ran_.profile.rows.size(), 2u);
  EXPECT_TRUE(HasNote("hbm.fill is withheld: boom"));
}

TEST_F(RunTest, ADeviceThatIsGoneEndsTheRunAndKeepsTheRowsBeforeIt) {
  const std::string experiments = ExperimentText("ceilings", "hbm.copy") + "," +
                                  ExperimentText("ceilings", "hbm.fill", 0, R"(,"failure":"boom")") + "," +
                                  ExperimentText("memory", "offload.d2h");
  RunText(R"({"device":{"name":"x","recovers":0},"experiments":[)" + experiments + "]}");
  EXPECT_EQ(ran_.status.code, Code::kFailed);
  EXPECT_EQ(ran_.status.message, "boom; then the device answers no call any more");
  EXPECT_TRUE(ran_.profile.partial);
  EXPECT_EQ(ran_.profile.rows.size(), 1u);
  EXPECT_TRUE(HasNote("hbm.fill is withheld: boom"));
  EXPECT_TRUE(HasNote("not measured: offload.d2h"));
}

TEST_F(RunTest, SamplesUnderHeatAreTakenAgain) {
  RunText(Text(ExperimentText("ceilings", "hbm.copy"), R"({},{"throttle_reasons":["hw_thermal_slowdown"]},{},{})"));
  ASSERT_EQ(ran_.profile.rows.size(), 1u) << "the third state ends the first round that began and ended well";
  EXPECT_EQ(ran_.profile.conditions.dropped_sample_count, 18);
  EXPECT_EQ(ran_.profile.conditions.throttle_reasons, std::vector<std::string>{"hw_thermal_slowdown"});
}

TEST_F(RunTest, RowsAreWithheldWhileOthersUseTheDevice) {
  RunText(Text(ExperimentText("ceilings", "hbm.copy"), R"({"foreign_process_count":1})"));
  EXPECT_TRUE(ran_.status.ok());
  EXPECT_TRUE(ran_.profile.rows.empty());
  EXPECT_TRUE(ran_.profile.partial);
  EXPECT_TRUE(HasNote("hbm.copy is withheld: the device was throttled or used by others in every try"));
}

TEST_F(RunTest, StopKeepsWhatIsThere) {
  ran_.lines.on_line = [&](const std::string& line) { stop_ = stop_ || line.starts_with("{\"row\""); };
  RunText(Text(ExperimentText("ceilings", "hbm.copy") + "," + ExperimentText("ceilings", "hbm.fill")));
  EXPECT_TRUE(ran_.status.ok());
  EXPECT_TRUE(ran_.profile.partial);
  EXPECT_EQ(ran_.profile.rows.size(), 1u);
  EXPECT_TRUE(HasNote("stopped; not measured: hbm.fill"));
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST_F(RunTest, ARecordingReplaysToTheSameRows) {
  const std::string record = testing::TempDir() + "/recording.json";
  RunText(Text(ExperimentText("ceilings", "hbm.copy", 1) + "," + ExperimentText("memory", "offload.d2h")),
          {.record_file = record});
  const std::vector<Row> first = ran_.profile.rows;
  ASSERT_EQ(first.size(), 2u);
  RunText(ReadFile(record));
  ASSERT_EQ(ran_.profile.rows.size(), first.size());
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(RowLine(first[i]), RowLine(ran_.profile.rows[i]));
}

TEST_F(RunTest, TheSyntheticProfileIsWholeAndHasEveryGroup) {
  RunText(ReadFile(FLIGHTPLAN_PROBE_DIR "/testdata/synthetic.json"));
  EXPECT_TRUE(ran_.status.ok()) << ran_.status.message;
  EXPECT_FALSE(ran_.profile.partial);
  EXPECT_GT(ran_.profile.rows.size(), 150u);
  std::map<std::string_view, int> groups;
  for (const Row& row : ran_.profile.rows) {
    ++groups[FindRow(row.spec.id)->group];
    EXPECT_LE(row.low, row.value) << row.spec.id;
    EXPECT_LE(row.value, row.high) << row.spec.id;
    EXPECT_EQ(row.spec.unit, FindRow(row.spec.id)->unit);
  }
  EXPECT_EQ(groups.size(), std::size(kGroups));
}

}  // namespace
}  // namespace flightplan::probe
