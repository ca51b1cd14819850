// Reads the shell script that launches a training, as far as that can be done without executing anything: variables,
// arrays, conditions, loops, functions, `export`, and a launcher (torchrun, srun, python, bash -c "...") in front of
// the script name. `$(...)`, backticks and unknown variables become arguments whose value is unknown, each with a note.
// A condition on a variable that is set nowhere is judged as if it were empty; of one that only a run would know, all
// branches are read. Both are noted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/plan/reading.h"
#include "resolver/shell/launches.h"

namespace flightplan {

inline constexpr size_t kMaxScriptBytes = size_t{1} << 20;
// In units of base/work.h: a tenth of a second. The dearest of the 956 scripts in Megatron-LM, Megatron-Bridge and
// LoongForge takes a sixteenth of it.
inline constexpr uint64_t kMaxScriptWork = uint64_t{1} << 26;

// The launch that is read, and what else the script has.
struct ShellLaunch : LaunchCommand {
  std::vector<LaunchCommand> others;       // launches of a training that are not this one, each once, in their order
  int others_left_out = 0;                 // more of them than are kept
  std::optional<int64_t> last_world_size;  // of the script's last launch, which may be this one
  std::vector<ParseFinding> findings;
  std::vector<std::string> wanted_files;  // that it sources and `files` does not hold
  std::optional<int> cut_at;              // where the rest of a launch stands as a command of its own
  std::string unread_module;              // "-m NAME" of a training that no stack is known to start so; or empty
  bool too_much_work = false;             // nothing else is known, and a finding says so
};

// `given` holds variables that the caller knows beside the script's own, and the script's arguments as 1, 2, ... and #.
// The last command that runs a Python file with flags is the launch; one with a training's flags before one without.
// `files`: texts by name of what it sources. What only a run would know of a name is left out: "models/a.sh" of
// `source "${SCRIPT_DIR}/models/a.sh"`.
// `wanted`: the ordinal of another launch that is to stand in the last one's place.
using SourcedFiles = std::map<std::string, std::string>;
ShellLaunch ReadShellLaunch(absl::string_view script, const EnvVars& given, const SourcedFiles& files = {},
                            std::optional<int> wanted = std::nullopt);

}  // namespace flightplan
