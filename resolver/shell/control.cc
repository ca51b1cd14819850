// Control flow: if, case, for and while, the conditions they hang on, and what a function's definition holds.
#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/shell/interpreter.h"
#include "resolver/shell/raw.h"

namespace flightplan {
namespace {

constexpr size_t kMaxRounds = 256;  // of one loop
constexpr absl::string_view kBranchEnds[] = {"elif", "else", "fi"};
constexpr absl::string_view kArmEnds[] = {";;", "esac"};
constexpr absl::string_view kUndecided = "only a run would know this condition; all its branches are read";

bool IsFunctionName(char c) { return IsShellName(c) || c == '-' || c == '.' || c == ':'; }

}  // namespace

// ---- conditions

ShellInterpreter::Mode ShellInterpreter::ReadCondition(ShellScanner* scanner, Mode mode, absl::string_view closing,
                                                       bool negated, Status* status) {
  state_.TakeAssumption();
  const size_t begin = scanner->at();
  const Status found = ReadList(scanner, mode, Stops(&closing, 1));
  *status = found.has_value() && !every_branch_ ? Status(*found != negated) : std::nullopt;
  const bool assumed = state_.TakeAssumption();
  if (mode != Mode::kSkipped && !status->has_value()) NoteUndecided(*scanner, begin, scanner->at());
  scanner->Take(closing);
  return Under(mode, *status, assumed);
}

void ShellInterpreter::NoteUndecided(const ShellScanner& scanner, size_t begin, size_t end) {
  const absl::string_view text = absl::string_view(scanner.script().text).substr(begin, end - begin);
  const auto offset = begin < scanner.script().offsets.size() ? scanner.script().offsets[begin] : -1;
  state_.NotJudged(offset, absl::StripAsciiWhitespace(text), std::string(kUndecided));
}

// [[ ... ]], [ ... ] or test ...
ShellInterpreter::Status ShellInterpreter::ReadTest(ShellScanner* scanner, Mode mode) {
  const absl::string_view opening = scanner->Bare();
  const bool patterns = opening == "[[";
  if (mode == Mode::kSkipped) {
    SkipTest(scanner, patterns);
    return true;
  }
  scanner->Step(opening.size());
  const AssumingUnset assuming(&state_);
  const std::vector<TestWord> words = scanner->ReadTest(patterns ? "]]" : opening == "[" ? "]" : "");
  if (every_branch_) return std::nullopt;
  return ShellTest(words, patterns);
}

void ShellInterpreter::SkipTest(ShellScanner* scanner, bool patterns) {
  while (!scanner->Done() && (patterns || !scanner->AtEndOfCommand())) {
    const bool last = patterns && scanner->Bare() == "]]";
    scanner->SkipWord();
    if (last) return;
    patterns ? scanner->SkipBlankLines() : scanner->SkipBlanks();
  }
}

ShellInterpreter::Status ShellInterpreter::ReadArithmetic(ShellScanner* scanner, Mode mode) {
  scanner->Take("((");
  if (mode == Mode::kSkipped) {
    scanner->SkipArithmetic();
    return true;
  }
  const AssumingUnset assuming(&state_);
  const std::optional<int64_t> value = scanner->ReadArithmetic();
  return value.has_value() && !every_branch_ ? Status(*value != 0) : std::nullopt;
}

// ---- branches

ShellInterpreter::Status ShellInterpreter::ReadIf(ShellScanner* scanner, Mode mode) {
  Mode rest = mode;  // of the branches behind those already read
  bool doubtful = false;
  scanner->Take("if");
  do {
    Status status;
    const Mode taken = ReadCondition(scanner, rest, "then", false, &status);
    doubtful = doubtful || (rest != Mode::kSkipped && !status.has_value());
    const ShellState::Doubt doubt(&state_, doubtful);
    ReadList(scanner, UnlessJumped(taken), kBranchEnds);
    if (rest != Mode::kSkipped) {
      rest = !status.has_value() ? Mode::kDoubtful : *status ? Mode::kSkipped : rest;
    }
  } while (scanner->Take("elif"));
  if (scanner->Take("else")) {
    const ShellState::Doubt doubt(&state_, doubtful);
    ReadList(scanner, UnlessJumped(rest), kBranchEnds);
  }
  scanner->Take("fi");
  return std::nullopt;
}

ShellInterpreter::Status ShellInterpreter::ReadCase(ShellScanner* scanner, Mode mode) {
  scanner->Take("case");
  scanner->SkipBlanks();
  state_.TakeAssumption();
  const TracedText word = ReadCaseWord(scanner, mode);
  const bool assumed = state_.TakeAssumption();
  const bool unknown = word.unknown() || every_branch_;
  scanner->SkipBlankLines();
  scanner->Take("in");
  bool taken_one = false, falls = false;  // behind ;& the next arm is entered whatever its patterns are
  while (true) {
    scanner->SkipBlankLines();
    if (scanner->Done() || (scanner->Bare() == "esac" && scanner->Take("esac"))) return std::nullopt;
    const size_t before = scanner->at();
    const bool matches = ReadCasePatterns(scanner, mode, word.text);
    const bool enters = falls || (matches && !taken_one);
    const Status taken = unknown ? Status() : Status(enters);
    const ShellState::Doubt doubt(&state_, unknown);
    ReadList(scanner, UnlessJumped(Under(mode, taken, assumed)), kArmEnds);
    falls = false;
    if (!scanner->Take(";;&")) {  // behind which the next patterns are tried
      falls = !scanner->Take(";;") && scanner->Take(";&") && enters;
      taken_one = taken_one || (enters && !falls);
    }
    if (scanner->at() == before) scanner->Step();
  }
}

TracedText ShellInterpreter::ReadCaseWord(ShellScanner* scanner, Mode mode) {
  if (mode == Mode::kSkipped) {
    scanner->SkipWord();
    return {};
  }
  const int offset = scanner->Offset();
  const AssumingUnset assuming(&state_);
  TracedText word = scanner->ReadJoined();
  if (word.unknown() || every_branch_) {
    state_.NotJudged(offset, absl::StrCat("case ", word.text), std::string(kUndecided));
  }
  return word;
}

// [(] pattern | pattern ) of one arm: whether one of them matches.
bool ShellInterpreter::ReadCasePatterns(ShellScanner* scanner, Mode mode, absl::string_view word) {
  bool matches = false;
  scanner->Take("(");
  for (scanner->SkipBlanks(); !scanner->Done() && scanner->Peek() != ')' && scanner->Peek() != '\n';
       scanner->SkipBlanks()) {
    if (scanner->Take("|")) continue;
    const size_t before = scanner->at();
    if (mode == Mode::kSkipped) {
      scanner->SkipWord();
    } else {
      const TracedText pattern = scanner->ReadJoined();
      matches = matches || (!pattern.unknown() && MatchesGlob(pattern.text, word));
    }
    if (scanner->at() == before) scanner->Step();
  }
  scanner->Take(")");
  return matches;
}

// ---- loops

bool ShellInterpreter::ReadRound(ShellScanner* scanner, size_t body, Mode mode, absl::string_view closing) {
  mode = UnlessJumped(mode);
  scanner->GoTo(body);
  const ShellState::Doubt doubt(&state_, mode == Mode::kDoubtful);
  ++loops_;
  ReadUpTo(scanner, mode, closing);
  --loops_;
  if (!SpendSince(scanner, body) || mode == Mode::kSkipped) return false;
  if (jump_ == Jump::kNone) return true;
  if (jump_ == Jump::kReturn || jump_ == Jump::kExit || --jumped_loops_ > 0) return false;
  return std::exchange(jump_, Jump::kNone) == Jump::kContinue;
}

absl::string_view ShellInterpreter::ReadDo(ShellScanner* scanner) {
  for (scanner->SkipBlankLines(); scanner->Take(";"); scanner->SkipBlankLines()) {
  }
  const bool group = scanner->Peek() == '{';
  scanner->Take(group ? "{" : "do");
  return group ? "}" : "done";
}

ShellInterpreter::Status ShellInterpreter::ReadFor(ShellScanner* scanner, Mode mode) {
  if (scanner->Bare() == "select" && mode != Mode::kSkipped) mode = Mode::kDoubtful;  // a person chooses
  scanner->SkipWord();
  scanner->SkipBlanks();
  if (scanner->Take("((")) return ReadCountedFor(scanner, mode);
  const std::string name(scanner->Bare());
  scanner->SkipWord();
  const std::optional<ShellWords> items = ReadForItems(scanner, mode);
  const absl::string_view closing = ReadDo(scanner);
  const size_t body = scanner->at();
  if (items.has_value() && items->empty() && mode != Mode::kSkipped && !every_branch_) mode = Mode::kSkipped;
  const size_t size = items.has_value() && IsSure(mode) ? std::max<size_t>(items->size(), 1) : 1;
  for (size_t round = 0; round < size; ++round) {
    if (round == kMaxRounds) {  // what the others change is not known
      NoteUndecided(*scanner, body, scanner->at());
      mode = Mode::kDoubtful;
    }
    const bool many = items.has_value() && round < items->size() && ShellState::StandsForMany((*items)[round].value);
    const Mode taken = many && IsSure(mode) ? Mode::kDoubtful : mode;  // how often is not known
    if (IsVariableName(name) && mode != Mode::kSkipped && items.has_value() && round < items->size()) {
      state_.set_doubtful(mode == Mode::kDoubtful);
      state_.Set(name, {(*items)[round]}, scanner->Offset());
    }
    if (!ReadRound(scanner, body, taken, closing) || mode == Mode::kDoubtful) break;
  }
  return true;
}

// in WORD ..., or the script's arguments where that is not written. Nothing: those are not known.
std::optional<ShellWords> ShellInterpreter::ReadForItems(ShellScanner* scanner, Mode mode) {
  scanner->SkipBlankLines();
  if (scanner->Bare() != "in" || !scanner->Take("in")) {
    const ShellWords* arguments = state_.Find("@");
    return arguments == nullptr ? std::nullopt : std::optional(ShellState::Copy(*arguments));
  }
  ShellWords items;
  for (scanner->SkipBlanks(); !scanner->AtEndOfCommand() && items.size() <= kMaxArguments; scanner->SkipBlanks()) {
    if (mode == Mode::kSkipped) {
      scanner->SkipWord();
    } else {
      for (ShellWord& word : scanner->ReadWord()) items.push_back(std::move(word));
    }
  }
  return items;
}

// (( before; condition; after )), behind the brackets that open it.
ShellInterpreter::Status ShellInterpreter::ReadCountedFor(ShellScanner* scanner, Mode mode) {
  const size_t begin = scanner->at();
  scanner->SkipArithmetic();
  const size_t end = scanner->at();
  const absl::string_view text = scanner->script().text;
  const absl::string_view head = absl::StripSuffix(text.substr(begin, end - begin), "))");
  const size_t first = std::min(head.find(';'), head.size());
  const size_t second = std::min(head.find(';', first + 1), head.size());
  // An expression that is left out is true.
  const auto evaluate = [this, scanner, begin, head](size_t from, size_t to) -> std::optional<int64_t> {
    const AssumingUnset assuming(&state_);
    const bool written = from < to && !absl::StripAsciiWhitespace(head.substr(from, to - from)).empty();
    return written ? scanner->ArithmeticBetween(begin + from, begin + to) : 1;
  };
  const absl::string_view closing = ReadDo(scanner);
  const size_t body = scanner->at();
  state_.set_doubtful(mode == Mode::kDoubtful);
  if (mode != Mode::kSkipped) evaluate(0, first);
  for (size_t round = 0;; ++round) {
    state_.TakeAssumption();
    const bool judged = IsSure(mode) && !every_branch_ && round < kMaxRounds;
    const std::optional<int64_t> value = judged ? evaluate(first + 1, second) : std::nullopt;
    const Status status = value.has_value() ? Status(*value != 0) : std::nullopt;
    if (mode != Mode::kSkipped && !status.has_value()) NoteUndecided(*scanner, begin, begin + head.size());
    if (status == false && round > 0) return true;  // its body has been read
    const Mode taken = Under(mode, status, state_.TakeAssumption());
    if (!ReadRound(scanner, body, taken, closing) || !IsSure(taken)) return true;
    state_.set_doubtful(false);
    evaluate(second + 1, head.size());
  }
}

ShellInterpreter::Status ShellInterpreter::ReadWhile(ShellScanner* scanner, Mode mode) {
  const bool until = scanner->Bare() == "until";
  scanner->SkipWord();
  const size_t begin = scanner->at();
  for (size_t round = 0; round <= kMaxRounds; ++round) {
    scanner->GoTo(begin);
    Status status;
    Mode taken = ReadCondition(scanner, mode, "do", until, &status);
    if (round == kMaxRounds && IsSure(taken)) {
      NoteUndecided(*scanner, begin, scanner->at());
      taken = Mode::kDoubtful;
    }
    if (!ReadRound(scanner, scanner->at(), taken, "done") || !IsSure(taken)) break;
    if (!SpendSince(scanner, begin)) break;
  }
  return true;
}

// ---- functions

// NAME() body, or function NAME [()] body: kept until it is called.
bool ShellInterpreter::ReadFunction(ShellScanner* scanner, Mode mode) {
  constexpr absl::string_view kKeyword = "function";
  const std::string& text = scanner->script().text;
  size_t at = scanner->at();
  const bool keyword = scanner->Bare() == kKeyword;
  if (keyword) at = EndOfBlanks(text, at + kKeyword.size());
  const size_t begin = at;
  while (at < text.size() && IsFunctionName(text[at])) ++at;
  if (at == begin) return false;
  const std::string name = text.substr(begin, at - begin);
  at = EndOfBlanks(text, at);
  const bool brackets = at < text.size() && text[at] == '(';
  if (brackets) {
    at = EndOfBlanks(text, at + 1);
    if (at >= text.size() || text[at] != ')') return false;
    ++at;
  }
  if (!keyword && !brackets) return false;
  scanner->GoTo(at);
  scanner->SkipBlankLines();
  if (mode != Mode::kSkipped) functions_.insert_or_assign(name, Place{&scanner->script(), scanner->at()});
  ReadCommand(scanner, Mode::kSkipped);
  return true;
}

}  // namespace flightplan
