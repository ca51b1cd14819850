#include "resolver/render/shell_interpreter.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "resolver/render/shell_raw.h"

namespace flightplan {
namespace {

constexpr int kMaxDepth = 48;                   // of lists inside lists, calls and scripts inside scripts
constexpr size_t kMaxSpent = size_t{1} << 22;   // bytes read, those of a loop's body each time
constexpr size_t kCallCosts = size_t{1} << 11;  // a call of a function, beside the bytes of its body
constexpr size_t kMaxRounds = 64;               // of one loop
constexpr std::array<absl::string_view, 1> kThen = {"then"}, kDo = {"do"}, kDone = {"done"}, kParen = {")"},
                                           kBrace = {"}"};
constexpr std::array<absl::string_view, 3> kBranchEnds = {"elif", "else", "fi"};
constexpr std::array<absl::string_view, 2> kArmEnds = {";;", "esac"};
constexpr absl::string_view kUndecided = "only a run would know this condition; all its branches are read";

bool IsDeclaration(absl::string_view word) {
  return word == "export" || word == "local" || word == "declare" || word == "typeset" || word == "readonly";
}

bool Known(const ShellWord& word) { return !word.value.unknown(); }

}  // namespace

// Counts how deep it goes; too deep, the rest of the text is left out.
class ShellInterpreter::Deeper {
 public:
  Deeper(ShellInterpreter* reader, ShellScanner* scanner) : reader_(*reader) {
    if (++reader_.depth_ <= kMaxDepth) return;
    reader_.state_.NotJudged(
        scanner->Offset(), "a script this deep",
        absl::StrCat("lists, functions and scripts inside each other are followed ", kMaxDepth, " deep"));
    scanner->StepToEnd();
  }
  ~Deeper() { --reader_.depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  ShellInterpreter& reader_;
};

void ShellInterpreter::Run(const TracedText& script) {
  scripts_.push_back(script);
  ShellScanner scanner(&scripts_.back(), &state_);
  const Deeper deeper(this, &scanner);
  const Jump outer = jump_;
  ReadList(&scanner, Mode::kReached, {});
  jump_ = outer;  // what ends an inner script does not end the one around it
}

bool ShellInterpreter::Spend(ShellScanner* scanner, size_t bytes) {
  spent_ += bytes + 1;
  if (spent_ <= kMaxSpent) return true;
  state_.NoteEndlessExpansion(scanner->Offset());
  scanner->StepToEnd();
  return false;
}

ShellInterpreter::Mode ShellInterpreter::Under(Mode mode, Status condition, bool assumed) const {
  if (mode == Mode::kSkipped) return mode;
  if (!condition.has_value() || every_branch_) return Mode::kDoubtful;
  if (!*condition) return Mode::kSkipped;
  return assumed && mode == Mode::kReached ? Mode::kAssumed : mode;
}

// ---- lists

ShellInterpreter::Status ShellInterpreter::ReadList(ShellScanner* scanner, Mode mode, Stops stops) {
  const Deeper deeper(this, scanner);
  Status status = true;
  while (true) {
    for (scanner->SkipBlankLines(); scanner->Peek() == ';' || scanner->Peek() == '&'; scanner->SkipBlankLines()) {
      if (scanner->AtText(";;") || scanner->AtText(";&")) break;
      scanner->Step();
    }
    if (scanner->Done()) return status;
    const absl::string_view bare = scanner->Bare();
    for (const absl::string_view stop : stops) {
      const bool sign = stop == ")" || stop == ";;";
      if (sign ? scanner->AtText(stop) || (stop == ";;" && scanner->AtText(";&")) : bare == stop) return status;
    }
    const size_t before = scanner->at();
    status = ReadAndOr(scanner, jump_ == Jump::kNone ? mode : Mode::kSkipped);
    if (scanner->at() == before) scanner->Step();  // a word that ends nothing that was begun
  }
}

ShellInterpreter::Status ShellInterpreter::ReadAndOr(ShellScanner* scanner, Mode mode) {
  state_.TakeAssumption();
  Status status = ReadPipeline(scanner, mode);
  while (true) {
    scanner->SkipBlanks();
    const bool both = scanner->Take("&&");
    if (!both && !scanner->Take("||")) return status;
    scanner->SkipBlankLines();
    // A command in front of && is taken to succeed: that is how scripts are meant to go.
    const Status wanted = status.has_value() ? Status(*status == both) : both && ran_ ? Status(true) : status;
    const bool assumed = state_.TakeAssumption();
    const Mode next_mode = every_branch_ && wanted.has_value() ? mode : Under(mode, wanted, assumed);
    const Status next = ReadPipeline(scanner, jump_ == Jump::kNone ? next_mode : Mode::kSkipped);
    if (!status.has_value()) continue;
    if (*status == both) status = next;
  }
}

ShellInterpreter::Status ShellInterpreter::ReadPipeline(ShellScanner* scanner, Mode mode) {
  scanner->SkipBlanks();
  const bool negated = scanner->Bare() == "!" && scanner->Take("!");
  if (negated) scanner->SkipBlanks();
  Status status = ReadCommand(scanner, mode);
  for (scanner->SkipBlanks(); scanner->Peek() == '|' && scanner->Peek(1) != '|'; scanner->SkipBlanks()) {
    scanner->Step(scanner->Peek(1) == '&' ? 2 : 1);
    scanner->SkipBlankLines();
    ReadCommand(scanner, mode);
    status = std::nullopt;
  }
  return negated && status.has_value() ? Status(!*status) : status;
}

ShellInterpreter::Status ShellInterpreter::ReadCommand(ShellScanner* scanner, Mode mode) {
  scanner->SkipBlanks();
  ran_ = false;
  if (scanner->AtEndOfCommand()) return true;
  const absl::string_view bare = scanner->Bare();
  Status status = true;
  if (scanner->Take("((")) {
    status = ReadArithmetic(scanner, mode);
  } else if (scanner->Take("(")) {
    status = ReadList(scanner, mode, kParen);
    scanner->Take(")");
  } else if (bare == "{") {
    scanner->Step();
    status = ReadList(scanner, mode, kBrace);
    scanner->Take("}");
  } else if (bare == "if") {
    ReadIf(scanner, mode);
    status = std::nullopt;
  } else if (bare == "case") {
    ReadCase(scanner, mode);
    status = std::nullopt;
  } else if (bare == "for" || bare == "select") {
    ReadFor(scanner, mode);
  } else if (bare == "while" || bare == "until") {
    ReadWhile(scanner, mode, bare == "until");
  } else if (bare == "[[" || bare == "[" || bare == "test") {
    status = ReadTest(scanner, mode, bare);
  } else if (!ReadFunction(scanner, mode)) {
    return mode == Mode::kSkipped ? SkipSimple(scanner) : ReadSimple(scanner, mode);
  }
  // What follows a compound command are its redirections.
  for (scanner->SkipBlanks(); scanner->SkipRedirection(); scanner->SkipBlanks()) {
  }
  scanner->TakeHereDocument();
  return status;
}

// ---- control flow

ShellInterpreter::Mode ShellInterpreter::ReadCondition(ShellScanner* scanner, Mode mode, Stops stops, bool negated,
                                                       Status* status) {
  const int offset = scanner->Offset();
  state_.TakeAssumption();
  const size_t begin = scanner->at();
  const Status found = ReadList(scanner, mode, stops);
  *status = found.has_value() && !every_branch_ ? Status(*found != negated) : std::nullopt;
  const bool assumed = state_.TakeAssumption();
  if (mode != Mode::kSkipped && !status->has_value()) {
    const std::string text = scanner->script().text.substr(begin, scanner->at() - begin);
    state_.NotJudged(offset, Printable(absl::StripAsciiWhitespace(text)), std::string(kUndecided));
  }
  return Under(mode, *status, assumed);
}

void ShellInterpreter::ReadIf(ShellScanner* scanner, Mode mode) {
  scanner->Step(2);
  Mode rest = mode;  // of the branches behind those already read
  while (true) {
    Status status;
    const Mode taken = ReadCondition(scanner, rest, kThen, false, &status);
    scanner->Take("then");
    ReadList(scanner, jump_ == Jump::kNone ? taken : Mode::kSkipped, kBranchEnds);
    if (rest != Mode::kSkipped) {
      rest = !status.has_value() ? Mode::kDoubtful : *status ? Mode::kSkipped : rest;
    }
    if (scanner->Take("elif")) continue;
    if (scanner->Take("else")) {
      ReadList(scanner, jump_ == Jump::kNone ? rest : Mode::kSkipped, kBranchEnds);
    }
    scanner->Take("fi");
    return;
  }
}

void ShellInterpreter::ReadCase(ShellScanner* scanner, Mode mode) {
  scanner->Step(4);
  scanner->SkipBlanks();
  const int offset = scanner->Offset();
  TracedText word;
  state_.TakeAssumption();
  if (mode == Mode::kSkipped) {
    scanner->SkipWord();
  } else {
    state_.set_assume_unset(true);
    word = scanner->ReadJoined();
    state_.set_assume_unset(false);
  }
  const bool assumed = state_.TakeAssumption();
  const bool unknown = word.unknown() || every_branch_;
  if (mode != Mode::kSkipped && unknown)
    state_.NotJudged(offset, Printable(absl::StrCat("case ", word.text)), std::string(kUndecided));
  scanner->SkipBlankLines();
  scanner->Take("in");
  bool matched = false;
  while (true) {
    scanner->SkipBlankLines();
    if (scanner->Done() || (scanner->Bare() == "esac" && scanner->Take("esac"))) return;
    const size_t before = scanner->at();
    scanner->Take("(");
    bool matches = false;
    for (scanner->SkipBlanks(); !scanner->Done() && scanner->Peek() != ')' && scanner->Peek() != '\n';
         scanner->SkipBlanks()) {
      if (scanner->Take("|")) continue;
      const size_t at = scanner->at();
      if (mode == Mode::kSkipped) {
        scanner->SkipWord();
      } else {
        const TracedText pattern = scanner->ReadJoined();
        matches = matches || (!pattern.unknown() && MatchesGlob(pattern.text, word.text));
      }
      if (scanner->at() == at) scanner->Step();
    }
    scanner->Take(")");
    const Status taken = unknown ? Status() : Status(matches && !matched);
    matched = matched || matches;
    ReadList(scanner, jump_ == Jump::kNone ? Under(mode, taken, assumed) : Mode::kSkipped, kArmEnds);
    if (!scanner->Take(";;&") && !scanner->Take(";;")) scanner->Take(";&");
    if (scanner->at() == before) scanner->Step();
  }
}

// From `do` or `{` to its end.
void ShellInterpreter::ReadBody(ShellScanner* scanner, Mode mode, absl::string_view closing) {
  ReadList(scanner, jump_ == Jump::kNone ? mode : Mode::kSkipped, closing == "}" ? Stops(kBrace) : Stops(kDone));
  scanner->Take(closing);
}

void ShellInterpreter::ReadFor(ShellScanner* scanner, Mode mode) {
  scanner->SkipWord();  // for
  scanner->SkipBlanks();
  ShellWords items;
  std::string name;
  if (scanner->Take("((")) {  // counted: its body is read once
    while (!scanner->Done() && !scanner->Take("))")) scanner->Step();
    if (mode != Mode::kSkipped) mode = Mode::kDoubtful;
  } else {
    name = std::string(scanner->Bare());
    scanner->SkipWord();
    scanner->SkipBlankLines();
    if (scanner->Bare() == "in" && scanner->Take("in")) {
      for (scanner->SkipBlanks(); !scanner->AtEndOfCommand(); scanner->SkipBlanks()) {
        if (mode == Mode::kSkipped) {
          scanner->SkipWord();
          continue;
        }
        for (ShellWord& word : scanner->ReadWord()) items.push_back(std::move(word));
        if (items.size() > kMaxArguments) break;
      }
    }
  }
  for (scanner->SkipBlankLines(); scanner->Take(";"); scanner->SkipBlankLines()) {
  }
  const absl::string_view closing = scanner->Peek() == '{' ? "}" : "done";
  if (!scanner->Take("do")) scanner->Take("{");
  const size_t body = scanner->at();
  const bool variable = !name.empty() && EndOfName(name, 0) == name.size();
  const size_t rounds =
      mode == Mode::kReached || mode == Mode::kAssumed ? std::min(std::max<size_t>(items.size(), 1), kMaxRounds) : 1;
  for (size_t round = 0; round < rounds; ++round) {
    scanner->GoTo(body);
    if (variable && round < items.size() && mode != Mode::kSkipped) {
      state_.set_doubtful(mode == Mode::kDoubtful);
      state_.Set(name, {items[round]}, scanner->Offset());
    }
    ReadBody(scanner, mode, closing);
    if (!Spend(scanner, scanner->at() - std::min(body, scanner->at()))) return;
  }
  if (jump_ == Jump::kBreak) jump_ = Jump::kNone;
}

void ShellInterpreter::ReadWhile(ShellScanner* scanner, Mode mode, bool until) {
  scanner->Step(5);
  const size_t begin = scanner->at();
  for (size_t round = 0; round < kMaxRounds; ++round) {
    scanner->GoTo(begin);
    Status status;
    const Mode taken = ReadCondition(scanner, mode, kDo, until, &status);
    scanner->Take("do");
    ReadBody(scanner, taken, "done");
    if (!Spend(scanner, scanner->at() - std::min(begin, scanner->at()))) return;
    const bool again = taken != Mode::kSkipped && taken != Mode::kDoubtful && jump_ == Jump::kNone;
    if (!again) break;
  }
  if (jump_ == Jump::kBreak) jump_ = Jump::kNone;
}

bool ShellInterpreter::ReadFunction(ShellScanner* scanner, Mode mode) {
  const std::string& text = scanner->script().text;
  size_t at = scanner->at();
  const bool keyword = scanner->Bare() == "function";
  if (keyword) at = std::min(text.find_first_not_of(" \t", at + 8), text.size());
  const size_t name_begin = at;
  while (at < text.size() && (IsShellName(text[at]) || text[at] == '-' || text[at] == '.' || text[at] == ':')) ++at;
  if (at == name_begin) return false;
  const std::string name = text.substr(name_begin, at - name_begin);
  while (at < text.size() && IsShellBlank(text[at])) ++at;
  const bool brackets = at < text.size() && text[at] == '(';
  if (brackets) {
    at = text.find_first_not_of(" \t", at + 1);
    if (at == std::string::npos || text[at] != ')') return false;
    ++at;
  }
  if (!keyword && !brackets) return false;
  scanner->Step(at - scanner->at());
  scanner->SkipBlankLines();
  if (mode != Mode::kSkipped) functions_.insert_or_assign(name, Place{&scanner->script(), scanner->at()});
  ReadCommand(scanner, Mode::kSkipped);
  return true;
}

void ShellInterpreter::Call(const Place& function, WordSpan words, Mode mode) {
  std::vector<std::pair<std::string, std::optional<ShellWords>>> outer;
  for (const absl::string_view name : {"@", "#", "1", "2", "3", "4", "5", "6", "7", "8", "9"}) {
    const ShellWords* value = state_.Find(name);
    outer.emplace_back(name, value == nullptr ? std::nullopt : std::optional<ShellWords>(*value));
  }
  SetArguments(words.subspan(1));
  ShellScanner body(function.script, &state_, function.at);
  const Deeper deeper(this, &body);
  if (Spend(&body, kCallCosts)) ReadCommand(&body, mode);
  if (jump_ == Jump::kReturn) jump_ = Jump::kNone;
  state_.set_doubtful(false);
  for (auto& [name, value] : outer) {
    state_.Unset(name);
    if (value.has_value()) state_.Set(name, *std::move(value), -1);
  }
}

void ShellInterpreter::SetArguments(WordSpan words) {
  state_.set_doubtful(false);
  for (size_t i = 1; i <= 9; ++i) state_.Set(absl::StrCat(i), {i <= words.size() ? words[i - 1] : ShellWord{}}, -1);
  state_.Set("@", ShellWords(words.begin(), words.end()), -1);
  state_.Set("#", {{TracedText::FromOutside(absl::StrCat(words.size())), -1}}, -1);
}

// ---- conditions

ShellInterpreter::Status ShellInterpreter::ReadTest(ShellScanner* scanner, Mode mode, absl::string_view opening) {
  if (mode == Mode::kSkipped) {
    const bool patterns = opening == "[[";
    while (!scanner->Done() && (patterns || !scanner->AtEndOfCommand())) {
      const bool last = patterns && scanner->Bare() == "]]";
      scanner->SkipWord();
      if (last) break;
      patterns ? scanner->SkipBlankLines() : scanner->SkipBlanks();
    }
    return true;
  }
  scanner->Step(opening.size());
  state_.set_assume_unset(true);
  const std::vector<TestWord> words = scanner->ReadTest(opening == "[[" ? "]]" : opening == "[" ? "]" : "");
  state_.set_assume_unset(false);
  if (every_branch_) return std::nullopt;
  return ShellTest(words, opening == "[[");
}

ShellInterpreter::Status ShellInterpreter::ReadArithmetic(ShellScanner* scanner, Mode mode) {
  if (mode == Mode::kSkipped) {
    while (!scanner->Done() && !scanner->Take("))")) scanner->Step();
    return true;
  }
  state_.set_assume_unset(true);
  const std::optional<int64_t> value = scanner->ReadArithmetic();
  state_.set_assume_unset(false);
  return value.has_value() && !every_branch_ ? Status(*value != 0) : std::nullopt;
}

// ---- simple commands

ShellInterpreter::Status ShellInterpreter::SkipSimple(ShellScanner* scanner) {
  scanner->SkipAssignments();
  for (scanner->SkipBlanks(); scanner->AtText("&>") || (!scanner->AtEndOfCommand() && scanner->Peek() != ')');
       scanner->SkipBlanks()) {
    if (!scanner->SkipRedirection()) scanner->SkipWord();
  }
  return true;
}

ShellInterpreter::Status ShellInterpreter::ReadSimple(ShellScanner* scanner, Mode mode) {
  const size_t before = scanner->at();
  state_.set_doubtful(mode == Mode::kDoubtful);
  std::vector<std::string> prefix;  // VAR=value in front of a command, or alone
  for (std::string name = scanner->ReadAssignment(); !name.empty(); name = scanner->ReadAssignment()) {
    prefix.push_back(std::move(name));
    scanner->SkipBlanks();
  }
  ShellWords words;
  bool declares = false;
  while (scanner->AtText("&>") || (!scanner->AtEndOfCommand() && scanner->Peek() != ')')) {
    if (scanner->SkipRedirection()) {
      scanner->SkipBlanks();
      continue;
    }
    const std::string declared = declares ? scanner->ReadAssignment() : "";
    if (declared.empty()) {
      for (ShellWord& word : scanner->ReadWord()) words.push_back(std::move(word));
      declares = declares || (words.size() == 1 && IsDeclaration(words[0].value.text));
    } else if (words[0].value.text == "export") {
      state_.Export(declared);
    }
    scanner->SkipBlanks();
    if (words.size() > 2 * kMaxArguments) {
      state_.Note(words.back().offset, "input.limit", Severity::kError, "a command of more words than are read",
                  absl::StrCat("at most ", kMaxArguments, " arguments are read"));
      scanner->StepToEnd();
      return std::nullopt;
    }
  }
  Spend(scanner, scanner->at() - std::min(before, scanner->at()));
  if (words.empty()) return true;
  if (declares) {
    if (words[0].value.text != "export") return true;
    for (const ShellWord& word : WordSpan(words).subspan(1)) state_.Export(word.value.text);
    return true;
  }
  for (const std::string& name : prefix) state_.Export(name);
  Status status;
  if (RunBuiltin(words, mode, &status)) return status;
  if (const auto it = functions_.find(words[0].value.text); it != functions_.end() && Known(words[0])) {
    Call(it->second, words, mode);
    ran_ = true;
    return std::nullopt;
  }
  ShellCommand command{words, {}};
  if (scanner->Peek() == '\n') {  // a here-document's text follows the line
    scanner->SkipLine();
    command.here_document = scanner->TakeHereDocument();
  }
  sink_(command);
  ran_ = true;
  return std::nullopt;
}

void ShellInterpreter::JumpBy(absl::string_view command, Mode mode) {
  if (mode != Mode::kReached) return;
  jump_ = command == "exit" ? Jump::kExit : command == "return" ? Jump::kReturn : Jump::kBreak;
  if (command == "continue") jump_ = Jump::kNone;
}

bool ShellInterpreter::RunBuiltin(WordSpan words, Mode mode, Status* status) {
  const absl::string_view name = words[0].value.text;
  if (name == "exit" || name == "return" || name == "break" || name == "continue") {
    JumpBy(name, mode);
    return true;
  }
  if (name == ":" || name == "true" || name == "echo" || name == "printf") {
    *status = true;
    return true;
  }
  if (name == "false") {
    *status = false;
    return true;
  }
  if (name == "source" || name == ".") {
    const std::string file = words.size() > 1 ? words[1].value.text : "";
    state_.NotJudged(words[0].offset, Printable(absl::StrCat(name, " ", file)), "sourced files are not read");
    return true;
  }
  if (name == "unset") {
    for (const ShellWord& word : words.subspan(1)) state_.Unset(word.value.text);
    return true;
  }
  if (name == "set") {
    if (words.size() > 1 && words[1].value.text == "--") SetArguments(words.subspan(2));
    return true;
  }
  if (name == "shift") {
    const ShellWords* arguments = state_.Find("@");
    int64_t count = 1;
    if (words.size() > 1 && !absl::SimpleAtoi(words[1].value.text, &count)) return true;
    if (arguments == nullptr || mode == Mode::kDoubtful || count < 0) return true;
    const ShellWords all = *arguments;
    SetArguments(WordSpan(all).subspan(std::min(static_cast<size_t>(count), all.size())));
    return true;
  }
  if (name == "read" || name == "mapfile" || name == "readarray") {
    for (const ShellWord& word : words.subspan(1)) {
      const std::string& variable = word.value.text;
      if (variable.empty() || EndOfName(variable, 0) != variable.size()) continue;
      ShellWord unknown{TracedText::FromOutside(absl::StrCat("$", variable)), word.offset};
      unknown.value.MarkUnknown();
      state_.Set(variable, {std::move(unknown)}, word.offset);
    }
    return true;
  }
  if (name == "eval") {
    TracedText joined;
    for (const ShellWord& word : words.subspan(1)) {
      if (!joined.text.empty()) joined.Add(' ', word.offset);
      joined.Append(word.value);
    }
    Run(joined);
    return true;
  }
  return false;
}

}  // namespace flightplan
