#include "resolver/stacks/roll/devices.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace flightplan {
namespace {

using Devices = std::vector<int64_t>;

std::optional<Devices> Numbers(absl::string_view text) {
  Devices numbers;
  for (const absl::string_view item : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    int64_t number = 0;
    if (!absl::SimpleAtoi(item, &number) || numbers.size() >= static_cast<size_t>(kMostDevices)) return std::nullopt;
    numbers.push_back(number);
  }
  return numbers;
}

std::optional<Devices> Range(absl::string_view text) {
  const std::optional<Devices> ends = Numbers(text);
  if (!ends.has_value() || ends->empty() || ends->size() > 3) return std::nullopt;
  const int64_t begin = ends->size() > 1 ? (*ends)[0] : 0, end = ends->size() > 1 ? (*ends)[1] : (*ends)[0];
  const int64_t step = ends->size() > 2 ? (*ends)[2] : 1;
  constexpr int64_t kMostNumber = int64_t{1} << 32;
  const auto fair = [](int64_t number) { return number >= 0 && number <= kMostNumber; };
  if (!fair(begin) || !fair(end) || !fair(step) || step == 0) return std::nullopt;
  if ((end - begin) / step > kMostDevices) return std::nullopt;
  Devices numbers;
  for (int64_t at = begin; at < end; at += step) numbers.push_back(at);
  return numbers;
}

// One list of a sum.
std::optional<Devices> List(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (absl::ConsumePrefix(&text, "list(") && !absl::ConsumeSuffix(&text, ")")) return std::nullopt;
  text = absl::StripAsciiWhitespace(text);
  if (absl::ConsumePrefix(&text, "range(")) {
    return absl::ConsumeSuffix(&text, ")") ? Range(text) : std::nullopt;
  }
  if (absl::ConsumePrefix(&text, "[") && absl::ConsumeSuffix(&text, "]")) return Numbers(text);
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<int64_t>> RollDevices(absl::string_view expression) {
  Devices all;
  for (const absl::string_view part : absl::StrSplit(expression, '+')) {
    std::optional<Devices> some = List(part);
    if (!some.has_value() || all.size() + some->size() > static_cast<size_t>(kMostDevices)) return std::nullopt;
    all.insert(all.end(), some->begin(), some->end());
  }
  return all;
}

}  // namespace flightplan
