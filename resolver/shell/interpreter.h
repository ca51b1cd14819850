// Walks through a shell script as a run would, without running anything: conditions whose answer is known take their
// branch, loops and functions are followed, and every command that is reached is handed on. Where only a run would know
// the answer, all branches are read, and a variable they disagree on becomes unknown.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "resolver/shell/words.h"

namespace flightplan {

// A command, behind its assignments and without its redirections.
struct ShellCommand {
  WordSpan words;            // of a builtin none: it is followed here
  TracedText here_document;  // of <<EOF, expanded, where the command runs it as a script; empty: none
  TracedText file;           // YAML or a script that its output goes to; empty: none
  // What a run writes there, of `cat > FILE <<EOF` and `tee FILE <<EOF` that are reached; nothing: only a run knows.
  std::optional<TracedText> written;
  bool append = false;
};

class ShellInterpreter {
 public:
  using Sink = std::function<void(const ShellCommand&)>;
  // The text of a sourced file; null: it is not there.
  using Files = std::function<const std::string*(const std::string& name)>;

  // `every_branch`: no condition is judged.
  ShellInterpreter(ShellState* state, Sink sink, Files files, bool every_branch)
      : state_(*state), sink_(std::move(sink)), files_(std::move(files)), every_branch_(every_branch) {}

  // Reads a script, or one inside the script that is being read: `bash -c "..."`, eval.
  void Run(TracedText script);

 private:
  // Whether what is read is reached. kAssumed: if what is set nowhere is not set in the run either; then a script that
  // asks for it and exits is read on. kDoubtful: only a run would know.
  enum class Mode { kReached, kAssumed, kDoubtful, kSkipped };
  enum class Jump { kNone, kBreak, kContinue, kReturn, kExit };
  using Status = std::optional<bool>;  // whether a command succeeds, where that is known
  using Stops = absl::Span<const absl::string_view>;
  using Reader = Status (ShellInterpreter::*)(ShellScanner* scanner, Mode mode);
  using Builtin = Status (ShellInterpreter::*)(WordSpan words, Mode mode);
  struct Place {
    const TracedText* script;
    size_t at;
  };
  struct Words;

  // Counts how deep it goes while it lives; too deep, the rest of the text is left out.
  class Deeper {
   public:
    Deeper(ShellInterpreter* reader, ShellScanner* scanner);
    ~Deeper() { --reader_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    ShellInterpreter& reader_;
  };

  void NoteTooDeep(int offset);
  // Whether a script inside this one, of so many bytes, is to be copied and run: false, and noted, where it is too deep
  // or too much was read.
  bool MayRun(size_t bytes, int offset);

  // ---- interpreter.cc: lists and commands. Each reads from its first byte to behind its last.
  Status ReadList(ShellScanner* scanner, Mode mode, Stops stops);  // up to a stop, which is left
  Status ReadUpTo(ShellScanner* scanner, Mode mode, absl::string_view closing);
  Status ReadAndOr(ShellScanner* scanner, Mode mode);
  Status ReadPipeline(ShellScanner* scanner, Mode mode);
  Status ReadCommand(ShellScanner* scanner, Mode mode);
  Status ReadApart(ShellScanner* scanner, Mode mode);  // a command, in a shell of its own
  Status Apart(absl::FunctionRef<Status()> read);      // what is read so changes neither variables nor where it goes on
  Status ReadSubshell(ShellScanner* scanner, Mode mode);
  Status ReadGroup(ShellScanner* scanner, Mode mode);
  static Reader CompoundAt(const ShellScanner& scanner);  // null: none begins here

  // The mode of what hangs on a condition that is met in `mode`.
  Mode Under(Mode mode, Status condition, bool assumed) const;
  Mode UnlessJumped(Mode mode) const { return jump_ == Jump::kNone ? mode : Mode::kSkipped; }
  static bool IsSure(Mode mode) { return mode == Mode::kReached || mode == Mode::kAssumed; }
  void EndJump(Jump jump) { jump_ = jump_ == jump ? Jump::kNone : jump_; }
  // Counts work. False: the script has had its share, and the rest of the text is left out.
  bool Spend(ShellScanner* scanner, size_t bytes);
  bool SpendSince(ShellScanner* scanner, size_t begin);

