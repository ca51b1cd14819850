#include "resolver/shell/launches.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "resolver/base/work.h"
#include "resolver/plan/tuning_variable.h"

namespace flightplan {
namespace {

// Names of runs, ports of rendezvous and folders of logs differ from round to round, and nothing is judged by them.
bool IsSameTuning(const EnvVars& a, const EnvVars& b) {
  const auto skip = [](EnvVars::const_iterator at, const EnvVars& vars) {
    while (at != vars.end() && (!IsTuningVariable(at->first) || at->first == "MASTER_PORT")) ++at;
    return at;
  };
  Work::Spend(64 * (a.size() + b.size()));
  auto left = skip(a.begin(), a), right = skip(b.begin(), b);
  while (left != a.end() && right != b.end() && *left == *right) {
    left = skip(std::next(left), a);
    right = skip(std::next(right), b);
  }
  return left == a.end() && right == b.end();
}

}  // namespace

bool IsSameLaunch(const LaunchCommand& a, const LaunchCommand& b) {
  const auto same = [](const Argument& x, const Argument& y) {
    Work::Spend(8 + x.text.size() / 8);
    return x.text == y.text;
  };
  return a.script == b.script && a.world_size == b.world_size && absl::c_equal(a.args, b.args, same) &&
         IsSameTuning(a.vars, b.vars) && a.written_files == b.written_files;
}

bool OtherLaunches::Merge(const LaunchCommand& gone, LaunchCommand* same) const {
  if (!IsSameLaunch(gone, *same)) return false;
  if (gone.ordinal == wanted_) same->ordinal = gone.ordinal;
  return true;
}

void OtherLaunches::Keep(LaunchCommand before, LaunchCommand* last) {
  if (Merge(before, last)) return;
  for (LaunchCommand& kept : kept_) {
    if (Merge(before, &kept)) return;
  }
  if (kept_.size() >= kMaxOtherLaunches && before.ordinal != wanted_) {
    ++left_out_;
    return;
  }
  kept_.push_back(std::move(before));
}

std::vector<LaunchCommand> OtherLaunches::Take(LaunchCommand* last) {
  kept_.erase(
      std::remove_if(kept_.begin(), kept_.end(), [this, last](const LaunchCommand& kept) { return Merge(kept, last); }),
      kept_.end());
  return std::move(kept_);
}

}  // namespace flightplan
