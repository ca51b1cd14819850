// One command-line word to one value, with the conversions Python's int(), float() and Megatron-LM's own types do.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/base/status_macros.h"
#include "resolver/read/argparse.h"

namespace flightplan {
namespace {

absl::Status Expected(absl::string_view what) { return absl::InvalidArgumentError(absl::StrCat("expected ", what)); }

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Python allows single underscores between digits; returns the text without them, or nothing when one is misplaced.
std::optional<std::string> DropUnderscores(absl::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      plain += text[i];
    } else if (i == 0 || i + 1 == text.size() || !IsDigit(text[i - 1]) || !IsDigit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return plain;
}

absl::StatusOr<Value> ReadInt(absl::string_view text) {
  int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end) return Value(value);  // as nearly everybody writes one
  text = absl::StripAsciiWhitespace(text);
  const std::optional<std::string> plain = DropUnderscores(text);
  if (!plain.has_value()) return Expected("an integer");
  absl::string_view digits = *plain;
  if (absl::StartsWith(digits, "+") || absl::StartsWith(digits, "-")) digits.remove_prefix(1);
  if (digits.empty() || digits.find_first_not_of("0123456789") != absl::string_view::npos)
    return Expected("an integer");
  if (!absl::SimpleAtoi(*plain, &value)) return absl::OutOfRangeError("integer out of range (64 bits)");
  return Value(value);
}

absl::StatusOr<Value> ReadFloat(absl::string_view text) {
  double value = 0;
  const bool usual =
      std::all_of(text.begin(), text.end(), [](char c) { return IsDigit(c) || c == '.' || c == 'e' || c == '-'; });
  if (usual && absl::SimpleAtod(text, &value)) return Value(value);
  text = absl::StripAsciiWhitespace(text);
  const std::optional<std::string> plain = DropUnderscores(text);
  // SimpleAtod also reads hexadecimal floats, which Python's float() refuses.
  if (!plain.has_value() || absl::StrContains(absl::AsciiStrToLower(*plain), "0x") ||
      !absl::SimpleAtod(*plain, &value)) {
    return Expected("a number");
  }
  return Value(value);
}

absl::StatusOr<Value> ReadFrequency(absl::string_view text) {
  if (!absl::StrContains(text, "[")) {
    auto number = ReadInt(text);
    return number.ok() ? number : Expected("an integer or a list expression such as ([0]*3+[1]*5)");
  }
  return EvaluateListExpression(text);
}

// "1,2" or "(1,2)": upstream strips any parentheses at the ends.
absl::StatusOr<Value> ReadTuple(absl::string_view text) {
  while (!text.empty() && (text.front() == '(' || text.front() == ')')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == '(' || text.back() == ')')) text.remove_suffix(1);
  Value::List items;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    if (items.size() >= kMaxListItems) return absl::OutOfRangeError("too many integers");
    auto item = ReadInt(part);
    if (!item.ok()) return Expected("integers with commas between, such as 128,0");
    items.push_back(*std::move(item));
  }
  return Value(std::move(items));
}

}  // namespace

absl::StatusOr<Value> ReadFlagValue(absl::string_view text, ValueType type) {
  switch (type) {
    case ValueType::kInt:
    case ValueType::kIntList:
      return ReadInt(text);
    case ValueType::kFloat:
    case ValueType::kFloatList:
      return ReadFloat(text);
    case ValueType::kBool:
      return Value(!text.empty());  // Python's bool("False") is True
    case ValueType::kFreq:
      return ReadFrequency(text);
    case ValueType::kTuple:
      return ReadTuple(text);
    case ValueType::kString:
    case ValueType::kStringList:
    case ValueType::kAny:
      break;
  }
  return Value(text);
}

}  // namespace flightplan
