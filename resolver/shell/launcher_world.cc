#include "resolver/shell/launcher_world.h"

#include <algorithm>
#include <initializer_list>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "resolver/shell/launcher_flag.h"

namespace flightplan {
namespace {

constexpr int64_t kMaxCount = int64_t{1} << 24;

struct Count {
  bool written = false;
  int64_t number = 0;  // 0: it is no plain number
  bool assumed = false;
};

// srun's short options with the value right behind: -n16, -N2.
std::optional<LauncherFlag> FindGluedFlag(WordSpan words, absl::string_view name) {
  for (const ShellWord& word : words) {
    absl::string_view text = word.value.text;
    if (!absl::ConsumePrefix(&text, name) || text.empty()) continue;
    if (std::all_of(text.begin(), text.end(), absl::ascii_isdigit)) return LauncherFlag{text, &word.value};
  }
  return std::nullopt;
}

Count CountOf(WordSpan words, std::initializer_list<absl::string_view> names, absl::string_view glued = "") {
  std::optional<LauncherFlag> flag = FindLauncherFlag(words, names);
  if (!flag.has_value() && !glued.empty()) flag = FindGluedFlag(words, glued);
  if (!flag.has_value()) return {};
  int64_t number = 0;
  const bool plain = absl::SimpleAtoi(flag->text, &number) && number > 0 && number < kMaxCount;
  return {true, plain ? number : 0, flag->value->assumed};
}

}  // namespace

std::optional<LauncherWorld> ReadLauncherWorld(absl::Span<const ShellWord> launcher, const SlurmStep& step,
                                               const TorchrunDefaults& defaults) {
  Count processes = CountOf(launcher, {"--nproc-per-node", "--nproc_per_node"});
  const bool by_slurm = !processes.written;  // else srun starts launchers, which start the processes
  if (by_slurm) processes = CountOf(launcher, {"--ntasks-per-node"});
  const Count nodes = CountOf(launcher, {"--nnodes", "-N", "--nodes"}, step.srun ? "-N" : "");
  const Count tasks = CountOf(launcher, {"--ntasks", "-n"}, step.srun ? "-n" : "");
  if (by_slurm && tasks.number > 0 && (step.srun || !processes.written)) {
    return LauncherWorld{tasks.number, tasks.assumed, processes.number};
  }
  if (!processes.written) return std::nullopt;
  LauncherWorld world{std::nullopt, processes.assumed || nodes.assumed, processes.number};
  const int64_t unsaid = std::max<int64_t>(1, by_slurm ? step.nodes : defaults.nodes);
  const int64_t node_count = nodes.written ? nodes.number : unsaid;
  if (processes.number > 0 && node_count > 0) world.size = processes.number * node_count;
  return world;
}

}  // namespace flightplan
