// Reads the shell script that launches a training, as far as that can be done without executing anything: variables,
// arrays, conditions, loops, functions, `export`, and a launcher (torchrun, srun, python, bash -c "...") in front of
// the script name. `$(...)`, backticks and unknown variables become arguments whose value is unknown, each with a note.
// A condition on a variable that is set nowhere is judged as if it were empty; of one that only a run would know, all
// branches are read. Both are noted.
#pragma once

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

inline constexpr size_t kMaxScriptBytes = size_t{1} << 20;
// In units of base/work.h: a tenth of a second. The dearest of the 956 scripts in Megatron-LM, Megatron-Bridge and
// LoongForge takes a sixteenth of it.
inline constexpr uint64_t kMaxScriptWork = uint64_t{1} << 26;

struct ShellLaunch {
  std::string script;          // the Python file it runs, as written, or a stack's command, "megatron sft"; empty: none
  std::vector<Argument> args;  // behind the file's name, or from the command's second word on; with their places
  EnvVars vars;                // what the script exports or sets in front of the command
  std::set<std::string, std::less<>> unset_vars;    // of those that are given, what the command does not have
  std::set<std::string, std::less<>> unknown_vars;  // that it may have, with a value that only a run would know
  bool vars_elsewhere = false;                      // it has others that only a run would know
  std::optional<int64_t> world_size;   // from the launcher's own flags: --nnodes * --nproc-per-node, srun --ntasks
  int64_t node_processes = 0;          // of those the ones of a node; 0: not said
  bool world_size_assumed = false;     // it rests on a default, as in ${NNODES:-1}, of a variable that is not known
  CpuBinding cpu_binding;              // the launcher's
  std::vector<SourcePosition> others;  // launches of a training with other words, which are not this one
  SourcePosition at;
  std::vector<ParseFinding> findings;
  std::vector<std::string> wanted_files;  // that it sources and `files` does not hold
  // YAML that it writes as here-documents, by its plain name; of what only a run would know there stands
  // "${not_known}".
  std::map<std::string, std::string> written_files;
  bool too_much_work = false;  // nothing else is known, and a finding says so
};

// `given` holds variables that the caller knows beside the script's own, and the script's arguments as 1, 2, ... and #.
// The last command that runs a Python file with flags is the launch; one with a training's flags before one without.
// `files`: texts by name of what it sources. What only a run would know of a name is left out: "models/a.sh" of
// `source "${SCRIPT_DIR}/models/a.sh"`.
using SourcedFiles = std::map<std::string, std::string>;
ShellLaunch ReadShellLaunch(absl::string_view script, const EnvVars& given, const SourcedFiles& files = {});

}  // namespace flightplan
