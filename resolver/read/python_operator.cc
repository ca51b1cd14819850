#include "resolver/read/python_operator.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "resolver/base/work.h"
#include "resolver/plan/reading.h"
#include "resolver/read/list_arithmetic.h"

namespace flightplan {
namespace {

constexpr int64_t kMostPower = 64;

std::optional<Value> OfIntegers(char sign, int64_t x, int64_t y) {
  int64_t result = 0;
  bool beyond = false;  // 64 bits
  switch (sign) {
    case '+':
      beyond = __builtin_add_overflow(x, y, &result);
      break;
    case '-':
      beyond = __builtin_sub_overflow(x, y, &result);
      break;
    case '*':
      beyond = __builtin_mul_overflow(x, y, &result);
      break;
    case '%':
    case 'q': {
      if (y == 0) return std::nullopt;
      if (y == -1) return sign == '%' ? Value(0) : OfIntegers('-', 0, x);
      const int64_t rest = (x % y != 0 && (x < 0) != (y < 0)) ? x % y + y : x % y;  // of the divisor's sign
      return Value(sign == '%' ? rest : x / y - (rest != x % y ? 1 : 0));
    }
    case 'p':
      if (y < 0 || y > kMostPower) return std::nullopt;
      result = 1;
      for (int64_t i = 0; i < y && !beyond; ++i) beyond = __builtin_mul_overflow(result, x, &result);
      break;
    default:
      return std::nullopt;
  }
  return beyond ? std::nullopt : std::optional(Value(result));
}

std::optional<Value> OfReals(char sign, double a, double b) {
  if (sign == '+') return Value(a + b);
  if (sign == '-') return Value(a - b);
  if (sign == '*') return Value(a * b);
  if (sign == '/' && b != 0) return Value(a / b);
  if (sign == 'q' && b != 0) return Value(std::floor(a / b));
  if (sign == 'p') return Value(std::pow(a, b));
  return std::nullopt;
}

std::optional<Value> OfLists(char sign, const Value& a, const Value& b) {
  absl::StatusOr<Value> made = absl::InvalidArgumentError("no operator of lists");
  if (sign == '+' && a.is_list() && b.is_list()) made = JoinedLists(a, b);
  if (sign == '*' && a.is_list() && b.is_int()) made = RepeatedList(a, b.integer());
  if (sign == '*' && a.is_int() && b.is_list()) made = RepeatedList(b, a.integer());
  if (!made.ok()) return std::nullopt;
  Work::Spend(16 * made->list().size());
  return *std::move(made);
}

bool IsNumber(const Value& value) { return value.is_number() || value.is_bool(); }

}  // namespace

std::optional<Value> PythonArithmetic(char sign, const Value& a, const Value& b) {
  if (a.is_list() || b.is_list()) return OfLists(sign, a, b);
  if (sign == '+' && a.is_text() && b.is_text() && a.text().size() + b.text().size() <= kMaxListItems) {
    return Value(absl::StrCat(a.text(), b.text()));
  }
  if (!IsNumber(a) || !IsNumber(b)) return std::nullopt;
  if (a.is_float() || b.is_float() || sign == '/') return OfReals(sign, a.real(), b.real());
  return OfIntegers(sign, a.integer(), b.integer());
}

std::optional<bool> PythonComparison(absl::string_view sign, const Value& a, const Value& b) {
  const bool numbers = IsNumber(a) && IsNumber(b);
  if (sign == "is" || sign == "is not") {
    const bool one = a.is_none() || b.is_none() || (a.is_bool() && b.is_bool());
    if (!one) return std::nullopt;  // whether two equal values are one object depends on the interpreter
    return (a == b) == (sign == "is");
  }
  if (sign == "in" || sign == "not in") {
    if (a.is_text() && b.is_text()) return absl::StrContains(b.text(), a.text()) == (sign == "in");
    if (!b.is_list()) return std::nullopt;
    Work::Spend(b.list().size());
    return (std::find(b.list().begin(), b.list().end(), a) != b.list().end()) == (sign == "in");
  }
  if (sign == "==" || sign == "!=") return (numbers ? a.real() == b.real() : a == b) == (sign == "==");
  if (!numbers) return std::nullopt;
  const double x = a.real(), y = b.real();
  return sign == "<" ? x < y : sign == ">" ? x > y : sign == "<=" ? x <= y : x >= y;
}

std::optional<Value> PythonNumber(absl::string_view digits) {
  const std::string plain = absl::StrReplaceAll(digits, {{"_", ""}});
  int64_t integer = 0;
  if (absl::StartsWith(plain, "0x") && absl::SimpleHexAtoi(plain, &integer)) return Value(integer);
  const bool octal = plain.size() > 1 && plain[0] == '0' && plain.find_first_not_of('0') != std::string::npos;
  if (!octal && absl::SimpleAtoi(plain, &integer)) return Value(integer);
  double real = 0;
  if (plain.find_first_not_of("0123456789.eE+-") == std::string::npos && absl::SimpleAtod(plain, &real)) {
    return Value(real);
  }
  return std::nullopt;
}

}  // namespace flightplan
