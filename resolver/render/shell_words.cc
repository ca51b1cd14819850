#include "resolver/render/shell_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"

namespace flightplan {
namespace {

bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsName(char c) { return IsNameStart(c) || std::isdigit(static_cast<unsigned char>(c)); }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool EndsCommand(char c) { return c == '\n' || c == ';' || c == '&' || c == '|'; }

// A set of bytes.
class ByteSet {
 public:
  explicit constexpr ByteSet(std::string_view bytes) {
    for (const char c : bytes) has_[static_cast<unsigned char>(c)] = true;
  }
  // The first of them in `text` from `begin` on, or its end.
  size_t FindIn(const std::string& text, size_t begin) const {
    while (begin < text.size() && !has_[static_cast<unsigned char>(text[begin])]) ++begin;
    return begin;
  }

 private:
  std::array<bool, 256> has_{};
};
constexpr ByteSet kFieldEnds(" \t\r\n");
constexpr ByteSet kNotPlain(" \t\r\n;&|()'\"$`\\");  // all else means itself in a word

}  // namespace

// Builds the fields of one word: quotes join, unquoted values split at blanks.
class ShellScanner::Fields {
 public:
  explicit Fields(int offset) : offset_(offset) {}

  void Char(char c, int offset) {
    current_.Add(c, offset);
    open_ = true;
  }
  void Run(const TracedText& text, size_t begin, size_t count) {
    const auto offset = text.offsets.begin() + static_cast<std::ptrdiff_t>(begin);
    current_.text.append(text.text, begin, count);
    current_.offsets.insert(current_.offsets.end(), offset, offset + static_cast<std::ptrdiff_t>(count));
    open_ = true;
  }
  void Quoted() { open_ = true; }  // "" is a word
  void Joined(const TracedText& value) {
    current_.Append(value);
    open_ = true;
  }
  void Split(const TracedText& value) {
    if (value.unknown) return Joined(value);
    current_.assumed = current_.assumed || value.assumed;
    for (size_t begin = 0, end = 0; begin < value.text.size(); begin = end + 1) {
      end = kFieldEnds.FindIn(value.text, begin);
      if (end > begin) Run(value, begin, end - begin);
      if (end < value.text.size()) Finish();
    }
  }
  void Finish() {
    if (open_) words_.push_back({std::move(current_), offset_});
    current_ = TracedText();
    open_ = false;
  }
  size_t size() const { return current_.text.size(); }
  ShellWords Take() {
    Finish();
    return std::move(words_);
  }

