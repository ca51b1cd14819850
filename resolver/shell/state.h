// The state of a shell script while it is read: its variables, its exports, and the reader's notes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/plan/reading.h"

namespace flightplan {

inline constexpr size_t kMaxExpandedBytes = size_t{1} << 18;  // of one variable or word
inline constexpr size_t kShellWordCosts = 64;     // in units of base/work.h, beside its bytes: to read, make or copy it
inline constexpr size_t kShellLookupCosts = 128;  // to look for a variable among many thousands
inline constexpr size_t kShellVariableCosts = 512;  // one more variable: its name, its place in a map, and their end
// Exported ones that are read: as many as a question may state. A repair copies them for every change that it tries.
inline constexpr size_t kMaxShellExports = 1024;
// What a finding about the script as such points at: upstream's own reading of the command line.
inline constexpr absl::string_view kScriptSource = "Megatron-LM:megatron/training/arguments.py:117";

// Text whose every byte knows where in the script it was written; -1 for bytes that came from outside.
struct TracedText {
  std::string text;
  std::vector<int> offsets;
  // Parts whose text is only the spelling of what a run would put there, one behind the other.
  struct Part {
    size_t begin = 0, end = 0;
  };
  std::vector<Part> unknown_parts;
  bool unset = false;    // unknown for no other reason than a variable that is not set: the text is its reference
  bool assumed = false;  // the default in ${NAME:-default} of a variable that is not known
  bool many = false;     // an unquoted $(...) alone: as many words as a run makes of it

  static TracedText FromScript(absl::string_view script);
  static TracedText FromOutside(absl::string_view text);
  bool unknown() const { return !unknown_parts.empty(); }
  // All of it is what one reference puts there.
  bool IsOneReference() const {
    return unknown_parts.size() == 1 && unknown_parts[0].begin == 0 && unknown_parts[0].end == text.size();
  }
  void MarkUnknown() { unknown_parts = {{0, text.size()}}; }
  void Add(char c, int offset);
  void AddRange(const TracedText& other, size_t begin, size_t end);
  void Append(const TracedText& other);
  int FirstOffset(int otherwise) const;  // of the first byte that the script holds
};

struct ShellWord {
  TracedText value;
  int offset = 0;  // of its first byte in the script
};
using ShellWords = std::vector<ShellWord>;
using WordSpan = absl::Span<const ShellWord>;

// The environment of a process that the script starts, beside what its caller says of it.
struct ShellEnvironment {
  EnvVars vars;                                // whose value is known
  std::set<std::string, std::less<>> unset;    // of the caller's variables those that the process does not have
  std::set<std::string, std::less<>> unknown;  // that it may have, with a value that only a run would know
  bool elsewhere = false;                      // it has others that only a run would know
};

// What a script has said so far; the scripts inside it (bash -c "...") go on with it.
class ShellState {
  using Variables = absl::node_hash_map<std::string, ShellWords>;  // what was found stays where it is
  using Names = std::set<std::string, std::less<>>;
  struct Kept {
    Variables variables;
    Names exported, unsure, integers;
    bool export_all = false, elsewhere = false;
    int environment_version = 0;
  };

 public:
  // `findings` receives the notes (an offset in place of the line). What is given comes from the script's own
  // environment, and so is exported.
  ShellState(const EnvVars& given, std::vector<ParseFinding>* findings);

  void Note(int offset, absl::string_view rule_id, Severity severity, std::string seen, std::string needs);
  void NotJudged(int offset, absl::string_view text, std::string needs);  // noted once for each spelling

  // A script's own arguments are variables named 1, 2, ... and # for their number, where the caller knows them; all of
  // them are @, and so is *.
  const ShellWords* Find(absl::string_view name) const;  // one item unless it is an array; null: not set
  static ShellWords Copy(const ShellWords& items);       // counted as work
  void Set(const std::string& name, ShellWords items, int offset);
  void Append(const std::string& name, ShellWords items, bool array, int offset);     // NAME+=...
  void SetNumber(const std::string& name, std::optional<int64_t> value, int offset);  // nothing: not known
  void SetUnknown(const std::string& name, int offset);
  static bool IsUnknownAsAWhole(absl::string_view name, const ShellWords& items);  // how many there are too
  // How many items stand where they seem to: those in front of one that stands for many.
  static size_t KnownItems(absl::string_view name, const ShellWords& items);
  static bool StandsForMany(const TracedText& word);  // one word, or none, or several: the items of such an array
  void Unset(const std::string& name);
  void UnsetItem(const std::string& name, absl::string_view subscript, int offset);  // of an array
  void ForgetItems(const std::string& name, int offset);  // those that are kept as variables NAME[key]
  void Forget(const std::string& name);                   // its value, not whether it is exported: `local NAME`

