#include "service/local/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace flightplan::service {
namespace {

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

int64_t MachineMemory() {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? pages * page : kNoLimit;
}

// "max" and a file that is not there are no limit.
int64_t LimitIn(const std::string& file) {
  std::string text;
  int64_t limit = 0;
  if (!std::getline(std::ifstream(file), text) || !absl::SimpleAtoi(text, &limit) || limit <= 0) return kNoLimit;
  return limit;
}

// Of a group and of all that it is in. A container sees its own group as the root, whatever it reads of its path.
int64_t LimitOf(const std::string& root, std::string group, const char* name) {
  int64_t least = kNoLimit;
  while (true) {
    least = std::min(least, LimitIn(absl::StrCat(root, group, "/", name)));
    if (group.empty()) return least;
    group.resize(group.find_last_of('/') == std::string::npos ? 0 : group.find_last_of('/'));
  }
}

}  // namespace

int64_t MemoryLimit(const std::string& own_groups, const std::string& groups) {
  int64_t least = MachineMemory();
  std::ifstream file(own_groups);
  for (std::string line; std::getline(file, line);) {
    // "0::/system.slice/flightplan.service", or "5:memory:/docker/..." of the first version.
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (parts[1].empty()) least = std::min(least, LimitOf(groups, parts[2], "memory.max"));
    if (parts[1] == "memory") {
      least = std::min(least, LimitOf(absl::StrCat(groups, "/memory"), parts[2], "memory.limit_in_bytes"));
    }
  }
  return least;
}

}  // namespace flightplan::service
