// Supervision: whatever the worker does, the caller gets an answer in time and nothing is left running.
#include "service/local/probe_worker.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "resolver/base/reason.h"
#include "resolver/base/utf8.h"
#include "resolver/catalog/catalog.h"
#include "resolver/normalize/violations.h"
#include "service/local/child_test_util.h"
#include "service/wire/status_mapping.h"

namespace flightplan::service {
namespace {

std::shared_ptr<const Catalog> TheCatalog() {
  static const auto& catalog = *new std::shared_ptr<const Catalog>(std::make_shared<Catalog>(*Catalog::Builtin()));
  return catalog;
}

ProbeJob Job(const std::string& fault = "") {
  ProbeJob job;
  job.catalog = TheCatalog();
  job.worker = FLIGHTPLAN_PROBE_WORKER;
  job.fake = FLIGHTPLAN_PROBE_FAKE;
  if (!fault.empty()) job.extra_arguments = {"--fault", fault};
  return job;
}

ProbeJob ScriptJob(const std::string& script) {
  ProbeJob job;
  job.catalog = TheCatalog();
  job.worker = script;
  return job;
}

ProbeEnd Supervise(const ProbeJob& job, int* progress = nullptr) {
  StopSwitch stop;
  return RunProbeWorker(job, stop, [&](const v1::ProbeProgress&) {
    if (progress != nullptr) ++*progress;
  });
}

constexpr char kDevice[] =
    R"({"device": {"device_name": "NVIDIA Test", "device_uuid": "GPU-1", "kind": "measured", "sm_count": 132}})";
constexpr char kRow[] =
    R"({"row": {"id": "hbm.copy", "value": 2, "low": 1, "high": 3, "unit": "us", "kind": "measured"}})";

TEST(RunProbeWorker, GivesTheProfileOfAFakeDevice) {
  int progress = 0;
  const ProbeEnd end = Supervise(Job(), &progress);
  ASSERT_TRUE(end.status.ok()) << end.status;
  EXPECT_EQ(end.result, ProbeResult::kOk);
  EXPECT_EQ(end.profile.kind(), "synthetic");
  EXPECT_FALSE(end.profile.partial());
  EXPECT_GT(end.profile.rows_size(), 50);
  EXPECT_GT(progress, 5);
  for (const v1::ProbeRow& row : end.profile.rows()) EXPECT_EQ(row.kind(), "synthetic") << row.id();
}

TEST(RunProbeWorker, OnlyTheGroupsAskedFor) {
  ProbeJob job = Job();
  job.request.add_groups("ceilings");
  const ProbeEnd end = Supervise(job);
  ASSERT_TRUE(end.status.ok()) << end.status;
  for (const v1::ProbeRow& row : end.profile.rows()) EXPECT_FALSE(absl::StartsWith(row.id(), "corun")) << row.id();
}

// A script tells what it was started with as an error, which the caller gets.
TEST(RunProbeWorker, TheWorkerGetsTheLayerAndTheMemory) {
  const ScriptFolder folder;
  ProbeJob job = ScriptJob(folder.Script(R"(echo "{\"error\": {\"code\": \"failed\", \"message\": \"$*\"}}"; exit 1)"));
  job.request.mutable_model()->set_name("deepseek-v3");
  job.request.mutable_layout()->set_expert_model_parallel_size(64);
  job.request.set_memory_limit_bytes(int64_t{8} << 30);
  const ProbeEnd end = Supervise(job);
  EXPECT_TRUE(absl::StrContains(end.status.message(),
                                " --shape tokens=4096,hidden=7168,experts=256,topk=8,ffn=2048,ranks=64,sequence=4096 "
                                "--memory-mib 8192"))
      << end.status;
}

// The whole command line of a worker that was asked for these devices.
std::string CommandFor(const v1::RunProbeRequest& request) {
  const ScriptFolder folder;
  ProbeJob job = ScriptJob(folder.Script(R"(echo "{\"error\": {\"code\": \"failed\", \"message\": \"$*\"}}"; exit 1)"));
  job.request = request;
  return std::string(Supervise(job).status.message());
}

TEST(RunProbeWorker, TheWorkerGetsTheDevices) {
  v1::RunProbeRequest some, all, one;
  for (const int index : {3, 0, 1}) some.add_device_indices(index);
  EXPECT_TRUE(absl::EndsWith(CommandFor(some), " --devices 3,0,1")) << CommandFor(some);
  all.set_all_devices(true);
  EXPECT_TRUE(absl::EndsWith(CommandFor(all), " --devices all")) << CommandFor(all);
  one.set_device_index(2);
  EXPECT_TRUE(absl::EndsWith(CommandFor(one), " --device 2")) << CommandFor(one);
  EXPECT_FALSE(absl::StrContains(CommandFor({}), "--device")) << CommandFor({});
}

// What no kernel is built for is the caller's model, not a flag.
TEST(RunProbeWorker, ALayerThatTheWorkerRefusesIsABadRequest) {
  ProbeJob job = Job();
  job.request.mutable_model()->set_name("deepseek-v3");
  job.request.set_seq_length(1 << 20);
  const ProbeEnd end = Supervise(job);
  EXPECT_EQ(end.result, ProbeResult::kRefused);
  EXPECT_EQ(end.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(end.status.GetPayload(kBadRequestPayload).has_value());
  EXPECT_TRUE(absl::StrContains(end.status.message(), "tokens=1048576 must be a number from 1 to 65536")) << end.status;
}

TEST(RunProbeWorker, ACrashLeavesTheRowsThatHadCome) {
  const ProbeEnd end = Supervise(Job("crash"));
  ASSERT_TRUE(end.status.ok()) << end.status;
  EXPECT_EQ(end.result, ProbeResult::kPartial);
  EXPECT_TRUE(end.profile.partial());
  EXPECT_GT(end.profile.rows_size(), 0);
  ASSERT_GT(end.profile.notes_size(), 0);
  EXPECT_TRUE(absl::StrContains(end.profile.notes(end.profile.notes_size() - 1), "signal 6")) << end.profile.notes(0);
}

TEST(RunProbeWorker, ACrashBeforeAnyRowIsAnError) {
  const ScriptFolder folder;
  const ProbeEnd end = Supervise(ScriptJob(folder.Script("echo 'CUDA went away' >&2; kill -SEGV $$")));
  EXPECT_EQ(end.result, ProbeResult::kCrashed);
  EXPECT_EQ(end.status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(ReasonOf(end.status), "PROBE_FAILED");
  EXPECT_TRUE(absl::StrContains(end.status.message(), "signal 11")) << end.status;
  EXPECT_TRUE(absl::StrContains(end.status.message(), "CUDA went away")) << end.status;
}

// What a program prints may be in any encoding, and be cut anywhere.
TEST(RunProbeWorker, TheLastMessageIsUtf8) {
  const ScriptFolder folder;
  for (const char* print :
       {R"(printf 'CUDA \377 went away\n' >&2)", R"(printf 'x%.0s' $(seq 199) >&2; printf '\303\244\n' >&2)",
        R"(printf '{"error": {"code": "failed", "message": "'; printf 'x%.0s' $(seq 1023);
                               printf '\303\244"}}\n')"}) {
    const ProbeEnd end = Supervise(ScriptJob(folder.Script(absl::StrCat(print, "; exit 4"))));
    EXPECT_EQ(end.result, ProbeResult::kCrashed) << print;
    EXPECT_TRUE(IsUtf8(end.status.message())) << end.status;
  }
}

// It ignores SIGTERM too.
TEST(RunProbeWorker, AHangIsKilledWhenTheTimeIsOver) {
  ProbeJob job = Job("hang");
  job.request.mutable_budget()->set_seconds(1);
  const ProbeEnd end = Supervise(job);
  ASSERT_TRUE(end.status.ok()) << end.status;
  EXPECT_EQ(end.result, ProbeResult::kPartial);
  EXPECT_EQ(end.stuck_pid, 0);
  EXPECT_GT(end.profile.notes_size(), 0);
}

TEST(RunProbeWorker, AHangWithoutARowIsADeadline) {
  const ScriptFolder folder;
  ProbeJob job = ScriptJob(folder.Script("trap '' TERM; while :; do sleep 1; done"));
  job.request.mutable_budget()->set_seconds(1);
  const ProbeEnd end = Supervise(job);
  EXPECT_EQ(end.result, ProbeResult::kTimeOver);
  EXPECT_EQ(end.status.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(RunProbeWorker, GarbageIsNeverAProfile) {
  for (const char* fault : {"garbage", "wrong_schema", "flood"}) {
    const ProbeEnd end = Supervise(Job(fault));
    EXPECT_EQ(end.result, ProbeResult::kGarbage) << fault << ": " << end.status;
    EXPECT_EQ(end.status.code(), absl::StatusCode::kAborted) << fault;
  }
}

TEST(RunProbeWorker, ATornLineOrNoProfileIsAPartialOne) {
  for (const char* fault : {"truncated", "no_profile"}) {
    const ProbeEnd end = Supervise(Job(fault));
    ASSERT_TRUE(end.status.ok()) << fault << ": " << end.status;
    EXPECT_EQ(end.result, ProbeResult::kPartial) << fault;
  }
}

TEST(RunProbeWorker, MessagesWithoutEndAreAFault) {
  EXPECT_EQ(Supervise(Job("stderr_flood")).result, ProbeResult::kGarbage);
}

TEST(RunProbeWorker, StrangeLinesAreRefused) {
  const ScriptFolder folder;
  const std::string deep(100'000, '[');
  for (const std::string& line :
       {std::string("hello"), std::string("{}"), std::string("[1]"), std::string(R"({"row": {"id": "x"}, "row2": 1})"),
        std::string(
            R"({"row": {"id": "hbm.copy", "value": 2, "low": 3, "high": 4, "unit": "us", "kind": "measured"}})"),
        std::string(R"({"row": {"id": "hbm.copy", "surprise": 2}})"), std::string(R"({"progress": {"done_ratio": 7}})"),
        std::string(R"({"profile": {"device_name": 5}})"), std::string(R"({"error": {}})"), "{\"device\": " + deep}) {
    std::ofstream(folder.File("line")) << line << "\n";
    const ProbeEnd end = Supervise(ScriptJob(folder.Script(absl::StrCat("cat ", folder.File("line"), "; sleep 60"))));
    EXPECT_EQ(end.result, ProbeResult::kGarbage) << line.substr(0, 80);
  }
}

TEST(RunProbeWorker, NothingBehindTheProfileIsTaken) {
  const ScriptFolder folder;
  std::string profile = kDevice;
  profile.replace(profile.find("device"), 6, "profile");
  const ProbeEnd end = Supervise(ScriptJob(folder.Script(absl::StrCat("echo '", profile, "'; echo '", kRow, "'"))));
  EXPECT_EQ(end.result, ProbeResult::kGarbage) << end.status;
}

TEST(RunProbeWorker, AMissingWorkerIsSaidAtOnce) {
  for (const char* path : {"/nowhere/flightplan-probe", "/etc/passwd"}) {
    ProbeJob job = Job();
    job.worker = path;
    const ProbeEnd end = Supervise(job);
    EXPECT_EQ(end.result, ProbeResult::kMissing);
    EXPECT_EQ(end.status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_EQ(ReasonOf(end.status), "PROBE_NOT_INSTALLED");
    EXPECT_TRUE(absl::StrContains(end.status.message(), path)) << end.status;
  }
  const ScriptFolder folder;
  const std::string no_program = folder.Script("");
  std::ofstream(no_program) << "\x7f"
                               "ELF nonsense";
  EXPECT_EQ(Supervise(ScriptJob(no_program)).result, ProbeResult::kMissing);
}

TEST(RunProbeWorker, WithoutAGpuItSaysSo) {
  if (access("/dev/nvidiactl", F_OK) == 0) GTEST_SKIP() << "skipped: there is a GPU here";
  ProbeJob job = Job();
  job.fake = "";
  const ProbeEnd end = Supervise(job);
  EXPECT_EQ(end.result, ProbeResult::kRefused);
  EXPECT_EQ(end.status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(end.status), "NO_GPU");
}

TEST(RunProbeWorker, TheWorkersRefusalsKeepTheirMeaning) {
  const ScriptFolder folder;
  const auto code_of = [&](const char* code) {
    return Supervise(ScriptJob(folder.Script(
        absl::StrCat("echo '{\"error\": {\"code\": \"", code, "\", \"message\": \"because\"}}'; exit 1"))));
  };
  EXPECT_EQ(ReasonOf(code_of("busy").status), "GPU_BUSY");
  EXPECT_EQ(ReasonOf(code_of("not_ours").status), "GPU_NOT_OURS");
  const ProbeEnd locked = code_of("locked");
  EXPECT_EQ(locked.status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(locked.status), "PROBE_BUSY");
  EXPECT_GT(RetryDelay(locked.status), absl::ZeroDuration());
  EXPECT_EQ(code_of("surprise").result, ProbeResult::kGarbage);
}

// Two on one device: the second finds the lock of the first.
TEST(RunProbeWorker, TwoAtOnceOnOneDevice) {
  const ScriptFolder folder;
  ProbeJob job = Job("hang");
  job.extra_arguments.insert(job.extra_arguments.end(), {"--lock-dir", folder.File("")});
  StopSwitch stop;
  std::atomic<bool> started{false};
  std::thread first([&] { RunProbeWorker(job, stop, [&](const v1::ProbeProgress&) { started = true; }); });
  EXPECT_TRUE(Eventually([&] { return started.load(); }));
  const ProbeEnd second = Supervise(job);
  stop.Stop();
  first.join();
  EXPECT_EQ(second.result, ProbeResult::kBusy) << second.status;
  EXPECT_EQ(second.status.code(), absl::StatusCode::kUnavailable);
}

// Its own children too, and no matter that it ignores SIGTERM.
TEST(RunProbeWorker, StoppingKillsItAndAllThatItStarted) {
  const ScriptFolder folder;
  const ProbeJob job = ScriptJob(folder.Script(absl::StrCat(
      "trap '' TERM\nsleep 600 &\necho $! > ", folder.File("child"), "\necho $$ > ", folder.File("pid.new"), "\nmv ",
      folder.File("pid.new"), " ", folder.File("pid"), "\nwhile :; do sleep 1; done")));
  StopSwitch stop;
  ProbeEnd end;
  std::thread run([&] { end = RunProbeWorker(job, stop, nullptr); });
  EXPECT_TRUE(Eventually([&] { return !Contents(folder.File("pid")).empty(); }));
  int worker = 0, child = 0;
  EXPECT_TRUE(absl::SimpleAtoi(Contents(folder.File("pid")), &worker));
  EXPECT_TRUE(absl::SimpleAtoi(Contents(folder.File("child")), &child));
  EXPECT_TRUE(worker > 0 && child > 0 && IsAlive(worker) && IsAlive(child));
  stop.Stop();
  run.join();
  ASSERT_TRUE(worker > 0 && child > 0);
  EXPECT_EQ(end.result, ProbeResult::kCancelled);
  EXPECT_EQ(end.status.code(), absl::StatusCode::kCancelled);
  EXPECT_FALSE(IsAlive(worker));
  EXPECT_TRUE(Eventually([&] { return !IsAlive(child); }));
}

TEST(RunProbeWorker, ADeadlineTooShortForAProbeIsSaidAtOnce) {
  ProbeJob job = Job();
  job.most = absl::Seconds(3);
  EXPECT_EQ(Supervise(job).status.code(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace flightplan::service
