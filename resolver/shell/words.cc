#include "resolver/shell/words.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "resolver/base/work.h"
#include "resolver/shell/brace_lists.h"
#include "resolver/shell/fields.h"
#include "resolver/shell/raw.h"

namespace flightplan {
namespace {

constexpr ByteSet kNotPlain(" \t\r\n;&|()<>'\"$`\\");  // all else means itself in a word
constexpr size_t kMaxTestWords = 256;
constexpr size_t kMaxBraceWords = 2 * kMaxArguments + 1;  // of one word: too many for a command

bool EndsCommand(char c) { return c == '\n' || c == ';' || c == '&' || c == '|'; }

// Where the `))` of the expression at `at` stands; brackets inside it have their own.
size_t EndOfArithmetic(absl::string_view text, size_t at) {
  for (int inside = 0; at < text.size() && !(inside == 0 && absl::StartsWith(text.substr(at), "))")); ++at) {
    inside += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
  }
  return at;
}

}  // namespace

bool ShellScanner::AtEndOfCommand() const { return Done() || EndsCommand(Peek()); }

bool ShellScanner::AtText(absl::string_view text) const {
  return absl::StartsWith(absl::string_view(script_.text).substr(std::min(at_, script_.text.size())), text);
}

bool ShellScanner::Take(absl::string_view text) {
  const bool here = !Done() && AtText(text);
  if (here) at_ += text.size();
  return here;
}

void ShellScanner::SkipBlanks() {
  while (!Done()) {
    if (IsShellBlank(Peek())) {
      ++at_;
    } else if (Peek() == '\\' && (Peek(1) == '\n' || (Peek(1) == '\r' && Peek(2) == '\n'))) {
      at_ += Peek(1) == '\n' ? 2 : 3;
    } else if (Peek() == '#') {
      while (!Done() && Peek() != '\n') ++at_;
    } else {
      return;
    }
  }
}

void ShellScanner::SkipBlankLines() {
  for (SkipBlanks(); Peek() == '\n' && !Done(); SkipBlanks()) SkipLine();
}

absl::string_view ShellScanner::Bare() const {
  const size_t end = kNotPlain.FindIn(script_.text, at_);
  const bool whole = end >= script_.text.size() || !absl::StrContains("'\"$`\\", script_.text.substr(end, 1));
  return whole ? absl::string_view(script_.text).substr(at_, end - at_) : absl::string_view();
}

void ShellScanner::SkipWord() {
  const size_t end = EndOfWord(script_.text, at_);
  at_ = end > at_ ? end : std::min(at_ + 1, script_.text.size());
}

// ---- words

ShellWords ShellScanner::ReadWord() {
  const bool substitution = Peek() == '`' || (AtText("$(") && !AtText("$(("));  // in no quotes
  ShellWords words = ReadFieldsOrLists();
  if (substitution && words.size() == 1) words[0].value.many = words[0].value.IsOneReference();
  return words;
}

ShellWords ShellScanner::ReadFieldsOrLists() {
  const size_t before = at_;
  if (at_ < no_lists_begin_ || at_ >= no_lists_end_) {
    const size_t end = EndOfWord(script_.text, at_);
    const absl::string_view word = absl::string_view(script_.text).substr(at_, end - at_);
    Work::Spend(word.size());
    if (MayHoldBraceList(word) && depth_ < kMaxShellNesting) return ReadBraceLists(end);
    no_lists_begin_ = at_;
    no_lists_end_ = end;
  }
  ShellWords words = ReadFields(Splitting::kAtBlanks);
  if (at_ == before) ++at_;
  return words;
}

// The word up to `end`, as each of those that its lists in braces make of it.
ShellWords ShellScanner::ReadBraceLists(size_t end) {
  const size_t begin = std::exchange(at_, end);
  const TracedText word = Raw(begin, end);
  const int offset = word.FirstOffset(-1);
  const std::optional<std::vector<TracedText>> parts = ExpandBraceLists(word, kMaxBraceWords);
  if (!parts.has_value()) {
    TracedText unknown = UnknownText(begin, false);
    state_.NotJudged(offset, unknown.text, "more words than are read");
    return {{std::move(unknown), offset}};
  }
  ShellWords words;
  for (const TracedText& part : *parts) {
    ShellScanner inner(&part, &state_);
    inner.depth_ = depth_ + 1;
    for (ShellWord& field : inner.ReadFields(Splitting::kAtBlanks)) words.push_back(std::move(field));
  }
  return words;
}

TracedText ShellScanner::ReadJoined() { return JoinWords(ReadFields(Splitting::kNever)); }

TracedText ShellScanner::JoinWords(const ShellWords& words) const {
  const ShellWords* separators = state_.Find("IFS");
  const bool blank = separators == nullptr || separators->empty();
  TracedText joined;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && blank) joined.Add(' ', -1);
    if (i > 0 && !blank && !separators->front().value.text.empty()) joined.Add(separators->front().value.text[0], -1);
    if (i == 0) {
      joined = words[i].value;
    } else {
      joined.Append(words[i].value);
    }
  }
  return joined;
}