  // ---- what processes get of the variables.
  void Export(const std::string& name);
  void KeepBack(const std::string& name);                   // export -n
  void set_export_all(bool all) { export_all_ = all; }      // set -a: whatever is assigned from now on
  void ExportUnknownNames();                                // export $(cat FILE)
  void set_integer(const std::string& name, bool integer);  // declare -i
  bool IsInteger(const std::string& name) const { return integers_.contains(name); }
  std::optional<TracedText> Exported(const std::string& name) const;  // its value; nothing: it is not exported
  void NoteTooManyExports();
  ShellEnvironment Environment();                                   // counted as work
  int environment_version() const { return environment_version_; }  // another one wherever that may be another one
  void ForgetUnexported();                                          // as a script does that another one starts
  bool LeftOutside(absl::string_view name) const { return left_outside_.contains(name); }  // it is one of those
  // Nothing is exported any more; `elsewhere`: but what only a run would know.
  void ClearEnvironment(bool elsewhere);

  // What is exported only where a condition holds of which only a run would know is certain up to where that ends, and
  // unknown behind it.
  class Doubt {
   public:
    Doubt(ShellState* state, bool doubtful)
        : state_(doubtful ? state : nullptr), begin_(state->exported_in_doubt_.size()) {
      if (doubtful) ++state->doubts_;
    }
    ~Doubt() {
      if (state_ != nullptr) state_->EndDoubt(begin_);
    }
    Doubt(const Doubt&) = delete;
    Doubt& operator=(const Doubt&) = delete;

   private:
    ShellState* const state_;
    const size_t begin_;
  };

  // Variables that are made local between EnterScope and LeaveScope are afterwards what they were before. Outside of
  // any scope, Localize does nothing.
  void EnterScope() { scopes_.emplace_back(); }
  void Localize(const std::string& name);
  void LeaveScope();

  bool InScope() const { return !scopes_.empty(); }

  // One variable, for a command that has it set in front of it.
  struct Saved {
    std::optional<ShellWords> items;
    bool exported = false, unsure = false, integer = false;
  };
  Saved Save(const std::string& name) const;
  void PutBack(const std::string& name, Saved saved);

  // What a shell inside does to variables is gone with it: while this lives, it is that shell's. To keep the outer ones
  // is counted as work.
  class Inside {
   public:
    explicit Inside(ShellState* state) : state_(*state), outside_(state->Keep()) {}
    ~Inside() { state_.Restore(std::move(outside_)); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    ShellState& state_;
    Kept outside_;
  };

  // While it is not known whether what is read is ever reached, a variable that already has another value becomes
  // unknown instead of changing.
  void set_doubtful(bool doubtful) { doubtful_ = doubtful; }

  // Conditions are not judged: each branch is read, and each loop once.
  void set_every_branch(bool every) { every_branch_ = every; }
  bool every_branch() const { return every_branch_; }

  // In a condition, a variable that is set nowhere counts as empty, as in a run in just this environment. What rested
  // on that since the last call is told, and noted.
  void set_assume_unset(bool assume) { assume_unset_ = assume; }
  bool assume_unset() const { return assume_unset_; }
  void AssumedUnset(int offset, absl::string_view reference);
  bool TakeAssumption() { return std::exchange(assumption_, false); }

  // What unquoted values are split at: IFS, and the carriage returns of a script from Windows beside its blanks.
  std::string FieldSeparators() const;

  // The text of a file that is sent beside the script; null: it is not there.
  using Files = std::function<const std::string*(const std::string& name)>;
  void set_files(Files files) { files_ = std::move(files); }
  const std::string* FileNamed(const std::string& name) const { return files_ ? files_(name) : nullptr; }

  // Counts what references stand for: false when all together have become too long.
  bool CountExpansion(const ShellWords& values);
  void NoteEndlessExpansion(int offset);

 private:
  Kept Keep() const;
  void Restore(Kept kept);
  std::pair<ShellWords*, bool> Variable(const std::string& name);  // true: a new one, since there was none
  void EndDoubt(size_t begin);
  void Changed(const std::string& name, ShellWords* items, int offset);

  const EnvVars given_;
  Files files_;
  std::vector<ParseFinding>* const findings_;
  Variables variables_;
  std::vector<std::map<std::string, Saved>> scopes_;  // what local variables were outside
  Names exported_;
  Names unsure_;  // of the exported ones those that may not be
  Names integers_;
  std::vector<std::string> exported_in_doubt_;
  int doubts_ = 0;
  int environment_version_ = 0;
  absl::flat_hash_set<std::string> noted_;
  absl::flat_hash_set<std::string> left_outside_;
  size_t expanded_ = 0;
  bool export_all_ = false, elsewhere_ = false;
  bool limit_noted_ = false, exports_noted_ = false, doubtful_ = false, assume_unset_ = false, assumption_ = false,
       every_branch_ = false;
};

// While it lives, what is set nowhere counts as empty.
class AssumingUnset {
 public:
  explicit AssumingUnset(ShellState* state) : state_(*state) { state_.set_assume_unset(true); }
  ~AssumingUnset() { state_.set_assume_unset(false); }
  AssumingUnset(const AssumingUnset&) = delete;
  AssumingUnset& operator=(const AssumingUnset&) = delete;

 private:
  ShellState& state_;
};

}  // namespace flightplan