  // ---- control.cc: conditions, and what hangs on them; functions' bodies.
  Status ReadIf(ShellScanner* scanner, Mode mode);
  Status ReadCase(ShellScanner* scanner, Mode mode);
  TracedText ReadCaseWord(ShellScanner* scanner, Mode mode);
  bool ReadCasePatterns(ShellScanner* scanner, Mode mode, absl::string_view word);
  Status ReadFor(ShellScanner* scanner, Mode mode);
  Status ReadCountedFor(ShellScanner* scanner, Mode mode);
  std::optional<ShellWords> ReadForItems(ShellScanner* scanner, Mode mode);
  Status ReadWhile(ShellScanner* scanner, Mode mode);
  static absl::string_view ReadDo(ShellScanner* scanner);  // do or {; what closes the body
  // One round of a loop whose body begins at `body`. False: no other follows.
  bool ReadRound(ShellScanner* scanner, size_t body, Mode mode, absl::string_view closing);
  void NoteUndecided(const ShellScanner& scanner, size_t begin, size_t end);
  // A condition's list up to `closing`; what it says, and in which mode what hangs on it is read.
  Mode ReadCondition(ShellScanner* scanner, Mode mode, absl::string_view closing, bool negated, Status* status);
  Status ReadTest(ShellScanner* scanner, Mode mode);
  void SkipTest(ShellScanner* scanner, bool patterns);
  Status ReadArithmetic(ShellScanner* scanner, Mode mode);
  bool ReadFunction(ShellScanner* scanner, Mode mode);  // false: none begins here, and nothing was read

  // ---- simple.cc: commands of words.
  Status ReadSimple(ShellScanner* scanner, Mode mode);
  Status SkipSimple(ShellScanner* scanner);
  Words ReadWords(ShellScanner* scanner);
  void Declare(const Words& words);
  Status RunWords(const Words& read, ShellScanner* scanner, Mode mode);
  bool ChangesVariables(const ShellScanner& scanner) const;  // the simple command here, of the shell it runs in
  // It does, or a compound command stands here, but in a shell of its own: | or & follows.
  bool RunsInSubshell(const ShellScanner& scanner);
  void Call(const Place& function, WordSpan words, Mode mode);

  // ---- builtins.cc: the shell's own commands.
  static Builtin FindBuiltin(absl::string_view name);  // null: it is none
  Status Leave(WordSpan words, Mode mode);
  Status Succeed(WordSpan words, Mode mode);
  Status Let(WordSpan words, Mode mode);
  Status Print(WordSpan words, Mode mode);
  Status Fail(WordSpan words, Mode mode);
  Status Source(WordSpan words, Mode mode);
  Status Unset(WordSpan words, Mode mode);
  Status Set(WordSpan words, Mode mode);
  Status Shift(WordSpan words, Mode mode);
  Status ReadInput(WordSpan words, Mode mode);
  Status ReadFields(WordSpan words, ShellScanner* scanner);  // read NAME... <<< TEXT, read NAME... <<EOF
  Status Eval(WordSpan words, Mode mode);

  ShellState& state_;
  const Sink sink_;
  const Files files_;
  const bool every_branch_;
  std::deque<TracedText> scripts_;                 // they hold the functions' bodies
  absl::flat_hash_set<const TracedText*> piping_;  // those where | or & may follow a compound command
  std::map<std::string, Place, std::less<>> functions_;
  Jump jump_ = Jump::kNone;
  int jumped_loops_ = 0;  // break 2: how many loops are still to be left
  int loops_ = 0;         // around what is read
  bool ran_ = false;      // the last command was no condition, but a program or a function
  int depth_ = 0;
  size_t spent_ = 0;
};

}  // namespace flightplan