 private:
  int offset_;
  ShellWords words_;
  TracedText current_;
  bool open_ = false;
};

struct ShellScanner::Reference {
  std::string name;
  TracedText fallback;
  bool has_fallback = false;
  bool all_items = false;  // ${A[@]}
  bool plain = true;       // false: an operator that is not understood
};

bool ShellScanner::AtEndOfCommand() const { return Done() || EndsCommand(Peek()); }

void ShellScanner::SkipBlanks() {
  while (!Done()) {
    if (IsBlank(Peek())) {
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

ShellWords ShellScanner::ReadWord() {
  const size_t before = at_;
  ShellWords words = ReadFields(Splitting::kAtBlanks);
  if (at_ == before) ++at_;
  return words;
}

ShellWords ShellScanner::ReadFields(Splitting splitting) {
  Fields fields(Offset());
  while (!TooLong(fields) && !AtEndOfCommand()) {
    const char c = Peek();
    if (IsBlank(c) || c == ')' || (c == '(' && splitting == Splitting::kAtBlanks)) break;
    if (c == '\\' && Peek(1) == '\n') break;
    if (c == '\'') {
      ReadSingleQuoted(&fields);
    } else if (c == '"') {
      ReadDoubleQuoted(&fields);
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

void ShellScanner::ReadDoubleQuoted(Fields* fields) {
  fields->Quoted();
  ++at_;
  while (!Done() && Peek() != '"' && !TooLong(*fields)) {
    const bool escape = Peek() == '\\';
    if (escape && Peek(1) == '\n') {
      at_ += 2;
    } else if (!escape && (Peek() == '$' || Peek() == '`')) {
      Expand(fields, Splitting::kNever);
    } else {
      const char next = Peek(1);
      if (escape && (next == '$' || next == '`' || next == '"' || next == '\\')) ++at_;
      fields->Char(Peek(), Offset());
      ++at_;
    }
  }
  if (!Done()) ++at_;
}

std::string ShellScanner::ReadAssignment() {
  size_t end = at_;
  while (end < script_.text.size() && IsName(script_.text[end])) ++end;
  if (end == at_ || !IsNameStart(Peek())) return "";
  const absl::string_view behind = absl::string_view(script_.text).substr(end);
  const bool append = absl::StartsWith(behind, "+=");
  if (!append && !absl::StartsWith(behind, "=")) return "";
  const std::string name = script_.text.substr(at_, end - at_);
  at_ = end + (append ? 2 : 1);
  const bool array = Peek() == '(';
  ShellWords items;
  if (array) {
    items = ReadArray();
  } else {
    ShellWord joined;
    joined.offset = Offset();
    for (const ShellWord& word : ReadFields(Splitting::kNever)) joined.value.Append(word.value);
    items.push_back(std::move(joined));
  }
  if (append) {
    state_.Append(name, std::move(items), array, Offset());
  } else {
    state_.Set(name, std::move(items), Offset());
  }
  return name;
}

ShellWords ShellScanner::ReadArray() {
  ShellWords items;
  ++at_;  // (
  while (true) {
    SkipBlanks();
    if (Done()) return items;
    if (Peek() == ')') {
      ++at_;
      return items;
    }
    for (ShellWord& word : ReadWord()) items.push_back(std::move(word));  // a line's end is skipped like a blank
  }
}

// ---- references

void ShellScanner::Expand(Fields* fields, Splitting splitting) {
  const size_t start = at_;
  const int offset = Offset();
  if (Peek() == '`' || Peek(1) == '(') return fields->Joined(SkipSubstitution());
  ++at_;
  if (Peek() != '{' && !IsNameStart(Peek())) {  // $1, $@, $? and a lone $
    const bool special = !Done() && absl::StrContains("@*#?$!0123456789", absl::string_view(&script_.text[at_], 1));
    if (!special) return fields->Char('$', offset);
    TracedText raw;
    raw.Add('$', offset);
    raw.Add(Peek(), Offset());
    raw.unknown = true;
    state_.NotJudged(offset, raw.text, "the script's own arguments are not known");
    ++at_;
    return fields->Joined(raw);
  }
  const ShellWords values = Resolve(start, offset);
  if (!state_.CountExpansion(values)) return StopExpanding(offset);
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) fields->Finish();
    if (splitting == Splitting::kNever) {
      fields->Joined(values[i].value);
    } else {
      fields->Split(values[i].value);
    }
  }
}

// Copies the text of $(...) or `...` without looking into it.
TracedText ShellScanner::SkipSubstitution() {
  TracedText raw;
  const int offset = Offset();
  if (Peek() == '$') {
    raw.Add('$', offset);
    ++at_;
  }
  const size_t opening = raw.text.size() + 1;
  const bool backtick = Peek() == '`';
  int open = 0;
  do {
    const char c = Peek();
    if (!backtick && c == '(') ++open;
    if (!backtick && c == ')') --open;
    raw.Add(c, Offset());
    ++at_;
    if (backtick && raw.text.size() > opening && c == '`') break;
  } while (!Done() && (backtick || open > 0 || raw.text.size() < opening));
  raw.unknown = true;
  state_.NotJudged(offset, Printable(raw.text), "a command's output is not known without running it");
  return raw;
}

// After '$': NAME, {NAME}, {NAME:-default}, {NAME[@]}.
ShellScanner::Reference ShellScanner::ReadReference() {
  Reference reference;
  const bool braces = Peek() == '{';
  if (braces) ++at_;
  while (IsName(Peek())) reference.name += script_.text[at_++];
  if (!braces) return reference;
  const absl::string_view behind = absl::string_view(script_.text).substr(at_);
  if (absl::StartsWith(behind, "[@]") || absl::StartsWith(behind, "[*]")) {
    reference.all_items = true;
    at_ += 3;
  }
  if ((Peek() == ':' && (Peek(1) == '-' || Peek(1) == '=')) || Peek() == '-') {
    at_ += Peek() == ':' ? 2 : 1;
    reference.has_fallback = true;
    while (!Done() && Peek() != '}' && Peek() != '\n') {
      if (Peek() == '$' || Peek() == '`') reference.plain = false;
      if (Peek() != '"' && Peek() != '\'') reference.fallback.Add(Peek(), Offset());
      ++at_;
    }
  }
  while (!Done() && Peek() != '}' && Peek() != '\n') {
    reference.plain = false;
    ++at_;
  }
  if (Peek() == '}') ++at_;
  return reference;
}

// The values a reference stands for; an unknown one is its own spelling.
ShellWords ShellScanner::Resolve(size_t start, int offset) {
  const Reference reference = ReadReference();
  const ShellWords* items = reference.plain && !reference.name.empty() ? state_.Find(reference.name) : nullptr;
  if (items != nullptr) {
    if (reference.all_items || items->empty()) return *items;
    return {items->front()};
  }
  ShellWord word;
  word.offset = offset;
  if (reference.plain && reference.has_fallback) {
    word.value = reference.fallback;
    word.value.assumed = true;
    return {word};
  }
  for (size_t i = start; i < at_; ++i) word.value.Add(script_.text[i], script_.offsets[i]);
  word.value.unknown = true;
  state_.NotJudged(offset, Printable(word.value.text),
                   "the variable is set neither in the script nor in the environment");
  return {word};
}

bool ShellScanner::TooLong(const Fields& fields) {
  if (fields.size() <= kMaxExpandedBytes) return false;
  StopExpanding(Offset());
  return true;
}

void ShellScanner::StopExpanding(int offset) {
  state_.NoteEndlessExpansion(offset);
  StepToEnd();
}

}  // namespace flightplan
