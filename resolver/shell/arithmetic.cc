#include "resolver/shell/arithmetic.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "resolver/base/work.h"
#include "resolver/shell/raw.h"

namespace flightplan {
namespace {

using Number = std::optional<int64_t>;

constexpr int kMaxDepth = 32;

struct Operator {
  absl::string_view text;
  int binds;  // tighter: higher
};
// The longer before those they begin with.
constexpr Operator kOperators[] = {{"**", 11}, {"<<", 8}, {">>", 8}, {"||", 1}, {"&&", 2}, {"==", 6}, {"!=", 6},
                                   {"<=", 7},  {">=", 7}, {"<", 7},  {">", 7},  {"+", 9},  {"-", 9},  {"*", 10},
                                   {"/", 10},  {"%", 10}, {"&", 5},  {"^", 4},  {"|", 3}};
constexpr absl::string_view kAssignments[] = {"<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", "="};

Number Power(int64_t base, int64_t exponent) {
  int64_t power = 1;
  if (exponent < 0 || exponent > 62) return std::nullopt;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(power, base, &power)) return std::nullopt;
  }
  return power;
}

Number Shift(int64_t value, int64_t places, bool left) {
  if (places < 0 || places > 62) return std::nullopt;
  if (!left) return value >> places;
  int64_t shifted = 0;
  return __builtin_mul_overflow(value, int64_t{1} << places, &shifted) ? Number() : shifted;
}

Number Apply(absl::string_view op, int64_t a, int64_t b) {
  int64_t result = 0;
  if (op == "+") return __builtin_add_overflow(a, b, &result) ? Number() : result;
  if (op == "-") return __builtin_sub_overflow(a, b, &result) ? Number() : result;
  if (op == "*") return __builtin_mul_overflow(a, b, &result) ? Number() : result;
  if (op == "/" || op == "%") {
    if (b == 0 || b == -1) return b == 0 ? Number() : op == "%" ? Number(0) : Apply("-", 0, a);
    return op == "/" ? a / b : a % b;
  }
  if (op == "**") return Power(a, b);
  if (op == "<<" || op == ">>") return Shift(a, b, op == "<<");
  if (op == "&") return a & b;
  if (op == "^") return a ^ b;
  if (op == "|") return a | b;
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  if (op == "<=") return a <= b;
  if (op == ">=") return a >= b;
  if (op == "&&") return a != 0 && b != 0;
  return a != 0 || b != 0;  // ||
}

int DigitOf(char c, int64_t base) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + (base <= 36 ? 10 : 36);
  return c == '@' ? 62 : c == '_' ? 63 : 64;
}

Number Digits(absl::string_view digits, int64_t base) {
  int64_t value = 0;
  if (digits.empty() || base < 2 || base > 64) return std::nullopt;
  for (const char c : digits) {
    const int digit = DigitOf(c, base);
    if (digit >= base || __builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value)) {
      return std::nullopt;
    }
  }
  return value;
}

constexpr size_t kOperandCosts = 128;  // in units of base/work.h, with the operators that are looked for behind it

class Parser {
 public:
  Parser(absl::string_view text, const ShellNumbers& numbers) : text_(text), numbers_(numbers) {}

  Number Parse() {
    Number value = Choice(0);
    while (Take(",")) value = Choice(0);
    Blanks();
    return text_.empty() ? value : std::nullopt;
  }

 private:
  // Whether what is read is also done: the right side of && is not behind a zero.
  enum class Reach { kDone, kDoubtful, kLeft };

  void Blanks() {
    while (!text_.empty() && (IsShellBlank(text_[0]) || text_[0] == '\n')) text_.remove_prefix(1);
  }
  bool Take(absl::string_view token) {
    Blanks();
    return absl::ConsumePrefix(&text_, token);
  }
  // Fails for good: what is left can no longer become empty.
  Number Fail() {
    text_ = "?";
    return std::nullopt;
  }

  // Reads an operand that is done where `condition` is `wanted`.
  template <class Read>
  Number Where(Number condition, bool wanted, Read read) {
    const Reach outer = reach_;
    if (!condition.has_value() && reach_ == Reach::kDone) reach_ = Reach::kDoubtful;
    if (condition.has_value() && (*condition != 0) != wanted) reach_ = Reach::kLeft;
    const Number value = read();
    reach_ = outer;
    return value;
  }

  Number Choice(int depth) {
    if (depth > kMaxDepth) return Fail();
    const Number condition = Binary(1, depth);
    if (!Take("?")) return condition;
    const auto branch = [this, depth] { return Choice(depth + 1); };
    const Number yes = Where(condition, true, branch);
    if (!Take(":")) return Fail();
    const Number no = Where(condition, false, branch);
    if (!condition.has_value()) return std::nullopt;
    return *condition != 0 ? yes : no;
  }

