#include "resolver/plan/fields.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "resolver/base/utf8.h"

namespace flightplan::internal {
namespace {

constexpr size_t kLongestShown = 60;
constexpr size_t kMostItems = 100000;

absl::Status Wrong(const Value& value, absl::string_view wanted) {
  std::string shown = value.is_none() ? "nothing" : value.ToJson();
  if (shown.size() > kLongestShown) shown = absl::StrCat(Utf8Prefix(shown, kLongestShown), "...");
  return absl::InvalidArgumentError(absl::StrCat("is ", shown, "; needs ", wanted));
}

std::string Range(const Limits& limits) {
  if (limits.max == std::numeric_limits<int64_t>::max()) return absl::StrCat("of at least ", limits.min);
  return absl::StrCat("from ", limits.min, " to ", limits.max);
}

}  // namespace

absl::Status ReadText(const Value& value, const Limits& limits, std::string* out) {
  if (!value.is_text()) return Wrong(value, "text");
  if (!limits.choices.empty()) {
    bool known = false;
    for (absl::string_view choice : absl::StrSplit(limits.choices, '|')) known = known || choice == value.text();
    if (!known) return Wrong(value, absl::StrCat("one of ", absl::StrReplaceAll(limits.choices, {{"|", ", "}})));
  }
  *out = std::string(value.text());
  return absl::OkStatus();
}

absl::Status ReadInt(const Value& value, const Limits& limits, int64_t* out) {
  // 1e3 and 4096.0 are integers that some writers spell as floats.
  const bool whole = value.is_float() && std::isfinite(value.real()) && std::abs(value.real()) < 9e15 &&
                     value.real() == std::floor(value.real());
  if (!value.is_int() && !whole) return Wrong(value, absl::StrCat("an integer ", Range(limits)));
  const int64_t number = value.is_int() ? value.integer() : static_cast<int64_t>(value.real());
  if (number < limits.min || number > limits.max) return Wrong(value, absl::StrCat("an integer ", Range(limits)));
  *out = number;
  return absl::OkStatus();
}

absl::Status ReadReal(const Value& value, const Limits& limits, double* out) {
  if (!value.is_number() || !std::isfinite(value.real()) || value.real() < static_cast<double>(limits.min) ||
      value.real() > static_cast<double>(limits.max)) {
    return Wrong(value, absl::StrCat("a finite number ", Range(limits)));
  }
  *out = value.real();
  return absl::OkStatus();
}

absl::Status ReadBool(const Value& value, bool* out) {
  if (!value.is_bool()) return Wrong(value, "true or false");
  *out = value.truthy();
  return absl::OkStatus();
}

absl::Status ReadTexts(const Value& value, std::vector<std::string>* out) {
  if (!value.is_list() || value.list().size() > kMostItems) return Wrong(value, "a list of text");
  out->clear();
  for (const Value& item : value.list()) {
    if (!item.is_text()) return Wrong(item, "text for every item");
    out->emplace_back(item.text());
  }
  return absl::OkStatus();
}

absl::Status ReadInts(const Value& value, const Limits& limits, std::vector<int64_t>* out) {
  if (value.is_none()) {
    out->clear();
    return absl::OkStatus();
  }
  if (!value.is_list() || value.list().size() > kMostItems) return Wrong(value, "a list of integers");
  out->clear();
  for (const Value& item : value.list()) {
    if (absl::Status status = ReadInt(item, limits, &out->emplace_back()); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace flightplan::internal
