// Walks through a shell script as a run would, without running anything: conditions whose answer is known take their
// branch, loops and functions are followed, and every command that is reached is handed on. Where only a run would know
// the answer, all branches are read, and a variable they disagree on becomes unknown.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "resolver/render/shell_words.h"

namespace flightplan {

// A command, behind its assignments and without its redirections.
struct ShellCommand {
  WordSpan words;
  TracedText here_document;  // of <<EOF; empty: none
};

class ShellInterpreter {
 public:
  using Sink = std::function<void(const ShellCommand&)>;

  // `every_branch`: no condition is judged.
  ShellInterpreter(ShellState* state, Sink sink, bool every_branch)
      : state_(*state), sink_(std::move(sink)), every_branch_(every_branch) {}

  // Reads a script, or one inside the script that is being read: `bash -c "..."`, eval.
  void Run(const TracedText& script);

 private:
  // Whether what is read is reached. kAssumed: if what is set nowhere is not set in the run either; then a script that
  // asks for it and exits is read on. kDoubtful: only a run would know.
  enum class Mode { kReached, kAssumed, kDoubtful, kSkipped };
  enum class Jump { kNone, kBreak, kReturn, kExit };
  using Status = std::optional<bool>;  // whether a command succeeds, where that is known
  using Stops = absl::Span<const absl::string_view>;
  struct Place {
    const TracedText* script;
    size_t at;
  };
  class Deeper;

  Status ReadList(ShellScanner* scanner, Mode mode, Stops stops);
  Status ReadAndOr(ShellScanner* scanner, Mode mode);
  Status ReadPipeline(ShellScanner* scanner, Mode mode);
  Status ReadCommand(ShellScanner* scanner, Mode mode);
  Status ReadSimple(ShellScanner* scanner, Mode mode);
  Status SkipSimple(ShellScanner* scanner);
  Status ReadTest(ShellScanner* scanner, Mode mode, absl::string_view opening);
  Status ReadArithmetic(ShellScanner* scanner, Mode mode);
  void ReadIf(ShellScanner* scanner, Mode mode);
  void ReadCase(ShellScanner* scanner, Mode mode);
  void ReadFor(ShellScanner* scanner, Mode mode);
  void ReadWhile(ShellScanner* scanner, Mode mode, bool until);
  bool ReadFunction(ShellScanner* scanner, Mode mode);
  void ReadBody(ShellScanner* scanner, Mode mode, absl::string_view closing);
  // A condition's list up to `stop`; what it says, and in which mode what hangs on it is read.
  Mode ReadCondition(ShellScanner* scanner, Mode mode, Stops stops, bool negated, Status* status);
  Mode Under(Mode mode, Status condition, bool assumed) const;

  // The shell's own commands; false: it is none of them.
  bool RunBuiltin(WordSpan words, Mode mode, Status* status);
  void Call(const Place& function, WordSpan words, Mode mode);
  void SetArguments(WordSpan words);
  void JumpBy(absl::string_view command, Mode mode);
  bool Spend(ShellScanner* scanner, size_t bytes);

  ShellState& state_;
  const Sink sink_;
  const bool every_branch_;
  std::deque<TracedText> scripts_;  // they hold the functions' bodies
  std::map<std::string, Place, std::less<>> functions_;
  Jump jump_ = Jump::kNone;
  bool ran_ = false;  // the last command was no condition, but a program or a function
  int depth_ = 0;
  size_t spent_ = 0;
};

}  // namespace flightplan