  const Operator* NextOperator() {
    Blanks();
    for (const Operator& op : kOperators) {
      if (absl::StartsWith(text_, op.text)) return &op;
    }
    return nullptr;
  }

  Number Binary(int least, int depth) {
    if (depth > kMaxDepth) return Fail();
    Number left = Unary(depth + 1);
    for (const Operator* op = NextOperator(); op != nullptr && op->binds >= least; op = NextOperator()) {
      text_.remove_prefix(op->text.size());
      const auto operand = [this, op, depth] { return Binary(op->binds + (op->text == "**" ? 0 : 1), depth + 1); };
      const bool both = op->text == "&&", either = op->text == "||";
      const Number right = both || either ? Where(left, both, operand) : operand();
      if ((both || either) && left.has_value() && (*left != 0) == either) {
        left = either ? 1 : 0;
      } else {
        left = left.has_value() && right.has_value() ? Apply(op->text, *left, *right) : std::nullopt;
      }
    }
    return left;
  }

  Number Unary(int depth) {
    Work::Spend(kOperandCosts);
    if (depth > kMaxDepth) return Fail();
    for (const absl::string_view step : {"++", "--"}) {
      Blanks();
      if (!absl::StartsWith(text_, step)) continue;
      const size_t blanks = EndOfBlanks(text_, step.size());
      if (EndOfName(text_, blanks) == blanks) continue;  // two signs
      text_.remove_prefix(blanks);
      const absl::string_view name = TakeName();
      return Assign(name, Step(step, numbers_.get(name)));
    }
    if (Take("!")) {
      const Number value = Unary(depth + 1);
      return value.has_value() ? Number(*value == 0) : std::nullopt;
    }
    if (Take("~")) {
      const Number value = Unary(depth + 1);
      return value.has_value() ? Number(~*value) : std::nullopt;
    }
    if (Take("-")) {
      const Number value = Unary(depth + 1);
      return value.has_value() ? Apply("-", 0, *value) : std::nullopt;
    }
    if (Take("+")) return Unary(depth + 1);
    if (Take("(")) {
      Number value = Choice(depth + 1);
      while (Take(",")) value = Choice(depth + 1);
      return Take(")") ? value : Fail();
    }
    Blanks();
    if (const absl::string_view name = TakeName(); !name.empty()) return Name(name, depth);
    size_t end = 0;
    while (end < text_.size() && (IsShellName(text_[end]) || text_[end] == '#' || text_[end] == '@')) ++end;
    if (end == 0) return Fail();
    const absl::string_view word = text_.substr(0, end);
    text_.remove_prefix(end);
    return ShellInteger(word);
  }

  absl::string_view TakeName() {
    const absl::string_view name = text_.substr(0, EndOfName(text_, 0));
    text_.remove_prefix(name.size());
    return name;
  }

  // A name and what is done to it.
  Number Name(absl::string_view name, int depth) {
    Blanks();
    if (absl::StartsWith(text_, "[")) return Fail();
    for (const absl::string_view sign : kAssignments) {
      if (!absl::StartsWith(text_, sign) || absl::StartsWith(text_, "==")) continue;
      text_.remove_prefix(sign.size());
      const Number before = sign == "=" ? Number() : numbers_.get(name);
      const Number value = Choice(depth + 1);
      if (sign == "=") return Assign(name, value);
      const bool known = before.has_value() && value.has_value();
      return Assign(name, known ? Apply(sign.substr(0, sign.size() - 1), *before, *value) : std::nullopt);
    }
    const Number value = numbers_.get(name);
    for (const absl::string_view step : {"++", "--"}) {
      if (Take(step)) {
        Assign(name, Step(step, value));
        break;
      }
    }
    return value;
  }

  static Number Step(absl::string_view step, Number value) {
    return value.has_value() ? Apply(step.substr(1), *value, 1) : std::nullopt;
  }

  Number Assign(absl::string_view name, Number value) {
    if (reach_ != Reach::kLeft) numbers_.set(name, reach_ == Reach::kDone ? value : std::nullopt);
    return value;
  }

  absl::string_view text_;
  const ShellNumbers& numbers_;
  Reach reach_ = Reach::kDone;
};

}  // namespace

std::optional<int64_t> ShellInteger(absl::string_view word) {
  if (const size_t sign = word.find('#'); sign != absl::string_view::npos) {
    const Number base = Digits(word.substr(0, sign), 10);
    return base.has_value() ? Digits(word.substr(sign + 1), *base) : std::nullopt;
  }
  if (absl::ConsumePrefix(&word, "0x") || absl::ConsumePrefix(&word, "0X")) return Digits(word, 16);
  return Digits(word, word.size() > 1 && word[0] == '0' ? 8 : 10);
}

std::optional<int64_t> ShellArithmetic(absl::string_view expression, const ShellNumbers& numbers) {
  return Parser(expression, numbers).Parse();
}

}  // namespace flightplan
