// Whose launch or configuration a text is: the stack of a question that names none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "resolver/plan/environment.h"

namespace flightplan {

// What a text launches.
struct ShownLaunch {
  // Why there is nothing to judge.
  struct Nothing {
    std::string why;
    bool unread = false;  // it may be a training, and a limit kept it from being read
    bool maybe = false;   // flags, or YAML with keys that Megatron-LM knows: Megatron-LM's, if nobody says otherwise
  };

  std::optional<Target> stack;
  std::optional<int64_t> launched;  // processes that its launcher starts
  bool size_assumed = false;        // `launched` rests on a default of the script
  std::optional<Nothing> nothing;   // set where `stack` is not, or where the stack's file is of no training
};

// Tells the stack by the program that a script runs, by its flags, or by the keys of a YAML file. `stated`: the
// caller's word on the stack, which stands. Nothing is executed.
ShownLaunch ReadShownLaunch(absl::string_view name, const std::string& text, const EnvVars& vars,
                            std::optional<Target> stated);
// Of a file alone, whose own #SBATCH lines are all that is known of its job.
ShownLaunch ReadShownLaunch(absl::string_view name, const std::string& text, EnvVars vars);

}  // namespace flightplan
