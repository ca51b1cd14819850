#include "resolver/read/python_program.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "resolver/base/byte_order_mark.h"

namespace flightplan {
namespace {

bool IsNameByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80) != 0; }

bool IsAssignment(absl::string_view text, size_t at) {
  const char before = at == 0 ? ' ' : text[at - 1];
  const bool compares = at + 1 < text.size() && text[at + 1] == '=';
  return !compares && !absl::StrContains("=!<>:", absl::string_view(&before, 1));
}

bool IsCompound(absl::string_view text) {
  constexpr absl::string_view kHeads[] = {"if",   "elif", "else",   "for",     "while", "def",
                                          "with", "try",  "except", "finally", "class", "async"};
  const absl::string_view word = PythonWord(text);
  if (std::find(std::begin(kHeads), std::end(kHeads), word) != std::end(kHeads)) return true;
  // Words that may be names, too.
  return (word == "match" || word == "case") && text.size() > word.size() && text[word.size()] == ' ' &&
         FindInPython(text, '=') == absl::string_view::npos && FindInPython(text, ':') != absl::string_view::npos;
}

class Splitter {
 public:
  explicit Splitter(absl::string_view program) : program_(program) {}

  std::vector<PythonStatement> Split() {
    while (at_ < program_.size()) Line();
    return std::move(out_);
  }

 private:
  // A line with all that goes on below it.
  void Line() {
    size_t begin = at_;
    int indent = 0;
    while (begin < program_.size() && (program_[begin] == ' ' || program_[begin] == '\t' || program_[begin] == '\f')) {
      indent = program_[begin] == '\t' ? (indent / 8 + 1) * 8 : indent + 1;
      ++begin;
    }
    size_t first = begin;
    PythonCursor cursor(program_, begin);
    bool continued = false;
    while (!cursor.AtEnd()) {
      const char c = cursor.byte();
      if (c == '\\' && cursor.at() + 1 < program_.size()) {
        continued = true;
        cursor.Step();
        if (!cursor.AtEnd() && cursor.byte() == '\r') cursor.Step();
        if (!cursor.AtEnd()) cursor.Step();
        continue;
      }
      if (cursor.depth() == 0 && (c == '\n' || c == ';')) {
        Add(first, cursor.at(), &indent, continued);
        continued = false;
        first = cursor.at() + 1;
        if (c == '\n') break;
      }
      cursor.Step();
    }
    if (cursor.AtEnd()) Add(first, program_.size(), &indent, continued);
    at_ = cursor.AtEnd() ? program_.size() : cursor.at() + 1;
  }

  // `indent`: of what follows on the line, which the head of a compound statement raises.
  void Add(size_t begin, size_t end, int* indent, bool continued) {
    if (begin >= end) return;
    absl::string_view text = absl::StripAsciiWhitespace(program_.substr(begin, end - begin));
    if (text.empty() || text[0] == '#') return;
    PythonStatement statement{text, 0, 0, *indent, IsCompound(text), continued};
    Place(&statement);
    const size_t colon = statement.compound ? FindInPython(text, ':') : absl::string_view::npos;
    out_.push_back(statement);
    if (colon == absl::string_view::npos) return;
    out_.back().text = text.substr(0, colon);
    ++*indent;
    const absl::string_view body = absl::StripLeadingAsciiWhitespace(text.substr(colon + 1));
    if (body.empty() || body[0] == '#') return;
    statement.text = body;
    statement.indent = *indent;
    statement.compound = false;
    Place(&statement);
    out_.push_back(statement);
  }

  // Statements come in order, so that lines are counted once.
  void Place(PythonStatement* statement) {
    const size_t begin = static_cast<size_t>(statement->text.data() - program_.data());
    for (; counted_ < begin; ++counted_) {
      if (program_[counted_] != '\n') continue;
      ++line_;
      line_begin_ = counted_ + 1;
    }
    statement->line = line_;
    statement->column = static_cast<int>(begin - line_begin_) + 1;
  }

  absl::string_view program_;
  size_t at_ = 0, counted_ = 0, line_begin_ = 0;
  int line_ = 1;
  std::vector<PythonStatement> out_;
};

}  // namespace

size_t BehindPythonQuote(absl::string_view text, size_t at) {
  const char quote = text[at];
  const bool triple = text.size() - at >= 3 && text[at + 1] == quote && text[at + 2] == quote;
  const absl::string_view close = text.substr(at, triple ? 3 : 1);
  at += close.size();
  while (at < text.size()) {
    if (text[at] == '\\') {
      at += 2;
    } else if (absl::StartsWith(text.substr(at), close)) {
      return at + close.size();
    } else if (!triple && text[at] == '\n') {
      return at;
    } else {
      ++at;
    }
  }
  return text.size();
}

void PythonCursor::Step() {
  const char c = text_[at_];
  if (c == '"' || c == '\'') {
    at_ = BehindPythonQuote(text_, at_);
  } else if (c == '#') {
    at_ = std::min(text_.find('\n', at_), text_.size());
  } else {
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
    ++at_;
  }
}

absl::string_view PythonWord(absl::string_view text) {
  size_t end = 0;
  while (end < text.size() && IsNameByte(text[end])) ++end;
  return text.substr(0, end);
}

bool IsPythonName(absl::string_view text) {
  return !text.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(text[0])) && PythonWord(text) == text;
}

std::vector<PythonStatement> PythonStatements(absl::string_view program) {
  absl::ConsumePrefix(&program, kByteOrderMark);
  return Splitter(program).Split();
}

size_t FindInPython(absl::string_view text, char mark) {
  for (PythonCursor cursor(text); !cursor.AtEnd(); cursor.Step()) {
    if (cursor.depth() > 0 || cursor.byte() != mark) continue;
    const size_t at = cursor.at();
    if (mark == ':' && at + 1 < text.size() && text[at + 1] == '=') continue;
    if (mark == '=' && !IsAssignment(text, at)) continue;
    return at;
  }
  return absl::string_view::npos;
}

std::vector<absl::string_view> SplitPython(absl::string_view text, char mark) {
  std::vector<absl::string_view> parts;
  size_t at = FindInPython(text, mark);
  while (at != absl::string_view::npos) {
    parts.push_back(absl::StripAsciiWhitespace(text.substr(0, at)));
    text.remove_prefix(at + 1);
    at = FindInPython(text, mark);
  }
  parts.push_back(absl::StripAsciiWhitespace(text));
  return parts;
}

}  // namespace flightplan
