// Simple commands: assignments, words and redirections; and what the words call.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/work.h"
#include "resolver/shell/arguments.h"
#include "resolver/shell/inner_script.h"
#include "resolver/shell/interpreter.h"
#include "resolver/shell/raw.h"

namespace flightplan {
namespace {

constexpr size_t kCallCosts = size_t{1} << 11;  // a call of a function, beside the bytes of its body
constexpr absl::string_view kExport = "export";
constexpr absl::string_view kDeclarations[] = {kExport, "local", "declare", "typeset", "readonly"};

constexpr absl::string_view kLocalDeclarations[] = {"local", "declare", "typeset"};  // but with -g

bool IsDeclaration(absl::string_view word) { return absl::c_linear_search(kDeclarations, word); }

bool AtEndOfWords(const ShellScanner& scanner) {
  return !scanner.AtText("&>") && (scanner.AtEndOfCommand() || scanner.Peek() == ')');
}

// VAR=value in front of a command, or alone.
void ReadAssignments(ShellScanner* scanner) {
  while (!scanner->ReadAssignment().empty()) scanner->SkipBlanks();
}

// Whether what is assigned here is for one command only: its words follow on the line. An array never is.
bool IsForOneCommand(ShellScanner ahead) {
  if (ahead.AssignedName().empty()) return false;
  while (!ahead.AssignedName().empty()) {
    if (ahead.AssignsArray()) return false;
    ahead.SkipAssignment();
    ahead.SkipBlanks();
  }
  return !AtEndOfWords(ahead);
}

// The assignments in front of a command, which are its own as long as this lives.
class OwnVariables {
 public:
  explicit OwnVariables(ShellState* state) : state_(*state) {}
  ~OwnVariables() {
    for (; !saved_.empty(); saved_.pop_back()) state_.PutBack(saved_.back().first, std::move(saved_.back().second));
  }
  OwnVariables(const OwnVariables&) = delete;
  OwnVariables& operator=(const OwnVariables&) = delete;

  void Read(ShellScanner* scanner) {
    for (std::string name = scanner->AssignedName(); !name.empty(); name = scanner->AssignedName()) {
      saved_.emplace_back(name, state_.Save(name));
      scanner->ReadAssignment();
      state_.Export(name);
      scanner->SkipBlanks();
    }
  }

 private:
  ShellState& state_;
  std::vector<std::pair<std::string, ShellState::Saved>> saved_;
};

}  // namespace

// The words of a command.
struct ShellInterpreter::Words {
  enum class Exports { kAsBefore, kYes, kNo };

  ShellWords all;
  bool declares = false;   // the first was written as export, local, ...
  bool local = false;      // and what it declares is the function's own
  bool functions = false;  // -f: it names no variables
  Exports exports = Exports::kAsBefore;
  std::optional<bool> integer;
  bool refers = false;  // -n: what is assigned names another variable
  bool too_many = false;

  void NoteDeclaration() {
    if (all.empty()) return;
    const std::string& last = all.back().value.text;
    if (all.size() == 1 && !declares) {
      declares = IsDeclaration(last);
      local = absl::c_linear_search(kLocalDeclarations, last);
      if (declares && last == kExport) exports = Exports::kYes;
    } else if (declares && last.size() > 1 && (last[0] == '-' || last[0] == '+')) {
      for (const char option : last.substr(1)) NoteOption(option, last[0] == '-');
    }
  }

  void NoteOption(char option, bool on) {
    if (option == 'g') local = false;
    if (option == 'f') functions = true;
    if (option == 'i') integer = on;
    if (option == 'x') exports = on ? Exports::kYes : Exports::kNo;
    if (option == 'n' && all[0].value.text == kExport) {
      exports = Exports::kNo;
    } else if (option == 'n') {
      refers = on;
    }
  }

  // Of a reference's name and of what it stands for nothing is known any more: what is said of one holds for both.
  void Confuse(const std::string& name, int offset, ShellState* state) const {
    if (!refers) return;
    const ShellWords* const other = state->Find(name);
    const std::string referred = other == nullptr || other->empty() ? "" : other->front().value.text;
    if (IsVariableName(referred)) state->SetUnknown(referred, offset);
    state->SetUnknown(name, offset);
  }

