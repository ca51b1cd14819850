#include "resolver/plan/knob_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/integers.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"

namespace flightplan {
namespace {

absl::string_view TypeText(ValueType type) {
  switch (type) {
    case ValueType::kBool:
      return "true or false";
    case ValueType::kInt:
      return "an integer";
    case ValueType::kFloat:
      return "a number";
    case ValueType::kString:
      return "text";
    case ValueType::kIntList:
    case ValueType::kTuple:
      return "a list of integers";
    case ValueType::kFloatList:
      return "a list of numbers";
    case ValueType::kStringList:
      return "a list of names";
    case ValueType::kFreq:
      return "an integer or a list of 0 and 1, such as [0]*3+[1]*58";
    case ValueType::kAny:
      return "a value";
  }
  return "";
}

bool SuitsScalar(ValueType type, const Value& value) {
  switch (type) {
    case ValueType::kBool:
      return value.is_bool();
    case ValueType::kInt:
    case ValueType::kIntList:
    case ValueType::kTuple:
      return value.is_int();
    case ValueType::kFloat:
    case ValueType::kFloatList:
      return value.is_number() && std::isfinite(value.real());
    case ValueType::kString:
    case ValueType::kStringList:
      return value.is_text();
    case ValueType::kFreq:
      return value.is_int() || value.is_text();
    case ValueType::kAny:
      return !value.is_float() || std::isfinite(value.real());
  }
  return false;
}

bool IsList(ValueType type) {
  return type == ValueType::kIntList || type == ValueType::kFloatList || type == ValueType::kStringList ||
         type == ValueType::kTuple;
}

// Lists may come as a single name where upstream takes both (cuda_graph_modules: "full").
bool Suits(ValueType type, const Value& value) {
  if (!value.is_list()) return SuitsScalar(type, value);
  if (!IsList(type) && type != ValueType::kFreq && type != ValueType::kAny && type != ValueType::kString) return false;
  for (const Value& item : value.list()) {
    const bool ok = type == ValueType::kFreq ? item.is_int() : SuitsScalar(type, item);
    if (!ok || item.is_list()) return false;
  }
  return true;
}

std::string Preview(const Value& value) { return Utf8Clip(value.ToJson(), 80); }

absl::Status Wrong(Knob knob, const Value& value, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat(Name(knob), " must be ", wanted, ", not ", Preview(value)));
}

absl::Status WrongInteger(Knob knob, absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat(Wrong(knob, Value(text), TypeText(ValueType::kInt)).message(), MeantInDigits(text)));
}

absl::Status CheckChoice(Knob knob, const Value& value) {
  const absl::string_view choices = Row(knob).choices;
  if (choices.empty()) return absl::OkStatus();
  const std::string text = value.ToText();
  if (IsChoice(text, choices)) return absl::OkStatus();
  return Wrong(knob, value, absl::StrCat("one of ", absl::StrReplaceAll(choices, {{"|", ", "}})));
}

absl::StatusOr<Value> ParseScalar(Knob knob, ValueType type, absl::string_view text) {
  const std::string lower = absl::AsciiStrToLower(text);
  if (type == ValueType::kBool) {
    if (lower == "true" || lower == "1" || lower == "on" || lower == "yes") return Value(true);
    if (lower == "false" || lower == "0" || lower == "off" || lower == "no") return Value(false);
    return Wrong(knob, Value(text), TypeText(type));
  }
  const bool wants_text = type == ValueType::kString || type == ValueType::kStringList;
  if (!wants_text) {
    int64_t integer = 0;
    if (type != ValueType::kFloat && type != ValueType::kFloatList && absl::SimpleAtoi(text, &integer)) {
      return Value(integer);
    }
    double real = 0;
    const bool wants_real = type == ValueType::kFloat || type == ValueType::kFloatList || type == ValueType::kAny;
    if (wants_real && absl::SimpleAtod(text, &real) && std::isfinite(real)) return Value(real);
    if (type == ValueType::kAny && (lower == "true" || lower == "false")) return Value(lower == "true");
    if (type == ValueType::kInt) return WrongInteger(knob, text);
    if (type != ValueType::kFreq && type != ValueType::kAny) return Wrong(knob, Value(text), TypeText(type));
  }
  return Value(text);
}

}  // namespace

bool IsChoice(absl::string_view text, absl::string_view choices) {
  for (absl::string_view choice : absl::StrSplit(choices, '|')) {
    if (choice == text) return true;
  }
  return false;
}

absl::Status CheckKnobSize(Knob knob, const Value& value) {
  const bool names = Row(knob).type == ValueType::kStringList && !absl::EndsWith(Name(knob), "data_path");
  const size_t most_items = names ? kMaxNames : kMaxItems, most_bytes = names ? kMaxNamesBytes : kMaxTextBytes;
  if (value.list().size() > most_items) {
    return absl::InvalidArgumentError(absl::StrCat(Name(knob), " has more than ", most_items, " items"));
  }
  size_t bytes = value.text().size();
  // Paths are as long as they are: of a list of files each has the bound.
  for (const Value& item : value.list())
    bytes = names ? bytes + item.text().size() : std::max(bytes, item.text().size());
  if (bytes <= most_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Name(knob), " is longer than ", most_bytes / 1024, " KiB"));
}

absl::Status CheckKnobValue(Knob knob, const Value& value) {
  if (value.is_none()) return absl::OkStatus();
  const ValueType type = Row(knob).type;
  FLIGHTPLAN_RETURN_IF_ERROR(CheckKnobSize(knob, value));
  if (!Suits(type, value)) return Wrong(knob, value, TypeText(type));
  if (!value.is_list()) return CheckChoice(knob, value);
  for (const Value& item : value.list()) FLIGHTPLAN_RETURN_IF_ERROR(CheckChoice(knob, item));
  return absl::OkStatus();
}

absl::StatusOr<Value> ParseKnobText(Knob knob, absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  const ValueType type = Row(knob).type;
  const std::string lower = absl::AsciiStrToLower(text);
  if (lower == "none" || lower == "null") {
    // "none" is a word of its own for knobs that list it (cuda_graph_impl=none).
    if (!IsChoice(lower, Row(knob).choices)) return Value();
  }
  Value value;
  if (IsList(type)) {
    absl::string_view body = text;
    if (absl::ConsumePrefix(&body, "[")) absl::ConsumeSuffix(&body, "]");
    Value::List items;
    for (absl::string_view item : absl::StrSplit(body, absl::ByAnyChar(", "), absl::SkipEmpty())) {
      if (items.size() >= kMaxItems) return absl::InvalidArgumentError(absl::StrCat(Name(knob), " has too many items"));
      item = absl::StripSuffix(absl::StripPrefix(item, "\""), "\"");
      FLIGHTPLAN_ASSIGN_OR_RETURN(Value read, ParseScalar(knob, type, item));
      items.push_back(std::move(read));
    }
    value = Value(std::move(items));
  } else {
    FLIGHTPLAN_ASSIGN_OR_RETURN(value, ParseScalar(knob, type, text));
  }
  FLIGHTPLAN_RETURN_IF_ERROR(CheckKnobValue(knob, value));
  return value;
}

}  // namespace flightplan
