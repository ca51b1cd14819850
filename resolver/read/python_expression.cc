#include "resolver/read/python_expression.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "resolver/plan/reading.h"
#include "resolver/read/python_operator.h"
#include "resolver/read/python_program.h"

namespace flightplan {
namespace {

constexpr int kMostDepth = 64;  // of an expression

// Recursive descent. What cannot be read makes the whole of it unknown.
class Expression {
 public:
  Expression(absl::string_view text, PythonNames* names) : text_(text), names_(names) {}

  PythonResult Whole() {
    PythonResult result = Sequence();
    Skip();
    return at_ == text_.size() && !failed_ ? result : PythonResult();
  }

 private:
  PythonResult Fail() {
    failed_ = true;
    return {};
  }
  bool TooDeep() {
    failed_ = failed_ || depth_ >= kMostDepth;
    return failed_;
  }

  void Skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (absl::ascii_isspace(static_cast<unsigned char>(c)) || c == '\\') {
        ++at_;
      } else {
        return;
      }
    }
  }
  bool At(absl::string_view mark) {
    Skip();
    return absl::StartsWith(text_.substr(at_), mark);
  }
  bool Take(absl::string_view mark) {
    if (!At(mark)) return false;
    at_ += mark.size();
    return true;
  }
  absl::string_view Word() {
    Skip();
    return PythonWord(text_.substr(at_));
  }
  bool TakeWord(absl::string_view word) {
    if (Word() != word) return false;
    at_ += word.size();
    return true;
  }
  PythonResult ValueOf(const PythonResult& result) {
    return result.kind == PythonResult::Kind::kReference ? names_->Read(result) : result;
  }
  static PythonResult OfOptional(std::optional<Value> value) {
    return value.has_value() ? PythonResult::Of(*std::move(value)) : PythonResult();
  }

  // a, b
  PythonResult Sequence() {
    const PythonResult first = Ternary();
    return failed_ || !At(",") ? first : List(&first, "");
  }

  // The items up to `close`, behind the first one if that is read; all of them known or the list is not.
  PythonResult List(const PythonResult* first, absl::string_view close) {
    bool known = true;
    Value::List items;
    if (first != nullptr) {
      const PythonResult value = ValueOf(*first);
      known = value.known();
      items.push_back(value.value);
    }
    if (first != nullptr && !Take(",")) return Fail();
    while (!failed_) {
      Skip();
      if (close.empty() ? at_ == text_.size() : Take(close)) break;
      if (items.size() >= kMaxListItems) return Fail();
      const bool spread = Take("*");
      const PythonResult value = ValueOf(Ternary());
      known = known && value.known() && !spread;
      items.push_back(value.value);
      Skip();
      if (!Take(",") && (close.empty() ? at_ != text_.size() : !At(close))) return Fail();
    }
    return failed_ || !known ? PythonResult() : PythonResult::Of(Value(std::move(items)));
  }

  PythonResult Ternary() {
    if (TooDeep()) return Fail();
    ++depth_;
    PythonResult result = Or();
    if (!failed_ && TakeWord("if")) {
      const PythonResult when = ValueOf(Or());
      if (!TakeWord("else")) return Fail();
      PythonResult other = Ternary();
      if (!when.known()) {
        result = PythonResult();
      } else if (!when.value.truthy()) {
        result = std::move(other);
      }
    }
    --depth_;
    return result;
  }

  PythonResult Or() {
    PythonResult left = And();
    while (!failed_ && TakeWord("or")) {
      const PythonResult value = ValueOf(left);
      const PythonResult right = And();
      left = !value.known() ? PythonResult() : value.value.truthy() ? value : right;
    }
    return left;
  }
  PythonResult And() {
    PythonResult left = Not();
    while (!failed_ && TakeWord("and")) {
      const PythonResult value = ValueOf(left);
      const PythonResult right = Not();
      left = !value.known() ? PythonResult() : value.value.truthy() ? right : value;
    }
    return left;
  }
  PythonResult Not() {
    bool negated = false, any = false;
    for (; TakeWord("not"); any = true) negated = !negated;
    PythonResult result = Comparison();
    if (!any) return result;
    const PythonResult value = ValueOf(result);
    return value.known() ? PythonResult::Of(Value(value.value.truthy() != negated)) : PythonResult();
  }

