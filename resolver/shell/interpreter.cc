// Lists and commands: what stands between ; && || | and brackets.
#include "resolver/shell/interpreter.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/work.h"
#include "resolver/shell/raw.h"

namespace flightplan {
namespace {

constexpr size_t kCommandCosts = 128;          // beside its bytes and words
constexpr size_t kLevelCosts = 192;            // of what stands in another: its stack is not at hand any more
constexpr int kMaxDepth = 48;                  // of lists inside lists, calls and scripts inside scripts
constexpr size_t kMaxSpent = size_t{1} << 22;  // bytes read, those of a loop's body each time

bool AtAny(const ShellScanner& scanner, absl::Span<const absl::string_view> stops) {
  return std::any_of(stops.begin(), stops.end(), [&scanner](absl::string_view stop) {
    if (stop == ")") return scanner.AtText(")");
    if (stop == ";;") return scanner.AtText(";;") || scanner.AtText(";&");
    return scanner.Bare() == stop;
  });
}

// Whether a line has | or & behind a word that ends a compound command. True where it only looks so: what is read ahead
// for it tells.
bool MayPipeCompound(absl::string_view text) {
  static constexpr absl::string_view kClosing[] = {"}", "done", "fi", "esac"};
  bool closed = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at], before = at > 0 ? text[at - 1] : '\n', next = at + 1 < text.size() ? text[at + 1] : '\n';
    if (c == '\n') {
      closed = closed && before == '\\';
    } else if (closed && (c == '|' || c == '&')) {
      const bool redirects = c == '&' && (before == '>' || before == '<' || next == '>');
      if (!redirects && next != c && before != c) return true;
    } else if (!closed && (IsShellBlank(before) || before == ';' || before == '\n')) {
      closed = std::any_of(std::begin(kClosing), std::end(kClosing), [text, at](absl::string_view word) {
        return absl::StartsWith(text.substr(at, word.size()), word) &&
               (at + word.size() == text.size() || !IsShellName(text[at + word.size()]));
      });
    }
  }
  return false;
}

}  // namespace

void ShellInterpreter::NoteTooDeep(int offset) {
  state_.NotJudged(offset, "a script this deep",
                   absl::StrCat("lists, functions and scripts inside each other are followed ", kMaxDepth, " deep"));
}

ShellInterpreter::Deeper::Deeper(ShellInterpreter* reader, ShellScanner* scanner) : reader_(*reader) {
  Work::Spend(kLevelCosts);
  if (++reader_.depth_ <= kMaxDepth) return;
  reader_.NoteTooDeep(scanner->Offset());
  scanner->StepToEnd();
}

bool ShellInterpreter::MayRun(size_t bytes, int offset) {
  if (depth_ >= kMaxDepth) {
    NoteTooDeep(offset);
    return false;
  }
  spent_ += bytes + 1;
  if (spent_ <= kMaxSpent && !Work::Spent()) return true;
  state_.NoteEndlessExpansion(offset);
  return false;
}

void ShellInterpreter::Run(TracedText script) {
  scripts_.push_back(std::move(script));
  if (MayPipeCompound(scripts_.back().text)) piping_.insert(&scripts_.back());
  ShellScanner scanner(&scripts_.back(), &state_);
  const Deeper deeper(this, &scanner);
  const Jump outer = jump_;
  ReadList(&scanner, Mode::kReached, {});
  jump_ = outer;  // what ends an inner script does not end the one around it
}

bool ShellInterpreter::Spend(ShellScanner* scanner, size_t bytes) {
  spent_ += bytes + 1;
  if (spent_ <= kMaxSpent && !Work::Spent()) return true;
  state_.NoteEndlessExpansion(scanner->Offset());
  scanner->StepToEnd();
  return false;
}

bool ShellInterpreter::SpendSince(ShellScanner* scanner, size_t begin) {
  return Spend(scanner, scanner->at() - std::min(begin, scanner->at()));
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
    if (scanner->Done() || AtAny(*scanner, stops)) return status;
    const size_t before = scanner->at();
    status = ReadAndOr(scanner, UnlessJumped(mode));
    if (scanner->at() == before) scanner->Step();  // a word that ends nothing that was begun
  }
}

ShellInterpreter::Status ShellInterpreter::ReadUpTo(ShellScanner* scanner, Mode mode, absl::string_view closing) {
  const Status status = ReadList(scanner, mode, Stops(&closing, 1));
  scanner->Take(closing);
  return status;
}

