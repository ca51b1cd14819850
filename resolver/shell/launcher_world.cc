#include "resolver/shell/launcher_world.h"

#include <initializer_list>

#include "absl/strings/numbers.h"
#include "resolver/shell/launcher_flag.h"

namespace flightplan {
namespace {

constexpr int64_t kMaxCount = int64_t{1} << 24;

struct Count {
  bool written = false;
  int64_t number = 0;  // 0: it is no plain number
  bool assumed = false;
};

Count CountOf(WordSpan words, std::initializer_list<absl::string_view> names) {
  const std::optional<LauncherFlag> flag = FindLauncherFlag(words, names);
  if (!flag.has_value()) return {};
  int64_t number = 0;
  const bool plain = absl::SimpleAtoi(flag->text, &number) && number > 0 && number < kMaxCount;
  return {true, plain ? number : 0, flag->value->assumed};
}

}  // namespace

std::optional<LauncherWorld> ReadLauncherWorld(absl::Span<const ShellWord> launcher) {
  const Count processes = CountOf(launcher, {"--nproc-per-node", "--nproc_per_node", "--ntasks-per-node"});
  const Count nodes = CountOf(launcher, {"--nnodes", "-N", "--nodes"});
  const Count tasks = CountOf(launcher, {"--ntasks", "-n"});
  if (!processes.written) {
    if (tasks.number == 0) return std::nullopt;
    return LauncherWorld{tasks.number, tasks.assumed, 0};
  }
  LauncherWorld world{std::nullopt, processes.assumed || nodes.assumed, processes.number};
  const int64_t node_count = nodes.written ? nodes.number : 1;
  if (processes.number > 0 && node_count > 0) world.size = processes.number * node_count;
  return world;
}

}  // namespace flightplan
