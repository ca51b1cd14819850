// For tests that start programs and look at what becomes of them.
#pragma once

#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/support/temporary_folder.h"

namespace flightplan::service {

class ScriptFolder : public TemporaryFolder {
 public:
  // An executable shell script.
  std::string Script(const std::string& text) const {
    std::string path = File("worker");
    std::ofstream(path) << "#!/bin/sh\n" << text;
    chmod(path.c_str(), 0755);
    return path;
  }
};

inline std::string Contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Until the condition holds, or the time is over: then the test fails by its own check.
template <class Condition>
bool Eventually(Condition&& condition) {
  for (int i = 0; i < 1000; ++i) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return false;
}

inline bool IsAlive(int pid) {
  if (kill(pid, 0) != 0) return false;
  const std::string stat = Contents(absl::StrCat("/proc/", pid, "/stat"));
  return !stat.empty() && !absl::StrContains(stat, ") Z");
}

}  // namespace flightplan::service