  void Mark(const std::string& name, ShellState* state) const {
    if (exports == Exports::kYes) state->Export(name);
    if (exports == Exports::kNo) state->KeepBack(name);
  }
};

ShellInterpreter::Status ShellInterpreter::SkipSimple(ShellScanner* scanner) {
  scanner->SkipAssignments();
  for (scanner->SkipBlanks(); !AtEndOfWords(*scanner); scanner->SkipBlanks()) {
    if (!scanner->SkipRedirection()) scanner->SkipWord();
  }
  return true;
}

bool ShellInterpreter::ChangesVariables(const ShellScanner& scanner) const {
  static constexpr absl::string_view kChanging[] = {"unset", "set",     "shift",   "read", "eval",  "source",
                                                    ".",     "mapfile", "getopts", "let",  "printf"};
  const absl::string_view word = scanner.Bare();
  return !scanner.AssignedName().empty() || IsDeclaration(word) || absl::c_linear_search(kChanging, word) ||
         functions_.find(word) != functions_.end();
}

bool ShellInterpreter::RunsInSubshell(const ShellScanner& scanner) {
  ShellScanner ahead = scanner;
  if (CompoundAt(scanner) != nullptr) {
    if (scanner.Peek() == '(' || scanner.Peek() == '[' || !piping_.contains(&scanner.script())) return false;
    ReadCommand(&ahead, Mode::kSkipped);
    ahead.SkipBlanks();
  } else {
    if (scanner.AssignsArray() || !ChangesVariables(scanner)) return false;
    SkipSimple(&ahead);
  }
  const char c = ahead.Peek();
  return (c == '|' || c == '&') && ahead.Peek(1) != c;
}

ShellInterpreter::Words ShellInterpreter::ReadWords(ShellScanner* scanner) {
  Words words;
  for (; !AtEndOfWords(*scanner); scanner->SkipBlanks()) {
    if (scanner->SkipRedirection()) continue;
    const std::string name = words.declares ? scanner->AssignedName() : "";
    if (!name.empty()) {
      if (words.local) state_.Localize(name);
      if (words.integer.has_value()) state_.set_integer(name, *words.integer);
      const int offset = scanner->Offset();
      scanner->ReadAssignment();
      words.Mark(name, &state_);
      words.Confuse(name, offset, &state_);
    } else {
      for (ShellWord& word : scanner->ReadWord()) words.all.push_back(std::move(word));
      words.NoteDeclaration();
    }
    words.too_many = words.all.size() > 2 * kMaxArguments;
    if (words.too_many) break;
  }
  return words;
}

// The names without a value, and NAME=value in a word that only its expansion shows: export "$setting".
void ShellInterpreter::Declare(const Words& words) {
  if (words.functions) return;
  for (const ShellWord& word : WordSpan(words.all).subspan(1)) {
    const TracedText& text = word.value;
    if (absl::StartsWith(text.text, "-") || absl::StartsWith(text.text, "+")) continue;
    const size_t sign = std::min(text.text.find('='), text.text.size());
    const std::string name = text.text.substr(0, sign);
    const bool known = !text.unknown() || text.unknown_parts.front().begin > sign;
    if (!known || !IsVariableName(name)) {
      if (!known && words.exports == Words::Exports::kYes) state_.ExportUnknownNames();
      continue;
    }
    if (words.local) state_.Localize(name);
    if (words.integer.has_value()) state_.set_integer(name, *words.integer);
    if (sign < text.text.size()) {
      ShellWord value{{}, word.offset};
      value.value.AddRange(text, sign + 1, text.text.size());
      state_.Set(name, {std::move(value)}, word.offset);
    } else if (words.local && state_.InScope()) {
      state_.Forget(name);
    }
    words.Mark(name, &state_);
  }
}

namespace {

constexpr size_t kMostSettings = kMaxExpandedBytes / 2;  // a longer here-document is not read

// What stands there runs, with the references in it expanded by the shell around it.
bool IsScript(const ShellScanner::HereText& document, WordSpan words) {
  const size_t size = document.text.text.size();
  if (size == 0 || size > kMostSettings || !RunsItsInput(words)) return false;
  Work::Spend(4 * size);
  return true;
}

// The YAML or the script that the command writes, and of which text. Nothing else is read of a file, and what only a
// run would know of this one is noted.
void NoteOutput(const ShellScanner::HereText& document, const std::optional<ShellScanner::Output>& output, bool reached,
                ShellScanner* scanner, ShellCommand* command) {
  const WordSpan words = command->words;
  const std::string& program = words[0].value.text;
  const std::string& last = words.back().value.text;
  const bool tee = program == "tee" && words.size() > 1 && (IsSettingsFile(last) || IsScriptFile(last));
  if (tee) {
    command->file = words.back().value;
    command->append = words.size() > 2 && words[1].value.text == "-a";
  } else if (output.has_value()) {
    command->file = scanner->ReadFileOf(*output);
    command->append = output->append;
  }
  const bool copies = tee || (program == "cat" && (words.size() == 1 || words[1].value.text == "-"));
  const size_t size = document.text.text.size();
  if (command->file.text.empty() || !copies || !reached || size == 0 || size > kMostSettings) return;
  Work::Spend(4 * size);
  command->written = scanner->Expanded(document);
}

}  // namespace

ShellInterpreter::Status ShellInterpreter::ReadSimple(ShellScanner* scanner, Mode mode) {
  const size_t begin = scanner->at();
  state_.set_doubtful(mode == Mode::kDoubtful);
  // The words are expanded before what stands in front of them is assigned.
  const bool own = IsForOneCommand(*scanner);
  if (own) {
    scanner->SkipAssignments();
  } else {
    ReadAssignments(scanner);
  }
  scanner->TakeOutput();
  scanner->TakeHereString();
  scanner->TakeHereDocument();  // of a command before this one
  const Words words = ReadWords(scanner);
  if (words.too_many) {
    state_.Note(words.all.back().offset, "input.limit", Severity::kError, "a command of more words than are read",
                absl::StrCat("at most ", kMaxArguments, " arguments are read"));
    scanner->StepToEnd();
    return std::nullopt;
  }
  if (own && words.all.empty()) {  // the words stand for nothing
    ShellScanner in_front(&scanner->script(), &state_, begin);
    ReadAssignments(&in_front);
  }
  SpendSince(scanner, begin);
  if (words.all.empty()) return true;
  OwnVariables variables(&state_);
  if (own) {
    state_.set_doubtful(false);  // of this command nothing else is known
    ShellScanner in_front(&scanner->script(), &state_, begin);
    variables.Read(&in_front);
    state_.set_doubtful(mode == Mode::kDoubtful);
  }
  return RunWords(words, scanner, mode);
}

ShellInterpreter::Status ShellInterpreter::RunWords(const Words& read, ShellScanner* scanner, Mode mode) {
  const std::optional<ShellScanner::Output> output = scanner->TakeOutput();
  if (read.declares) {
    Declare(read);
    return true;
  }
  const WordSpan words = read.all;
  const std::string& name = words[0].value.text;
  if (const Builtin builtin = FindBuiltin(name); builtin != nullptr) {
    if (output.has_value()) sink_({.file = scanner->ReadFileOf(*output)});
    if (name == "read") return ReadFields(words, scanner);
    return (this->*builtin)(words, mode);
  }
  const auto function = functions_.find(name);
  if (function != functions_.end() && !words[0].value.unknown()) {
    Call(function->second, words, mode);
  } else {
    ShellScanner::HereText document;
    if (scanner->Peek() == '\n') {  // a here-document's text follows the line
      scanner->SkipLine();
      document = scanner->TakeHereDocument();
    }
    ShellCommand command{.words = words};
    NoteOutput(document, output, mode != Mode::kDoubtful, scanner, &command);
    if (IsScript(document, words)) command.here_document = scanner->Expanded(document);
    sink_(command);
  }
  ran_ = true;
  return std::nullopt;
}

void ShellInterpreter::Call(const Place& function, WordSpan words, Mode mode) {
  const ShellCallArguments arguments(words.subspan(1), &state_);
  ShellScanner body(function.script, &state_, function.at);
  const Deeper deeper(this, &body);
  if (Spend(&body, kCallCosts)) ReadCommand(&body, mode);
  EndJump(Jump::kReturn);
}

}  // namespace flightplan
