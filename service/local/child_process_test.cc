// What a program that is started sees and may print, and that it ends with whoever started it.
#include "service/local/child_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "service/local/child_test_util.h"

namespace flightplan::service {
namespace {

// The parent-death signal: a server that is killed leaves no worker on the GPU.
TEST(RunChild, DiesWithItsParent) {
  const ScriptFolder folder;
  const std::string script =
      folder.Script(absl::StrCat("echo $$ > ", folder.File("pid.new"), "; mv ", folder.File("pid.new"), " ",
                                 folder.File("pid"), "; trap '' TERM; while :; do sleep 1; done"));
  const pid_t parent = fork();
  if (parent == 0) {
    const StopSwitch stop;
    RunChild({script}, {.run = absl::Minutes(10)}, stop, [](absl::string_view) { return true; });
    _exit(0);
  }
  ASSERT_TRUE(Eventually([&] { return !Contents(folder.File("pid")).empty(); }));
  int worker = 0;
  ASSERT_TRUE(absl::SimpleAtoi(Contents(folder.File("pid")), &worker));
  ASSERT_TRUE(IsAlive(worker));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_TRUE(Eventually([&] { return !IsAlive(worker); }));
}

TEST(RunChild, SeesNoneOfOurDescriptorsAndSecrets) {
  setenv("FLIGHTPLAN_TOKEN", "secret", 1);
  // Without close-on-exec; beyond those that a shell opens for itself.
  const int leaked = fcntl(STDIN_FILENO, F_DUPFD, 100);
  const ScriptFolder folder;
  std::string out;
  const StopSwitch stop;
  RunChild({folder.Script("ls /proc/$$/fd | tr '\\n' ' '; echo; env | grep -c FLIGHTPLAN_")}, {.run = absl::Minutes(1)},
           stop, [&](absl::string_view line) {
             absl::StrAppend(&out, line, "\n");
             return true;
           });
  close(leaked);
  unsetenv("FLIGHTPLAN_TOKEN");
  EXPECT_FALSE(absl::StrContains(out, absl::StrCat(" ", leaked, " "))) << out;
  EXPECT_TRUE(absl::EndsWith(out, "\n0\n")) << out;
}

TEST(RunChild, SeesOnlyTheVariablesThatAGpuProgramNeeds) {
  const std::vector<std::string> hidden = {
      "PGPASSWORD",     "PGPASSFILE", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN",
      "NVIDIA_API_KEY", "CUDA_TOKEN", "DATABASE_URL",          "FLIGHTPLAN_EVIDENCE_STORE"};
  const std::vector<std::string> seen = {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "NCCL_DEBUG", "TMPDIR"};
  std::map<std::string, std::optional<std::string>> before;
  for (const auto* names : {&hidden, &seen}) {
    for (const std::string& name : *names) {
      const char* value = getenv(name.c_str());
      before[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
      setenv(name.c_str(), "/tmp", 1);
    }
  }
  std::set<std::string> names;
  const StopSwitch stop;
  const ChildEnd end = RunChild({"/usr/bin/env"}, {.run = absl::Seconds(30)}, stop, [&](absl::string_view line) {
    names.emplace(line.substr(0, line.find('=')));
    return true;
  });
  for (const auto& [name, value] : before) {
    if (value.has_value()) setenv(name.c_str(), value->c_str(), 1);
    if (!value.has_value()) unsetenv(name.c_str());
  }
  EXPECT_EQ(end.why, ChildEnd::Why::kExited) << end.detail;
  for (const std::string& name : hidden) EXPECT_EQ(names.count(name), 0u) << name;
  for (const std::string& name : seen) EXPECT_EQ(names.count(name), 1u) << name;
  EXPECT_EQ(names.count("PATH"), 1u);
}

TEST(RunChild, BoundsALineAndTheOutput) {
  const ScriptFolder folder;
  const StopSwitch stop;
  const auto run = [&](const std::string& script, const ChildLimits& limits) {
    return RunChild({folder.Script(script)}, limits, stop, [](absl::string_view) { return true; });
  };
  ChildLimits limits{.run = absl::Minutes(1)};
  limits.line_bytes = 10;
  EXPECT_EQ(run("echo 0123456789", limits).why, ChildEnd::Why::kExited);
  EXPECT_EQ(run("echo 01234567890; sleep 60", limits).why, ChildEnd::Why::kTooMuch);
  limits.output_bytes = 22;
  EXPECT_EQ(run("echo 0123456789; echo 0123456789", limits).why, ChildEnd::Why::kExited);
  EXPECT_EQ(run("echo 0123456789; echo 0123456789; echo; sleep 60", limits).why, ChildEnd::Why::kTooMuch);
}

}  // namespace
}  // namespace flightplan::service
