// The words of a shell script: comments, continuation lines, quotes, variables and arrays, ${NAME:-default}. Nothing is
// executed: $(...), backticks and unknown variables stay as written and are marked unknown, each with a note.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/render/shell_state.h"

namespace flightplan {

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
