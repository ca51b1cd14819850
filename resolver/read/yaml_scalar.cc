#include "resolver/read/yaml_scalar.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace flightplan {
namespace {

constexpr absl::string_view kTrue[] = {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"};
constexpr absl::string_view kFalse[] = {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"};
constexpr absl::string_view kInfinite[] = {".inf", ".Inf", ".INF"};
constexpr absl::string_view kNoNumber[] = {".nan", ".NaN", ".NAN"};
constexpr char kDigits[] = "0123456789", kDigitsAndBlanks[] = "0123456789_";

template <size_t N>
bool IsOneOf(absl::string_view word, const absl::string_view (&words)[N]) {
  for (const absl::string_view each : words) {
    if (word == each) return true;
  }
  return false;
}

bool HasOnly(absl::string_view text, absl::string_view bytes) {
  return text.find_first_not_of(bytes) == absl::string_view::npos;
}

// The number that digits of a base write, with underscores between; nothing: none, or beyond 64 bits.
std::optional<int64_t> Digits(absl::string_view digits, int base) {
  const std::string plain = absl::StrReplaceAll(digits, {{"_", ""}});
  int64_t value = 0;
  if (plain.empty()) return std::nullopt;
  for (const char c : plain) {
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    if (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, digit, &value)) {
      return std::nullopt;
    }
  }
  return value;
}

// Of 1:30, without its sign: each part counts sixty of the next. Nothing: it writes no such number.
std::optional<double> Sixties(absl::string_view text, bool fraction) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() < 2 || parts[0].empty() || !HasOnly(parts[0], kDigitsAndBlanks) || parts[0][0] == '_') {
    return std::nullopt;
  }
  if (!fraction && parts[0][0] == '0') return std::nullopt;
  double value = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    absl::string_view part = parts[i];
    double number = 0;
    const absl::string_view whole = part.substr(0, part.find('.'));
    const bool last = fraction && i + 1 == parts.size();
    if (i > 0 &&
        (whole.empty() || whole.size() > 2 || !HasOnly(whole, kDigits) || (whole.size() == 2 && whole[0] > '5'))) {
      return std::nullopt;
    }
    if (last == (whole.size() == part.size()) || (last && !HasOnly(part.substr(whole.size() + 1), kDigitsAndBlanks))) {
      return std::nullopt;
    }
    if (!absl::SimpleAtod(absl::StrReplaceAll(part, {{"_", ""}}), &number)) return std::nullopt;
    value = value * 60 + number;
  }
  return value;
}

// Without its sign. What is beyond 64 bits is a float.
std::optional<Value> Integer(absl::string_view text, bool negative) {
  int base = 10;
  absl::string_view digits = text;
  if (absl::ConsumePrefix(&digits, "0b")) {
    base = 2;
  } else if (absl::ConsumePrefix(&digits, "0x")) {
    base = 16;
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  const absl::string_view allowed = base == 2    ? "01_"
                                    : base == 8  ? "01234567_"
                                    : base == 16 ? "0123456789abcdefABCDEF_"
                                                 : kDigitsAndBlanks;
  if (digits.empty() || !HasOnly(digits, allowed) || (base == 10 && digits[0] == '_')) return std::nullopt;
  if (const std::optional<int64_t> value = Digits(digits, base)) return Value(negative ? -*value : *value);
  double value = 0;
  if (base != 10 || !absl::SimpleAtod(absl::StrReplaceAll(digits, {{"_", ""}}), &value)) return std::nullopt;
  return Value(negative ? -value : value);
}

// Behind its sign: digits, a point, digits, and e with a sign and digits. The first digits may be left out where there
// is no sign, the others always.
std::optional<double> Float(absl::string_view text, bool with_sign) {
  const size_t point = text.find('.');
  if (point == absl::string_view::npos || !HasOnly(text.substr(0, point), kDigitsAndBlanks)) return std::nullopt;
  if (point > 0 && text[0] == '_') return std::nullopt;
  const size_t e = text.find_first_of("eE", point);
  const absl::string_view fraction = text.substr(point + 1, e == absl::string_view::npos ? e : e - point - 1);
  if (!HasOnly(fraction, kDigitsAndBlanks)) return std::nullopt;
  if (point == 0 && (with_sign || fraction.empty() || fraction[0] == '_')) return std::nullopt;
  if (e != absl::string_view::npos) {
    const absl::string_view exponent = text.substr(e + 1);
    if (exponent.size() < 2 || (exponent[0] != '+' && exponent[0] != '-') || !HasOnly(exponent.substr(1), kDigits)) {
      return std::nullopt;
    }
  }
  double value = 0;
  return absl::SimpleAtod(absl::StrReplaceAll(text, {{"_", ""}}), &value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<bool> YamlBool(absl::string_view word) {
  if (IsOneOf(word, kTrue)) return true;
  if (IsOneOf(word, kFalse)) return false;
  return std::nullopt;
}

Value YamlScalar(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kNull) return Value();
  if (node.quoted) return Value(node.text);
  if (const std::optional<bool> value = YamlBool(node.text)) return Value(*value);
  absl::string_view text = node.text;
  if (IsOneOf(text, kNoNumber)) return Value(std::numeric_limits<double>::quiet_NaN());
  const bool negative = absl::ConsumePrefix(&text, "-");
  if (!negative) absl::ConsumePrefix(&text, "+");
  if (text.empty()) return Value(node.text);
  const double sign = negative ? -1 : 1;
  if (IsOneOf(text, kInfinite)) return Value(sign * std::numeric_limits<double>::infinity());
  if (std::optional<Value> value = Integer(text, negative)) return *std::move(value);
  if (const std::optional<double> value = Float(text, text.size() < node.text.size())) return Value(sign * *value);
  if (const std::optional<double> value = Sixties(text, false)) return Value(static_cast<int64_t>(sign * *value));
  if (const std::optional<double> value = Sixties(text, true)) return Value(sign * *value);
  return Value(node.text);
}

}  // namespace flightplan