ShellWords ShellScanner::ReadFields(Splitting splitting) {
  Work::Spend(kShellWordCosts);
  Fields fields(Offset());
  while (!TooLong(fields) && !AtEndOfCommand()) {
    const char c = Peek();
    if (IsShellBlank(c) || c == ')' || c == '<' || c == '>') break;
    if (c == '(' && splitting == Splitting::kAtBlanks) break;
    if (c == '\\' && Peek(1) == '\n') {  // the word goes on where the next line begins with it
      at_ += 2;
    } else if (c == '\'') {
      ReadSingleQuoted(&fields);
    } else if (c == '"') {
      ReadDoubleQuoted(&fields);
    } else if (c == '$' && Peek(1) == '\'') {
      ReadEscaped(&fields);
    } else if (c == '$' || c == '`') {
      Expand(&fields, splitting);
    } else if (const size_t run = kNotPlain.FindIn(script_.text, at_) - at_; run > 0) {
      const size_t taken = std::min(run, kMaxExpandedBytes + 1 - fields.size());
      fields.Run(script_, at_, taken);
      at_ += taken;
    } else {
      if (c == '\\') ++at_;
      if (!Done()) fields.Char(Peek(), Offset());
      if (!Done()) ++at_;
    }
  }
  return fields.Take();
}

void ShellScanner::ReadSingleQuoted(Fields* fields) {
  fields->Quoted();
  for (++at_; !Done() && Peek() != '\''; ++at_) fields->Char(Peek(), Offset());
  if (!Done()) ++at_;
}

void ShellScanner::ReadEscaped(Fields* fields) {
  const size_t end = EndOfEscapedQuotes(script_.text, at_ + 1);
  fields->Quoted();
  for (at_ += 2; at_ < end && Peek() != '\'' && !TooLong(*fields);) {
    const int offset = Offset();
    fields->Char(EscapedByte(script_.text, &at_), offset);
  }
  at_ = std::min(end, script_.text.size());
}

void ShellScanner::ReadDoubleQuoted(Fields* fields) {
  bool expanded = false;  // "${NAME[@]}" of no items is no word
  ++at_;
  while (!Done() && Peek() != '"' && !TooLong(*fields)) {
    const bool escape = Peek() == '\\';
    if (escape && Peek(1) == '\n') {
      at_ += 2;
    } else if (!escape && (Peek() == '$' || Peek() == '`')) {
      Expand(fields, Splitting::kNever);
      expanded = true;
    } else {
      const char next = Peek(1);
      if (escape && (next == '$' || next == '`' || next == '"' || next == '\\')) ++at_;
      if (!Done()) fields->Char(Peek(), Offset());
      ++at_;
    }
  }
  if (!expanded) fields->Quoted();
  if (!Done()) ++at_;
  at_ = std::min(at_, script_.text.size());
}

// ---- conditions

std::vector<TestWord> ShellScanner::ReadTest(absl::string_view closing) {
  const bool patterns = closing == "]]";
  std::vector<TestWord> words;
  while (words.size() < kMaxTestWords) {
    if (patterns) {
      SkipBlankLines();
    } else {
      SkipBlanks();
    }
    if (Done() || (!patterns && AtEndOfCommand())) break;
    if (!closing.empty() && Bare() == closing) {
      at_ += closing.size();
      return words;
    }
    const char c = Peek();
    if (patterns && absl::StrContains("()<>&|;", absl::string_view(&c, 1))) {
      const size_t length = Peek(1) == c && (c == '&' || c == '|') ? 2 : 1;
      words.push_back({Raw(at_, at_ + length), true});
      at_ += length;
      continue;
    }
    if (!patterns && SkipRedirection()) continue;
    const bool plain = c != '"' && c != '\'';
    ShellWords fields;
    const size_t before = at_;
    if (patterns) {
      fields = {{ReadJoined(), 0}};
    } else {
      fields = ReadFields(Splitting::kAtBlanks);
    }
    if (at_ == before) ++at_;
    for (ShellWord& field : fields) words.push_back({std::move(field.value), plain});
  }
  return words;
}

std::optional<int64_t> ShellScanner::ReadArithmetic() {
  const size_t begin = at_;
  SkipArithmetic();
  return Evaluate(Within(begin, EndOfArithmetic(script_.text, begin)));
}

void ShellScanner::SkipArithmetic() {
  at_ = EndOfArithmetic(script_.text, at_);
  Take("))");
}

bool ShellScanner::TooLong(const Fields& fields) {
  if (fields.size() <= kMaxExpandedBytes && !Work::Spent()) return false;
  StopExpanding(Offset());
  return true;
}

void ShellScanner::StopExpanding(int offset) {
  state_.NoteEndlessExpansion(offset);
  StepToEnd();
}

}  // namespace flightplan
