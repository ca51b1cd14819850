#include "resolver/render/shell_arithmetic.h"

#include <array>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "resolver/render/shell_raw.h"

namespace flightplan {
namespace {

using Number = std::optional<int64_t>;

constexpr int kMaxDepth = 32;

struct Operator {
  absl::string_view text;
  int binds;  // tighter: higher
};
// The longer before those they begin with.
constexpr std::array<Operator, 14> kOperators = {{{"**", 7},
                                                  {"||", 1},
                                                  {"&&", 2},
                                                  {"==", 3},
                                                  {"!=", 3},
                                                  {"<=", 4},
                                                  {">=", 4},
                                                  {"<", 4},
                                                  {">", 4},
                                                  {"+", 5},
                                                  {"-", 5},
                                                  {"*", 6},
                                                  {"/", 6},
                                                  {"%", 6}}};

Number Power(int64_t base, int64_t exponent) {
  int64_t power = 1;
  if (exponent < 0 || exponent > 62) return std::nullopt;
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(power, base, &power)) return std::nullopt;
  }
  return power;
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
  if (op == "==") return a == b;
  if (op == "!=") return a != b;
  if (op == "<") return a < b;
  if (op == ">") return a > b;
  if (op == "<=") return a <= b;
  if (op == ">=") return a >= b;
  if (op == "&&") return a != 0 && b != 0;
  return a != 0 || b != 0;  // ||
}

class Parser {
 public:
  Parser(absl::string_view text, const std::function<Number(absl::string_view)>& variable)
      : text_(text), variable_(variable) {}

  Number Parse() {
    const Number value = Choice(0);
    Blanks();
    return text_.empty() ? value : std::nullopt;
  }

 private:
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

  Number Choice(int depth) {
    if (depth > kMaxDepth) return Fail();
    const Number condition = Binary(1, depth);
    if (!Take("?")) return condition;
    const Number yes = Choice(depth + 1);
    if (!Take(":")) return Fail();
    const Number no = Choice(depth + 1);
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
      const Number right = Binary(op->binds + (op->text == "**" ? 0 : 1), depth + 1);
      left = left.has_value() && right.has_value() ? Apply(op->text, *left, *right) : std::nullopt;
    }
    return left;
  }

  Number Unary(int depth) {
    if (depth > kMaxDepth) return Fail();
    if (Take("!")) {
      const Number value = Unary(depth + 1);
      return value.has_value() ? Number(*value == 0) : std::nullopt;
    }
    if (Take("-")) {
      const Number value = Unary(depth + 1);
      return value.has_value() ? Apply("-", 0, *value) : std::nullopt;
    }
    if (Take("+")) return Unary(depth + 1);
    if (Take("(")) {
      const Number value = Choice(depth + 1);
      return Take(")") ? value : Fail();
    }
    Blanks();
    const size_t name_end = EndOfName(text_, 0);
    const bool name = name_end > 0;
    const size_t end = name ? name_end : EndOfDigits(text_, 0);
    if (end == 0) return Fail();
    const absl::string_view word = text_.substr(0, end);
    text_.remove_prefix(end);
    if (name) return variable_(word);
    int64_t number = 0;
    const bool octal = word.size() > 1 && word[0] == '0';
    return !octal && absl::SimpleAtoi(word, &number) ? Number(number) : std::nullopt;
  }

  absl::string_view text_;
  const std::function<Number(absl::string_view)>& variable_;
};

}  // namespace

std::optional<int64_t> ShellArithmetic(absl::string_view expression,
                                       const std::function<Number(absl::string_view)>& variable) {
  return Parser(expression, variable).Parse();
}

}  // namespace flightplan
