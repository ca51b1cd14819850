// flightplan probe, with the real worker replaying a made-up device.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/backend.h"
#include "clients/cli/command.h"
#include "clients/cli/probe_report.h"
#include "flightplan/v1/probe_service.pb.h"
#include "resolver/normalize/profile_message.h"
#include "tests/support/sample_profile.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::cli {
namespace {

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ProbeTest : public ::testing::Test {
 protected:
  ProbeTest() { setenv("FLIGHTPLAN_PROFILE_DIR", File("profiles").c_str(), 1); }
  ~ProbeTest() override { setenv("FLIGHTPLAN_PROFILE_DIR", "/nonexistent/flightplan", 1); }
  std::string File(const std::string& name) const { return root_.File(name); }
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

  const TemporaryFolder root_;
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

TEST_F(ProbeTest, WhatIsMeasuredOutlivesAFolderThatCannotBeMadeOrRead) {
  const std::string measured = Measured();
  std::string line = absl::StrReplaceAll(Contents(measured), {{"\n", ""}});
  std::ofstream(File("worker.sh")) << "#!/bin/sh\ncat <<'END'\n{\"profile\": " << line << "}\nEND\n";
  std::filesystem::permissions(File("worker.sh"), std::filesystem::perms::owner_all);
  for (const char* folder : {"/proc/nope/profiles", "/proc/version"}) {
    setenv("FLIGHTPLAN_PROFILE_DIR", folder, 1);
    const std::string out = File("kept.json");
    std::filesystem::remove(out);
    EXPECT_EQ(Run({"probe", "--worker", File("worker.sh"), "--out", out}), kExitOk) << context_.err;
    EXPECT_TRUE(absl::StrContains(context_.out, "not stored: ")) << context_.out;
    EXPECT_TRUE(absl::StrContains(Contents(out), "not stored: ")) << Contents(out);
    EXPECT_EQ(Run({"probe", "--import", measured}), kExitMisuse) << context_.err;
    EXPECT_TRUE(absl::StrContains(context_.err, "/proc/")) << context_.err;
    EXPECT_EQ(Run({"models", "qwen3-30b-a3b"}), kExitOk) << context_.err;
  }
  EXPECT_EQ(Run({"probe", "--list"}), kExitMisuse) << "the folder is a file: " << context_.out;
  setenv("FLIGHTPLAN_PROFILE_DIR", File("profiles").c_str(), 1);
  EXPECT_EQ(Run({"probe", "--worker", File("worker.sh")}), kExitOk) << context_.err;
  EXPECT_FALSE(absl::StrContains(context_.out, "not stored")) << context_.out;
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

TEST_F(ProbeTest, SeveralDevicesReachTheWorker) {
  EXPECT_EQ(Run({"probe", "--worker", FLIGHTPLAN_PROBE_WORKER, "--devices", "0"}), kExitMisuse);
  EXPECT_TRUE(absl::StrContains(context_.err, "--devices: must be 2 to 16 different indices")) << context_.err;
  EXPECT_EQ(Run({"probe", "--worker", FLIGHTPLAN_PROBE_WORKER, "--devices", "0,one"}), kExitMisuse);
  EXPECT_TRUE(absl::StrContains(context_.err, "'one' is no index")) << context_.err;
  EXPECT_EQ(Run({"probe", "--worker", FLIGHTPLAN_PROBE_WORKER, "--device", "0", "--devices", "all"}), kExitMisuse);
  EXPECT_TRUE(absl::StrContains(context_.err, "--device: is one device alone")) << context_.err;
  EXPECT_EQ(Probe({"--devices", "all"}), kExitMisuse);
  EXPECT_TRUE(absl::StrContains(context_.err, "a fake device has no peers")) << context_.err;
  EXPECT_EQ(Probe({"--devices", "0,1"}), kExitMisuse);
  EXPECT_TRUE(absl::StrContains(context_.err, "a fake device has no peers")) << context_.err;
}

// A fake device replays whatever it was made of.
TEST_F(ProbeTest, ALayerIsTheModels) {
  EXPECT_EQ(Probe({"--model", "qwen3-30b-a3b", "--groups", "memory"}), kExitOk) << context_.err;
  EXPECT_EQ(Probe({"--model", "deepseek-v3", "--ep", "7"}), kExitMisuse);
  EXPECT_TRUE(absl::StrContains(context_.err, "--ep: 7 must divide the number of experts, 256")) << context_.err;
  EXPECT_EQ(Probe({"--model", "deepseek-v3", "--ep", "64", "--memory-gib", "8", "--groups", "memory"}), kExitOk)
      << context_.err;
  EXPECT_EQ(Probe({"--memory-gib", "99"}), kExitMisuse);
  EXPECT_TRUE(absl::StrContains(context_.err, "--memory-gib")) << context_.err;
  EXPECT_EQ(Probe({"--model", "llama2-13b"}), kExitMisuse);
  EXPECT_EQ(Probe({"--ep", "8"}), kExitMisuse);
  EXPECT_TRUE(absl::StrContains(context_.err, "--model: is required beside layout")) << context_.err;
}

// Figures of github.com/NVIDIA/nccl/issues/2169, halved: what it says then is what a step is forecast with.
TEST_F(ProbeTest, AnotherProgramsExchangeMovesTheForecast) {
  std::ofstream(File("nccl.log"))
      << "# Collective test starting: alltoall_perf\n"
         "#  Rank  0 Group  0 Pid 1 on n1 device  0 [0000:4e:00] NVIDIA H200\n"
         "#  Rank  1 Group  0 Pid 2 on n1 device  1 [0000:5f:00] NVIDIA H200\n"
         " 524288000 32768000 float none -1 2348.28 223.27 111.63 0 2326.80 225.3 112.7 N/A\n";
  EXPECT_EQ(Run({"probe", "--import-exchange", File("nowhere")}), kExitMisuse);
  ASSERT_EQ(Run({"probe", "--import-exchange", File("nccl.log"), "--import", Measured(), "--out", File("both.json")}),
            kExitOk)
      << context_.err;
  EXPECT_TRUE(absl::StrContains(context_.out, "a2a.nccl")) << context_.out;
  EXPECT_TRUE(absl::StrContains(context_.out, "a2a.nccl over NVLink: 112 GB/s leave a rank")) << context_.out;
  EXPECT_TRUE(absl::StrContains(context_.out, "imported")) << context_.out;
  v1::HardwareProfile both;
  ASSERT_TRUE(ProfileFromJson(Contents(File("both.json")), &both).ok());
  EXPECT_EQ(both.rows(both.rows_size() - 1).kind(), "imported");
  const auto step = [&](const std::string& file) {
    EXPECT_EQ(Run({"resolve",
                   "--model",
                   "qwen3-30b-a3b",
                   "--gpu",
                   "h200-sxm",
                   "--gpus",
                   "8",
                   "--tp",
                   "1",
                   "--pp",
                   "1",
                   "--ep",
                   "8",
                   "--gbs",
                   "512",
                   "--capability",
                   "none",
                   "--format",
                   "json",
                   "--profile",
                   file}),
              kExitOk)
        << context_.err;
    const size_t at = context_.out.find("\"step_time_us\"");
    EXPECT_NE(at, std::string::npos) << context_.out;
    return at == std::string::npos ? "" : context_.out.substr(at, 60);
  };
  EXPECT_NE(step(Measured()), step(File("both.json")));
  // Once more: the rows are replaced, not doubled.
  ASSERT_EQ(
      Run({"probe", "--import-exchange", File("nccl.log"), "--import", File("both.json"), "--out", File("c.json")}),
      kExitOk);
  v1::HardwareProfile again;
  ASSERT_TRUE(ProfileFromJson(Contents(File("c.json")), &again).ok());
  EXPECT_EQ(again.rows_size(), both.rows_size());
  EXPECT_EQ(again.name(), both.name());
  EXPECT_TRUE(absl::StartsWith(both.name(), "h200-test-x")) << both.name();
}

TEST_F(ProbeTest, AnExchangeWithoutItsGpuSaysWhatIsMissing) {
  std::ofstream(File("deepep.log")) << "[tuning] Best dispatch (BF16): SMs 24, NVL chunk 16, 160.46 GB/s (NVL)\n";
  EXPECT_EQ(Run({"probe", "--import-exchange", File("deepep.log")}), kExitMisuse);
  EXPECT_TRUE(absl::StrContains(context_.err, "does not name the GPU: add --import PROFILE")) << context_.err;
  ASSERT_EQ(Run({"probe", "--import-exchange", File("deepep.log"), "--device-name", "NVIDIA H200"}), kExitOk)
      << context_.err;
  EXPECT_TRUE(absl::StrContains(context_.out, "160 GB/s")) << context_.out;
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