ShellInterpreter::Status ShellInterpreter::ReadAndOr(ShellScanner* scanner, Mode mode) {
  state_.TakeAssumption();
  const size_t begin = scanner->at();
  Status status = ReadPipeline(scanner, mode);
  while (true) {
    scanner->SkipBlanks();
    const size_t end = scanner->at();
    const bool both = scanner->Take("&&");
    if (!both && !scanner->Take("||")) return status;
    scanner->SkipBlankLines();
    // A command in front of && is taken to succeed: that is how scripts are meant to go.
    const Status wanted = status.has_value() ? Status(*status == both) : both && ran_ ? Status(true) : status;
    const bool assumed = state_.TakeAssumption();
    const Mode next_mode = every_branch_ && wanted.has_value() ? mode : Under(mode, wanted, assumed);
    if (next_mode == Mode::kDoubtful && IsSure(mode) && !every_branch_) NoteUndecided(*scanner, begin, end);
    const ShellState::Doubt doubt(&state_, next_mode == Mode::kDoubtful && !wanted.has_value());
    const Status next = ReadPipeline(scanner, UnlessJumped(next_mode));
    if (!status.has_value()) continue;
    if (*status == both) status = next;
  }
}

ShellInterpreter::Status ShellInterpreter::ReadPipeline(ShellScanner* scanner, Mode mode) {
  scanner->SkipBlanks();
  const bool negated = scanner->Bare() == "!" && scanner->Take("!");
  if (negated) scanner->SkipBlanks();
  Status status =
      mode != Mode::kSkipped && RunsInSubshell(*scanner) ? ReadApart(scanner, mode) : ReadCommand(scanner, mode);
  for (scanner->SkipBlanks(); scanner->Peek() == '|' && scanner->Peek(1) != '|'; scanner->SkipBlanks()) {
    scanner->Step(scanner->Peek(1) == '&' ? 2 : 1);
    scanner->SkipBlankLines();
    if (mode != Mode::kSkipped && (CompoundAt(*scanner) != nullptr || ChangesVariables(*scanner))) {
      ReadApart(scanner, mode);
    } else {
      ReadCommand(scanner, mode);
    }
    status = std::nullopt;
  }
  return negated && status.has_value() ? Status(!*status) : status;
}

// ---- commands

ShellInterpreter::Reader ShellInterpreter::CompoundAt(const ShellScanner& scanner) {
  struct Keyword {
    absl::string_view word;
    Reader reader;
  };
  static constexpr Keyword kKeywords[] = {
      {"{", &ShellInterpreter::ReadGroup},     {"if", &ShellInterpreter::ReadIf},
      {"case", &ShellInterpreter::ReadCase},   {"for", &ShellInterpreter::ReadFor},
      {"select", &ShellInterpreter::ReadFor},  {"while", &ShellInterpreter::ReadWhile},
      {"until", &ShellInterpreter::ReadWhile}, {"[[", &ShellInterpreter::ReadTest},
      {"[", &ShellInterpreter::ReadTest},      {"test", &ShellInterpreter::ReadTest},
  };
  if (scanner.AtText("((")) return &ShellInterpreter::ReadArithmetic;
  if (scanner.AtText("(")) return &ShellInterpreter::ReadSubshell;
  const absl::string_view bare = scanner.Bare();
  const auto* keyword =
      std::find_if(std::begin(kKeywords), std::end(kKeywords), [bare](const Keyword& row) { return row.word == bare; });
  return keyword == std::end(kKeywords) ? nullptr : keyword->reader;
}

ShellInterpreter::Status ShellInterpreter::ReadCommand(ShellScanner* scanner, Mode mode) {
  scanner->SkipBlanks();
  ran_ = false;
  Work::Spend(kCommandCosts);
  if (Work::Spent()) scanner->StepToEnd();
  if (scanner->AtEndOfCommand()) return true;
  Status status = true;
  if (const Reader reader = CompoundAt(*scanner); reader != nullptr) {
    status = (this->*reader)(scanner, mode);
  } else if (!ReadFunction(scanner, mode)) {
    return mode == Mode::kSkipped ? SkipSimple(scanner) : ReadSimple(scanner, mode);
  }
  // What follows a compound command are its redirections.
  for (scanner->SkipBlanks(); scanner->SkipRedirection(); scanner->SkipBlanks()) {
  }
  scanner->TakeHereDocument();
  return status;
}

ShellInterpreter::Status ShellInterpreter::ReadSubshell(ShellScanner* scanner, Mode mode) {
  scanner->Take("(");
  if (mode == Mode::kSkipped) return ReadUpTo(scanner, mode, ")");
  return Apart([&] { return ReadUpTo(scanner, mode, ")"); });
}

ShellInterpreter::Status ShellInterpreter::ReadApart(ShellScanner* scanner, Mode mode) {
  return Apart([&] { return ReadCommand(scanner, mode); });
}

ShellInterpreter::Status ShellInterpreter::Apart(absl::FunctionRef<Status()> read) {
  const ShellState::Inside inside(&state_);
  const Jump outer = jump_;
  const Status status = read();
  jump_ = outer;
  return status;
}

ShellInterpreter::Status ShellInterpreter::ReadGroup(ShellScanner* scanner, Mode mode) {
  scanner->Take("{");
  return ReadUpTo(scanner, mode, "}");
}

}  // namespace flightplan
