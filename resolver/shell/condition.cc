#include "resolver/shell/condition.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "resolver/shell/raw.h"

namespace flightplan {
namespace {

using Truth = std::optional<bool>;

constexpr int kMaxDepth = 32;

Truth And(Truth a, Truth b) {
  if (a == false || b == false) return false;
  return a.has_value() && b.has_value() ? Truth(true) : std::nullopt;
}
Truth Not(Truth a) { return a.has_value() ? Truth(!*a) : std::nullopt; }
Truth Or(Truth a, Truth b) { return Not(And(Not(a), Not(b))); }

// `expressions`: [[ evaluates both sides, which is not followed here; of what is no number [ complains and goes on, and
// the condition does not hold.
Truth CompareNumbers(absl::string_view op, absl::string_view left, absl::string_view right, bool expressions) {
  int64_t a = 0, b = 0;
  const auto read = [expressions](absl::string_view text, int64_t* number) {
    text = absl::StripAsciiWhitespace(text);
    return (expressions && text.empty()) || absl::SimpleAtoi(text, number);
  };
  if (!read(left, &a) || !read(right, &b)) return expressions ? std::nullopt : Truth(false);
  if (op == "-eq") return a == b;
  if (op == "-ne") return a != b;
  if (op == "-lt") return a < b;
  if (op == "-le") return a <= b;
  if (op == "-gt") return a > b;
  return a >= b;  // -ge
}

bool IsNumeric(absl::string_view op) {
  return op == "-eq" || op == "-ne" || op == "-lt" || op == "-le" || op == "-gt" || op == "-ge";
}
bool IsEqual(absl::string_view op) { return op == "=" || op == "=="; }
bool IsBinary(absl::string_view op) {
  return IsNumeric(op) || IsEqual(op) || op == "!=" || op == "=~" || op == "<" || op == ">" || op == "-nt" ||
         op == "-ot" || op == "-ef";
}

class Parser {
 public:
  Parser(absl::Span<const TestWord> words, bool patterns) : words_(words), patterns_(patterns) {}

  Truth Parse() {
    if (words_.empty()) return false;
    const Truth truth = AnyOf(0);
    return at_ == words_.size() ? truth : std::nullopt;
  }

 private:
  bool Has(size_t ahead = 0) const { return at_ + ahead < words_.size(); }
  const TracedText& Value(size_t ahead = 0) const { return words_[at_ + ahead].value; }
  bool Is(absl::string_view op, size_t ahead = 0) const {
    return Has(ahead) && words_[at_ + ahead].plain && Value(ahead).text == op;
  }
  bool Take(absl::string_view op) {
    if (!Is(op)) return false;
    ++at_;
    return true;
  }

  Truth AnyOf(int depth) {
    Truth truth = AllOf(depth);
    while (Take("||") || Take("-o")) truth = Or(truth, AllOf(depth));
    return truth;
  }
  Truth AllOf(int depth) {
    Truth truth = Term(depth);
    while (Take("&&") || Take("-a")) truth = And(truth, Term(depth));
    return truth;
  }

  Truth Term(int depth) {
    if (depth > kMaxDepth || !Has()) return std::nullopt;
    if (Has(2) && words_[at_ + 1].plain && IsBinary(Value(1).text)) return Compare();
    if (Take("!")) return Not(Term(depth + 1));
    if (Take("(")) {
      const Truth truth = AnyOf(depth + 1);
      return Take(")") ? truth : std::nullopt;
    }
    if (Has(1) && words_[at_].plain && Value().text.size() == 2 && Value().text[0] == '-') {
      const char op = Value().text[1];
      const TracedText& operand = Value(1);
      at_ += 2;
      if ((op != 'z' && op != 'n') || operand.unknown()) return std::nullopt;  // the others ask for files
      return (op == 'z') == operand.text.empty();
    }
    const TracedText& alone = Value();
    ++at_;
    return alone.unknown() ? std::nullopt : Truth(!alone.text.empty());
  }

  Truth Compare() {
    const TracedText& left = Value(0);
    const absl::string_view op = Value(1).text;
    const TracedText& right = Value(2);
    const bool pattern = patterns_ && words_[at_ + 2].plain;
    at_ += 3;
    if (left.unknown() || right.unknown() || op == "=~" || op == "-nt" || op == "-ot" || op == "-ef")
      return std::nullopt;
    if (IsNumeric(op)) return CompareNumbers(op, left.text, right.text, patterns_);
    if (op == "<") return left.text < right.text;
    if (op == ">") return left.text > right.text;
    const bool same = pattern ? MatchesGlob(right.text, left.text) : left.text == right.text;
    return same == IsEqual(op);
  }

  absl::Span<const TestWord> words_;
  const bool patterns_;
  size_t at_ = 0;
};

}  // namespace

std::optional<bool> ShellTest(absl::Span<const TestWord> words, bool patterns) {
  return Parser(words, patterns).Parse();
}

}  // namespace flightplan
