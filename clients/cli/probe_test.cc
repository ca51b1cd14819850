// flightplan probe, with the real worker replaying a made-up device.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/backend.h"
#include "clients/cli/command.h"
#include "clients/cli/probe_report.h"
#include "flightplan/v1/probe_service.pb.h"
#include "resolver/normalize/profile_message.h"
#include "tests/support/sample_profile.h"

namespace flightplan::cli {
namespace {

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ProbeTest : public ::testing::Test {
 protected:
  ProbeTest() {
    char name[] = "/tmp/flightplan_cli_XXXXXX";
    root_ = mkdtemp(name);
    setenv("FLIGHTPLAN_PROFILE_DIR", File("profiles").c_str(), 1);
  }
  ~ProbeTest() override {
    setenv("FLIGHTPLAN_PROFILE_DIR", "/nonexistent/flightplan", 1);
    [[maybe_unused]] const int gone = system(absl::StrCat("rm -rf ", root_).c_str());
  }
  std::string File(const std::string& name) const { return absl::StrCat(root_, "/", name); }
  int Run(const std::vector<std::string>& args) {
    context_ = Context();
    context_.terminal.width = 110;
    return RunCommandLine(args, context_);
  }
  int Probe(std::vector<std::string> more) {
    std::vector<std::string> args = {"probe", "--worker", FLIGHTPLAN_PROBE_WORKER, "--fake", FLIGHTPLAN_PROBE_FAKE};
    args.insert(args.end(), more.begin(), more.end());
    return Run(args);
  }
  std::string Measured(const std::string& name = "h200-test") {
    v1::HardwareProfile profile = sample::SampleProfile();
    profile.set_name(name);
    profile.mutable_measure_time()->set_seconds(time(nullptr) - 3600);
    std::string path = File(name + "-in.json");
    std::ofstream(path) << ProfileToJson(profile);
    return path;
  }

  std::string root_;
  Context context_;
};

TEST_F(ProbeTest, ShowsWritesAndReportsTheProfileOfAFakeDevice) {
  ASSERT_EQ(Probe({"--out", File("p.json"), "--report", File("p.html")}), kExitOk) << context_.err;
  for (const char* text : {"Synthetic GPU", "synthetic: replayed, never evidence", "hbm.sm_curve", "co-run gain 0.",
                           "pair.overlap: ", "forecast from its parts"})
    EXPECT_TRUE(absl::StrContains(context_.out, text)) << text << "\n" << context_.out;
  v1::HardwareProfile profile;
  ASSERT_TRUE(ProfileFromJson(Contents(File("p.json")), &profile).ok());
  EXPECT_GT(profile.rows_size(), 100);
  const std::string html = Contents(File("p.html"));
  for (const char* part :
       {"<svg", "Synthetic: a fake device", "rows of one expert", "Co-run gain", "in turn", "</html>"})
    EXPECT_TRUE(absl::StrContains(html, part)) << part;
  // One page that needs nothing else.
  for (const char* outside : {"http://", "https://", "<script", "<link", "@import", "url("})
    EXPECT_FALSE(absl::StrContains(html, outside)) << outside;
  ASSERT_EQ(Run({"probe", "--list"}), kExitOk);
  EXPECT_TRUE(absl::StrContains(context_.out, "no profiles are stored")) << context_.out;
}

TEST_F(ProbeTest, OnlyTheGroupsAskedFor) {
  ASSERT_EQ(Probe({"--groups", "ceilings", "--format", "json"}), kExitOk) << context_.err;
  EXPECT_TRUE(absl::StrContains(context_.out, "hbm.copy"));
  EXPECT_FALSE(absl::StrContains(context_.out, "corun.matrix"));
}

TEST_F(ProbeTest, ExitCodesSayWhoseFaultItIs) {
  EXPECT_EQ(Run({"probe", "--worker", "/nowhere/flightplan-probe"}), kExitFindings);
  EXPECT_TRUE(absl::StrContains(context_.err, "/nowhere/flightplan-probe")) << context_.err;
  EXPECT_EQ(Probe({"--groups", "everything"}), kExitMisuse);
  EXPECT_TRUE(absl::StrContains(context_.err, "--groups")) << context_.err;
  EXPECT_EQ(Probe({"--budget", "99"}), kExitMisuse);
  EXPECT_EQ(Run({"probe", "--worker", "/bin/true"}), kExitInternal) << context_.err;
  EXPECT_EQ(Run({"probe", "--fake", "/nowhere/fake.json", "--worker", FLIGHTPLAN_PROBE_WORKER}), kExitMisuse)
      << context_.err;
  EXPECT_EQ(Run({"probe", "--import", "/nowhere/p.json"}), kExitMisuse);
  EXPECT_EQ(Probe({"--out", "/nowhere/p.json"}), kExitOutput);
}

TEST_F(ProbeTest, AnImportedProfileIsListedAndCitedByResolve) {
  const std::vector<std::string> resolve = {
      "resolve", "--model", "qwen3-30b-a3b", "--gpu", "h200-sxm", "--gpus", "16",     "--tp",      "1",
      "--pp",    "1",       "--ep",          "16",    "--gbs",    "1024",   "--show", "decisions", "--verbose"};
  ASSERT_EQ(Run(resolve), kExitOk) << context_.err;
  const std::string before = context_.out;
  EXPECT_FALSE(absl::StrContains(before, "probe profile"));
  ASSERT_EQ(Run({"probe", "--import", Measured()}), kExitOk) << context_.err;
  ASSERT_EQ(Run({"probe", "--list"}), kExitOk);
  EXPECT_TRUE(absl::StrContains(context_.out, "h200-test")) << context_.out;
  ASSERT_EQ(Run(resolve), kExitOk) << context_.err;
  EXPECT_TRUE(absl::StrContains(context_.out, "co-run gain")) << context_.out;
  EXPECT_NE(context_.out, before);
}

TEST_F(ProbeTest, ResolveTakesAProfileOnTheCommandLine) {
  std::vector<std::string> args = {"resolve", "--model",  "qwen3-30b-a3b", "--gpu",    "h200-sxm", "--gpus", "16",
                                   "--tp",    "1",        "--pp",          "1",        "--ep",     "16",     "--gbs",
                                   "1024",    "--format", "json",          "--profile"};
  args.push_back(Measured());
  ASSERT_EQ(Run(args), kExitOk) << context_.err;
  EXPECT_TRUE(absl::StrContains(context_.out, "probe profile h200-test, driver 580.65.06: corun.matrix"))
      << context_.out;
  args[4] = "h100-sxm";
  EXPECT_EQ(Run(args), kExitMisuse);
  EXPECT_TRUE(absl::StrContains(context_.err, "was measured on NVIDIA H200")) << context_.err;
  std::ofstream(File("broken.json")) << "{";
  args.back() = File("broken.json");
  EXPECT_EQ(Run(args), kExitMisuse);
  EXPECT_TRUE(absl::StrContains(context_.err, "--profile")) << context_.err;
}

TEST_F(ProbeTest, ASyntheticProfileIsNotStored) {
  ASSERT_EQ(Probe({"--out", File("p.json")}), kExitOk);
  EXPECT_EQ(Run({"probe", "--import", File("p.json")}), kExitMisuse);
  EXPECT_TRUE(absl::StrContains(context_.err, "synthetic")) << context_.err;
}

TEST(ProbeReport, TextOfOthersCannotLeaveItsPlace) {
  v1::HardwareProfile profile = sample::SampleProfile();
  profile.set_device_name("<script>alert(1)</script>");
  profile.add_notes("\"><img src=x onerror=alert(1)>");
  (*profile.mutable_rows(0)->mutable_labels())["op"] = "<b>";
  const std::string html = ProbeReport(profile);
  EXPECT_FALSE(absl::StrContains(html, "<script"));
  EXPECT_FALSE(absl::StrContains(html, "<img"));
  EXPECT_FALSE(absl::StrContains(html, "<b>&"));
}

TEST(ProbeReport, AnEmptyProfileIsStillAPage) {
  v1::HardwareProfile profile;
  profile.set_device_name("x");
  profile.set_kind("measured");
  EXPECT_TRUE(absl::EndsWith(ProbeReport(profile), "</html>\n"));
  sample::AddRow(&profile, "hbm.copy", 0, "bytes_per_second");
  EXPECT_FALSE(absl::StrContains(ProbeReport(profile), "nan"));
}

}  // namespace
}  // namespace flightplan::cli
