// The state of a shell script while it is read: its variables, its exports, and the reader's notes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

  static TracedText FromScript(absl::string_view script);
  static TracedText FromOutside(absl::string_view text);
  bool unknown() const { return !unknown_parts.empty(); }
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

// What a script exports; and what of it stood at the launch that counts, although most launches that are met do not:
// what a mark costs is no more than what was exported since the last one.
class ShellExports {
 public:
  bool Set(const std::string& name, std::string value);  // false: one more than kMaxShellExports
  void Mark();                                           // what is exported from now on comes too late
  EnvVars TakeMarked();                                  // as of the last mark; there was none: as of now

 private:
  EnvVars vars_;
  // What those that changed since the mark were then; nothing: they were not there.
  std::map<std::string, std::optional<std::string>> before_;
  bool marked_ = false;
};

// What a script has said so far; the scripts inside it (bash -c "...") go on with it.
class ShellState {
 public:
  // `exports` receives what is exported, `findings` the notes (an offset in place of the line).
  ShellState(const EnvVars& given, ShellExports* exports, std::vector<ParseFinding>* findings);

  void Note(int offset, absl::string_view rule_id, Severity severity, std::string seen, std::string needs);
  void NotJudged(int offset, absl::string_view text, std::string needs);  // noted once for each spelling

  // A script's own arguments are variables named 1, 2, ... and # for their number, where the caller knows them.
  const ShellWords* Find(absl::string_view name) const;  // one item unless it is an array; null: not set
  static ShellWords Copy(const ShellWords& items);       // counted as work
  void Set(const std::string& name, ShellWords items, int offset);
  void Append(const std::string& name, ShellWords items, bool array, int offset);     // NAME+=...
  void SetNumber(const std::string& name, std::optional<int64_t> value, int offset);  // nothing: not known
  void SetUnknown(const std::string& name, int offset);
  static bool IsUnknownAsAWhole(absl::string_view name, const ShellWords& items);  // how many there are too
  void Unset(const std::string& name);
  void Export(const std::string& name);
  void NoteTooManyExports();

  // Variables that are made local between EnterScope and LeaveScope are afterwards what they were before. Outside of
  // any scope, Localize does nothing.
  void EnterScope() { scopes_.emplace_back(); }
  void Localize(const std::string& name);
  void LeaveScope();

  // What a subshell does to variables is gone with it.
  using Variables = absl::node_hash_map<std::string, ShellWords>;  // what was found stays where it is
  Variables Keep() const;                                          // counted as work
  void Restore(Variables variables) { variables_ = std::move(variables); }

  // While it is not known whether what is read is ever reached, a variable that already has another value becomes
  // unknown instead of changing.
  void set_doubtful(bool doubtful) { doubtful_ = doubtful; }

  // In a condition, a variable that is set nowhere counts as empty, as in a run in just this environment. What rested
  // on that since the last call is told, and noted.
  void set_assume_unset(bool assume) { assume_unset_ = assume; }
  bool assume_unset() const { return assume_unset_; }
  void AssumedUnset(int offset, absl::string_view reference);
  bool TakeAssumption() { return std::exchange(assumption_, false); }

  // Counts what references stand for: false when all together have become too long.
  bool CountExpansion(const ShellWords& values);
  void NoteEndlessExpansion(int offset);

 private:
  std::pair<ShellWords*, bool> Variable(const std::string& name);  // true: a new one, since there was none
  void Publish(const std::string& name, const ShellWords& items);
  void Changed(const std::string& name, ShellWords* items, int offset);

  ShellExports* const exports_;
  std::vector<ParseFinding>* const findings_;
  Variables variables_;
  std::vector<std::map<std::string, std::optional<ShellWords>>> scopes_;  // what local variables were outside
  absl::flat_hash_set<std::string> exported_;
  absl::flat_hash_set<std::string> noted_;
  size_t expanded_ = 0;
  bool limit_noted_ = false, exports_noted_ = false, doubtful_ = false, assume_unset_ = false, assumption_ = false;
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
