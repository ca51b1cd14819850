// What a shell script has said so far: its variables, what it exports, and what its reader noted.
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

}  // namespace flightplan
