// The launches of a training that the reader of a script meets, each with what it would run in and on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/cpu_binding.h"
#include "resolver/plan/reading.h"

namespace flightplan {

// What a launcher's words say; those of shells around it hold for what is launched in them.
struct LauncherFacts {
  std::optional<int64_t> world_size;  // its own flags: --nnodes * --nproc-per-node, srun --ntasks
  std::optional<int64_t> job_gpus;    // of a job that the script submits, whose script holds the launch
  int64_t node_processes = 0;         // of those the ones of a node; 0: not said
  bool world_size_assumed = false;    // it rests on a default, as in ${NNODES:-1}, of a variable that is not known
  CpuBinding cpu_binding;
};

struct LaunchCommand : LauncherFacts {
  std::string script;          // the Python file it runs, as written, or a stack's command, "megatron sft"; empty: none
  std::vector<Argument> args;  // behind the file's name, or from the command's second word on; with their places
  EnvVars vars;                // what the script exports or sets in front of the command
  std::set<std::string, std::less<>> unset_vars;    // of those that are given, what the command does not have
  std::set<std::string, std::less<>> unknown_vars;  // that it may have, with a value that only a run would know
  bool vars_elsewhere = false;                      // it has others that only a run would know
  // YAML that the script has written by then as here-documents, by its plain name; of what only a run would know there
  // stands "${not_known}".
  std::map<std::string, std::string> written_files;
  SourcePosition at;
  int ordinal = 0;  // among all that the reader met, from 0; a repair of the words around it leaves it as it is
};

// Whether two launches are judged alike: the same words, size and variables that tune a run. Counted as work.
bool IsSameLaunch(const LaunchCommand& a, const LaunchCommand& b);

// Launches beside the one that is judged of which each is judged, too.
inline constexpr size_t kMaxOtherLaunches = 15;

class OtherLaunches {
 public:
  // `wanted`: the ordinal of the one that is to be found again, whichever it is the same as.
  explicit OtherLaunches(std::optional<int> wanted) : wanted_(wanted) {}

  // Before `last` took the place of `before`.
  void Keep(LaunchCommand before, LaunchCommand* last);
  void Forget() { kept_.clear(), left_out_ = 0; }
  // In the script's order, without those that are the same as `last`.
  std::vector<LaunchCommand> Take(LaunchCommand* last);
  int left_out() const { return left_out_; }
  bool wants(int ordinal) const { return wanted_ == ordinal; }

 private:
  bool Merge(const LaunchCommand& gone, LaunchCommand* same) const;

  const std::optional<int> wanted_;
  std::vector<LaunchCommand> kept_;
  int left_out_ = 0;
};

}  // namespace flightplan
