// The words of a shell script: comments, continuation lines, quotes, variables and arrays, ${NAME:-default} and the
// other operators on strings, $((...)). Nothing is executed: $(...), backticks and unknown variables stay as written
// and are marked unknown, each with a note.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "resolver/shell/condition.h"
#include "resolver/shell/state.h"

namespace flightplan {

// Of the files that a script writes, those are read that have the ending of YAML or of a script.
bool IsSettingsFile(absl::string_view name);
bool IsScriptFile(absl::string_view name);

// Reads one script, or the text of a script inside a script, from front to back.
class ShellScanner {
 public:
  ShellScanner(const TracedText* script, ShellState* state, size_t at = 0)
      : script_(*script), state_(*state), at_(at) {}

  bool Done() const { return at_ >= script_.text.size(); }
  bool AtEndOfCommand() const;  // a separator or the end
  char Peek(size_t ahead = 0) const { return at_ + ahead < script_.text.size() ? script_.text[at_ + ahead] : '\0'; }
  bool AtText(absl::string_view text) const;
  int Offset() const { return at_ < script_.offsets.size() ? script_.offsets[at_] : -1; }
  size_t at() const { return at_; }
  const TracedText& script() const { return script_; }

  void Step(size_t bytes = 1) { at_ = std::min(at_ + bytes, script_.text.size()); }
  void StepToEnd() { at_ = script_.text.size(); }
  void GoTo(size_t at) { at_ = at; }  // back to where a loop's body begins
  void SkipBlanks();                  // and comments and continued lines
  void SkipLine();                    // behind the end of the line, and the here-documents that it announced
  void SkipBlankLines();              // blanks, comments and ends of lines
  bool Take(absl::string_view text);  // whether it stands here; then it is skipped

  // The word here as written: what a keyword is told by. Ends at a blank or a separator.
  absl::string_view Bare() const;
  void SkipWord();  // without a look at what it stands for
  // A redirection ([n]>file, <<EOF ...) is skipped; its here-document's body is kept until TakeHereDocument, and where
  // the output goes until TakeOutput.
  bool SkipRedirection();
  struct HereText {
    TracedText text;
    bool as_written = false;  // its delimiter stands in quotes: a run expands nothing in it
  };
  HereText TakeHereDocument();
  // That of the command whose words were read, behind the end of its line; the place stays where it is.
  HereText HereDocumentAhead() const;
  TracedText Expanded(const HereText& document);
  struct Output {
    size_t begin = 0, end = 0;  // of the file's word
    bool append = false;
  };
  std::optional<Output> TakeOutput();
  std::optional<TracedText> TakeHereString();            // the text of the last <<< that was skipped
  ShellWords SplitFields(const TracedText& text) const;  // at the separators of IFS
  TracedText ReadFileOf(const Output& output);           // its name; empty: of something else

  // The fields of the word at the current place, which unquoted values split; a stray parenthesis is skipped.
  ShellWords ReadWord();
  // The same as one piece, not split at blanks: the word of a `case`, a pattern, a here-string.
  TracedText ReadJoined();
  // What "${NAME[*]}" is of an array, and what its items are where they cannot be words of their own.
  TracedText JoinWords(const ShellWords& words) const;
  std::optional<int64_t> Evaluate(const TracedText& expression);  // of arithmetic, whose assignments are done
  // NAME=value, NAME+=value or NAME=( items ) at the current place is stored under the name that is returned; "": there
  // is no assignment, and nothing was read.
  std::string ReadAssignment();
  std::string AssignedName() const;  // of the assignment that stands here; "": none
  bool AssignsArray() const;         // and its value is one in brackets
  void SkipAssignment();
  void SkipAssignments();
  // The words of `[ ... ]` or `[[ ... ]]`, of which the first has been read, up to and with the closing one.
  std::vector<TestWord> ReadTest(absl::string_view closing);
  // The value of the expression at the current place up to `))`, which is skipped.
  std::optional<int64_t> ReadArithmetic();
  std::optional<int64_t> ArithmeticBetween(size_t begin, size_t end) { return Evaluate(Within(begin, end)); }
  void SkipArithmetic();

 private:
  class Fields;
  class Braces;
  enum class Splitting { kAtBlanks, kNever };
  struct HereDocument {
    std::string delimiter;
    bool strip_tabs = false;
    bool quoted = false;
  };

  ShellWords ReadFields(Splitting splitting);
  ShellWords ReadBraceLists(size_t end);
  void ReadDoubleQuoted(Fields* fields);
  void ReadSingleQuoted(Fields* fields);
  void ReadEscaped(Fields* fields);  // $'...'
  bool SetInteger(const std::string& name, const TracedText& value, bool append);
  ShellWords ReadFieldsOrLists();
  ShellWords ReadArray();
  bool HasKeysAlone();
  bool SetKeyedItems(const std::string& name);
  bool SetItem(const std::string& name, const TracedText& subscript, bool append);
  size_t EndOfAssignedName() const;

  void Expand(Fields* fields, Splitting splitting);
  bool ExpandArithmetic(Fields* fields);
  void ExpandBraces(Fields* fields, Splitting splitting, size_t start);
  void AddValues(Fields* fields, Splitting splitting, const ShellWords& values, int offset);
  ShellWords ValueOf(const std::string& name, bool all_items, size_t start);
  const ShellWords* FindItem(const std::string& name, const std::string& subscript, ShellWords* item);
  TracedText Within(size_t begin, size_t end);  // a part of the script with its references expanded
  TracedText Raw(size_t begin, size_t end) const;
  TracedText UnknownText(size_t start, bool unset) const;
  TracedText SkipSubstitution();
  std::optional<TracedText> OutputOf(size_t start);
  std::optional<TracedText> PrintedBetween(size_t begin, size_t end);
  std::optional<TracedText> FlagsOfModel(size_t begin, size_t end);
  std::optional<TracedText> CopiedDocument(size_t begin, size_t end);
  std::optional<int64_t> NumberOf(absl::string_view name);  // what arithmetic takes a variable for
  bool TooLong(const Fields& fields);
  void StopExpanding(int offset);

  const TracedText& script_;
  ShellState& state_;
  size_t at_ = 0;
  int depth_ = 0;                                 // of references inside references
  size_t no_lists_begin_ = 0, no_lists_end_ = 0;  // a part of the script where no braces hold a list
  std::vector<HereDocument> announced_;
  HereText here_document_;
  std::optional<Output> output_;
  std::optional<std::pair<size_t, size_t>> here_string_;  // where its word begins and ends
};

}  // namespace flightplan