  absl::string_view ComparisonSign() {
    for (const absl::string_view mark : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!At("<<") && !At(">>") && Take(mark)) return mark;
    }
    if (TakeWord("is")) return TakeWord("not") ? "is not" : "is";
    if (TakeWord("in")) return "in";
    if (!TakeWord("not")) return "";
    if (!TakeWord("in")) Fail();
    return "not in";
  }
  PythonResult Comparison() {
    PythonResult left = Sum();
    bool compared = false;
    while (!failed_) {
      const absl::string_view sign = ComparisonSign();
      if (sign.empty() || failed_) return left;
      const PythonResult a = ValueOf(left), b = ValueOf(Sum());
      left = PythonResult();
      if (!compared && a.known() && b.known()) left = OfOptional(PythonComparison(sign, a.value, b.value));
      compared = true;  // a < b < c is left alone
    }
    return left;
  }

  PythonResult Computed(char sign, const PythonResult& left, const PythonResult& right) {
    const PythonResult a = ValueOf(left), b = ValueOf(right);
    return a.known() && b.known() ? OfOptional(PythonArithmetic(sign, a.value, b.value)) : PythonResult();
  }
  PythonResult Sum() {
    PythonResult left = Product();
    while (!failed_ && (At("+") || At("-"))) {
      const char sign = text_[at_++];
      const PythonResult right = Product();
      left = Computed(sign, left, right);
    }
    return left;
  }
  PythonResult Product() {
    PythonResult left = Signed();
    while (!failed_ && !At("**") && (At("*") || At("/") || At("%"))) {
      char sign = text_[at_++];
      if (sign == '/' && Take("/")) sign = 'q';
      const PythonResult right = Signed();
      left = Computed(sign, left, right);
    }
    return left;
  }
  PythonResult Signed() {
    bool negative = false, any = false;
    for (; At("-") || At("+"); any = true) negative = (text_[at_++] == '-') != negative;
    PythonResult result = Postfix();
    if (!failed_ && Take("**")) {
      if (TooDeep()) return Fail();
      ++depth_;
      const PythonResult power = Signed();
      --depth_;
      result = Computed('p', result, power);
    }
    if (!any) return result;
    return Computed(negative ? '-' : '+', PythonResult::Of(Value(0)), result);
  }

  PythonResult Postfix() {
    Skip();
    const size_t begin = at_;
    PythonResult result = Atom();
    while (!failed_) {
      if (Take(".")) {
        const absl::string_view name = Word();
        if (name.empty()) return Fail();
        at_ += name.size();
        if (result.kind != PythonResult::Kind::kReference) {
          result = PythonResult();
        } else {
          absl::StrAppend(&result.path, result.path.empty() ? "" : ".", name);
        }
      } else if (At("(")) {
        const absl::string_view callee = absl::StripTrailingAsciiWhitespace(text_.substr(begin, at_ - begin));
        ++at_;
        const std::vector<PythonArgument> arguments = Arguments(')');
        if (!failed_) result = names_->Called(callee, result, arguments);
      } else if (At("[")) {
        result = Item(result);
      } else {
        return result;
      }
    }
    return {};
  }

  // of[key]; a slice is not known.
  PythonResult Item(const PythonResult& of) {
    const size_t begin = ++at_;
    PassTo("]");
    if (at_ >= text_.size()) return Fail();
    const absl::string_view inside = text_.substr(begin, at_ - begin);
    ++at_;
    if (TooDeep() || FindInPython(inside, ':') != absl::string_view::npos) return {};
    Expression key_of(inside, names_);
    key_of.depth_ = depth_ + 1;
    const PythonResult key = ValueOf(key_of.Whole());
    const PythonResult list = ValueOf(of);
    if (!list.known() || !list.value.is_list()) return names_->Item(of, key);
    const auto size = static_cast<int64_t>(list.value.list().size());
    if (!key.known() || !key.value.is_int() || key.value.integer() >= size || key.value.integer() < -size) return {};
    const int64_t place = key.value.integer() < 0 ? key.value.integer() + size : key.value.integer();
    return PythonResult::Of(list.value.list()[static_cast<size_t>(place)]);
  }

  // To the first of `marks` that stands in no bracket that opens behind here.
  void PassTo(absl::string_view marks) {
    PythonCursor cursor(text_, at_);
    while (!cursor.AtEnd() && !(cursor.depth() == 0 && absl::StrContains(marks, text_.substr(cursor.at(), 1)))) {
      cursor.Step();
    }
    at_ = std::min(cursor.at(), text_.size());
  }

  // name= or "name": in front of a value.
  std::string NameOfArgument(char close) {
    const size_t before = at_;
    if (close == ')') {
      const absl::string_view name = Word();
      at_ += name.size();
      if (!name.empty() && At("=") && !At("==")) return ++at_, std::string(name);
      at_ = before;
      return "";
    }
    const PythonResult key = ValueOf(Ternary());
    if (!Take(":")) Fail();
    return std::string(key.value.text());
  }

  std::vector<PythonArgument> Arguments(char close) {
    const absl::string_view closing(&close, 1);
    std::vector<PythonArgument> arguments;
    while (!failed_ && !Take(closing)) {
      if (arguments.size() >= kMaxListItems) failed_ = true;
      PythonArgument argument;
      while (Take("*")) argument.spread = true;
      if (!argument.spread) argument.name = NameOfArgument(close);
      if (failed_) break;
      const size_t begin = at_;
      const int depth = depth_;
      argument.result = Ternary();
      if (depth < kMostDepth && (failed_ || (!At(",") && !At(closing)))) {  // one that cannot be read leaves the others
        argument.result = PythonResult();
        failed_ = false;
        depth_ = depth;
        at_ = begin;
        PassTo(",)]}");
      }
      arguments.push_back(std::move(argument));
      if (!Take(",") && !At(closing)) failed_ = true;
    }
    return arguments;
  }

  PythonResult Atom() {
    Skip();
    if (at_ >= text_.size() || TooDeep()) return Fail();
    ++depth_;
    PythonResult result = Bare();
    --depth_;
    return result;
  }
  PythonResult Bare() {
    const char c = text_[at_];
    if (c == '(') return Parenthesis();
    if (Take("[")) return List(nullptr, "]");
    if (Take("{")) return Dict();
    if (c == '"' || c == '\'') return Quoted(false, false);
    if (absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '.') return Number();
    const absl::string_view word = Word();
    if (word.empty()) return Fail();
    at_ += word.size();
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'') && word.size() <= 2) {
      const std::string prefix = absl::AsciiStrToLower(word);
      return Quoted(absl::StrContains(prefix, 'r'), prefix != "r" && prefix != "u");
    }
    if (word == "True" || word == "False") return PythonResult::Of(Value(word == "True"));
    if (word == "None") return PythonResult::Of(Value());
    for (const absl::string_view other : {"lambda", "await", "yield", "for", "if", "else", "in", "is", "and", "or"}) {
      if (word == other) return Fail();
    }
    return names_->Named(word);
  }
  PythonResult Parenthesis() {
    ++at_;
    if (Take(")")) return PythonResult::Of(Value(Value::List{}));
    PythonResult first = Ternary();
    if (failed_ || Take(")")) return first;
    return At(",") ? List(&first, ")") : Fail();
  }
  // A set, or a comprehension, is not known.
  PythonResult Dict() {
    const size_t begin = at_;
    const int depth = depth_;
    const std::vector<PythonArgument> entries = Arguments('}');
    if (!failed_) return names_->Dict(entries);
    at_ = begin;
    failed_ = depth >= kMostDepth;
    depth_ = depth;
    PassTo("}");
    if (!Take("}")) return Fail();
    return {};
  }

  // `made`: its text is made when it runs (f"...", b"...").
  PythonResult Quoted(bool raw, bool made) {
    std::string all;
    bool known = !made;
    while (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {  // pieces side by side are one
      const size_t begin = at_;
      at_ = std::min(BehindPythonQuote(text_, begin), text_.size());
      absl::string_view body = text_.substr(begin, at_ - begin);
      const size_t quotes = body.size() >= 6 && body[1] == body[0] && body[2] == body[0] ? 3 : 1;
      if (body.size() < 2 * quotes) return Fail();
      body = body.substr(quotes, body.size() - 2 * quotes);
      known = known && (raw || !absl::StrContains(body, '\\'));
      absl::StrAppend(&all, body);
      Skip();
    }
    return known ? PythonResult::Of(Value(all)) : PythonResult();
  }
  PythonResult Number() {
    size_t end = at_;
    const bool hexadecimal = absl::StartsWith(text_.substr(at_), "0x");
    const auto exponent = [&](size_t sign) {
      return sign > at_ && !hexadecimal && absl::ascii_tolower(static_cast<unsigned char>(text_[sign - 1])) == 'e';
    };
    while (end < text_.size() && (text_[end] == '.' || !PythonWord(text_.substr(end, 1)).empty() ||
                                  ((text_[end] == '-' || text_[end] == '+') && exponent(end)))) {
      ++end;
    }
    const absl::string_view digits = text_.substr(at_, end - at_);
    at_ = end;
    const std::optional<Value> value = PythonNumber(digits);
    return value.has_value() ? PythonResult::Of(*value) : Fail();
  }

  absl::string_view text_;
  PythonNames* names_;
  size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

PythonResult EvaluatePython(absl::string_view expression, PythonNames* names) {
  return Expression(expression, names).Whole();
}

}  // namespace flightplan
