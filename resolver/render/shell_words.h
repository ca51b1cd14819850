// The words of a shell script: comments, continuation lines, quotes, variables and arrays, ${NAME:-default}. Nothing is
// executed: $(...), backticks and unknown variables stay as written and are marked unknown, each with a note.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/render/dialect.h"

namespace flightplan {

inline constexpr size_t kMaxExpandedBytes = size_t{1} << 18;  // of one variable or word
// What a finding about the script as such points at: upstream's own reading of the command line.
inline constexpr absl::string_view kScriptSource = "Megatron-LM:megatron/training/arguments.py:117";

// Text whose every byte knows where in the script it was written; -1 for bytes that came from outside.
struct TracedText {
  std::string text;
  std::vector<int> offsets;
  bool unknown = false;
  bool assumed = false;  // the default in ${NAME:-default} of a variable that is not known

  static TracedText FromScript(absl::string_view script);
  static TracedText FromOutside(absl::string_view text);
  void Add(char c, int offset);
  void Append(const TracedText& other);
  TracedText From(size_t start) const;   // the end of it, with the same marks
  int FirstOffset(int otherwise) const;  // of the first byte that the script holds
};

struct ShellWord {
  TracedText value;
  int offset = 0;  // of its first byte in the script
};
using ShellWords = std::vector<ShellWord>;

// What a script has said so far; the scripts inside it (bash -c "...") go on with it.
class ShellState {
 public:
  // `vars` receives what is exported, `findings` the notes (an offset in place of the line).
  ShellState(const EnvVars& given, EnvVars* vars, std::vector<ParseFinding>* findings);

  void Note(int offset, absl::string_view rule_id, Severity severity, std::string seen, std::string needs);
  void NotJudged(int offset, std::string seen, std::string needs);  // noted once for each spelling

  const ShellWords* Find(absl::string_view name) const;  // one item unless it is an array; null: not set
  void Set(const std::string& name, ShellWords items, int offset);
  void Append(const std::string& name, ShellWords items, bool array, int offset);  // NAME+=...
  void Export(const std::string& name);

  // Counts what references stand for: false when all together have become too long.
  bool CountExpansion(const ShellWords& values);
  void NoteEndlessExpansion(int offset);

 private:
  void Publish(const std::string& name);
  void Changed(const std::string& name, int offset);

  EnvVars* const vars_;
  std::vector<ParseFinding>* const findings_;
  std::map<std::string, ShellWords, std::less<>> variables_;
  std::set<std::string> exported_;
  std::set<std::string> noted_;
  size_t expanded_ = 0;
  bool limit_noted_ = false;
};

// Reads one script, or the text of a script inside a script, from front to back.
class ShellScanner {
 public:
  ShellScanner(const TracedText* script, ShellState* state) : script_(*script), state_(*state) {}

  bool Done() const { return at_ >= script_.text.size(); }
  bool AtEndOfCommand() const;  // a separator or the end
  bool AtGroup() const { return Peek() == '(' || Peek() == ')'; }
  int Offset() const { return at_ < script_.offsets.size() ? script_.offsets[at_] : -1; }
  void Step() { ++at_; }
  void StepToEnd() { at_ = script_.text.size(); }
  void SkipBlanks();  // and comments and continued lines

  // The fields of the word at the current place, which unquoted values split; a stray parenthesis is skipped.
  ShellWords ReadWord();
  // NAME=value, NAME+=value or NAME=( items ) at the current place is stored under the name that is returned; "": there
  // is no assignment, and nothing was read.
  std::string ReadAssignment();

 private:
  class Fields;
  struct Reference;
  enum class Splitting { kAtBlanks, kNever };

  char Peek(size_t ahead = 0) const { return at_ + ahead < script_.text.size() ? script_.text[at_ + ahead] : '\0'; }
  ShellWords ReadFields(Splitting splitting);
  void ReadDoubleQuoted(Fields* fields);
  void ReadSingleQuoted(Fields* fields);
  ShellWords ReadArray();
  void Expand(Fields* fields, Splitting splitting);
  Reference ReadReference();
  ShellWords Resolve(size_t start, int offset);
  TracedText SkipSubstitution();
  bool TooLong(const Fields& fields);
  void StopExpanding(int offset);

  const TracedText& script_;
  ShellState& state_;
  size_t at_ = 0;
};

}  // namespace flightplan
