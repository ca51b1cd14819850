// Simple commands: assignments, words and redirections; and what the words call.
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/work.h"
#include "resolver/shell/arguments.h"
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

// VAR=value in front of a command, or alone: the names.
std::vector<std::string> ReadAssignments(ShellScanner* scanner) {
  std::vector<std::string> names;
  for (std::string name = scanner->ReadAssignment(); !name.empty(); name = scanner->ReadAssignment()) {
    names.push_back(std::move(name));
    scanner->SkipBlanks();
  }
  return names;
}

}  // namespace

// The words of a command.
struct ShellInterpreter::Words {
  ShellWords all;
  bool declares = false;  // the first was written as export, local, ...
  bool local = false;     // and what it declares is the function's own
  bool too_many = false;

  void NoteDeclaration() {
    if (all.empty()) return;
    if (all.size() == 1 && !declares) {
      declares = IsDeclaration(all[0].value.text);
      local = absl::c_linear_search(kLocalDeclarations, all[0].value.text);
    }
    if (all.back().value.text == "-g") local = false;
  }
};

ShellInterpreter::Status ShellInterpreter::SkipSimple(ShellScanner* scanner) {
  scanner->SkipAssignments();
  for (scanner->SkipBlanks(); !AtEndOfWords(*scanner); scanner->SkipBlanks()) {
    if (!scanner->SkipRedirection()) scanner->SkipWord();
  }
  return true;
}

ShellInterpreter::Words ShellInterpreter::ReadWords(ShellScanner* scanner) {
  Words words;
  for (; !AtEndOfWords(*scanner); scanner->SkipBlanks()) {
    if (scanner->SkipRedirection()) continue;
    if (words.local) state_.Localize(scanner->AssignedName());
    const std::string declared = words.declares ? scanner->ReadAssignment() : "";
    if (declared.empty()) {
      for (ShellWord& word : scanner->ReadWord()) words.all.push_back(std::move(word));
      words.NoteDeclaration();
    } else if (words.all[0].value.text == kExport) {
      state_.Export(declared);
    }
    words.too_many = words.all.size() > 2 * kMaxArguments;
    if (words.too_many) break;
  }
  return words;
}

namespace {

constexpr size_t kMostSettings = kMaxExpandedBytes / 2;  // a longer here-document is not read

// The YAML that the command writes, and of which text. Nothing else is read of a file, and what only a run would know
// of this one is noted.
void NoteOutput(const ShellScanner::HereText& document, const std::optional<ShellScanner::Output>& output, bool reached,
                ShellScanner* scanner, ShellCommand* command) {
  const WordSpan words = command->words;
  const std::string& program = words[0].value.text;
  const bool tee = program == "tee" && words.size() > 1 && IsSettingsFile(words.back().value.text);
  if (tee) {
    command->file = words.back().value;
    command->append = words.size() > 2 && words[1].value.text == "-a";
  } else if (output.has_value()) {
    command->file = scanner->SettingsFileOf(*output);
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
  const std::vector<std::string> assigned = ReadAssignments(scanner);
  scanner->TakeOutput();
  const Words read = ReadWords(scanner);
  const std::optional<ShellScanner::Output> output = scanner->TakeOutput();
  const WordSpan words = read.all;
  if (read.too_many) {
    state_.Note(words.back().offset, "input.limit", Severity::kError, "a command of more words than are read",
                absl::StrCat("at most ", kMaxArguments, " arguments are read"));
    scanner->StepToEnd();
    return std::nullopt;
  }
  SpendSince(scanner, begin);
  if (words.empty()) return true;
  const std::string& name = words[0].value.text;
  if (read.declares) {
    for (const ShellWord& word : words.subspan(1)) {
      if (name == kExport) state_.Export(word.value.text);
      if (!read.local || !IsVariableName(word.value.text)) continue;
      state_.Localize(word.value.text);
      state_.Unset(word.value.text);
    }
    return true;
  }
  for (const std::string& variable : assigned) state_.Export(variable);
  if (const Builtin builtin = FindBuiltin(name); builtin != nullptr) {
    if (output.has_value()) sink_({.file = scanner->SettingsFileOf(*output)});
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
    command.here_document = std::move(document.text);
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
