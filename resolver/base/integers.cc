#include "resolver/base/integers.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace flightplan {
namespace {

constexpr int64_t kMaxSearch = 1 << 20;  // more than any cluster has GPUs

}  // namespace

std::optional<int64_t> Product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  }
  return product;
}

std::optional<int64_t> NextMultiple(int64_t number, int64_t unit) {
  if (unit <= 0) return std::nullopt;
  return Product({unit, std::max<int64_t>(1, FloorDiv(number, unit) + (Divisible(number, unit) ? 0 : 1))});
}

std::optional<int64_t> NextSmallerFit(int64_t number, int64_t others, int64_t current) {
  if (current <= 1) return std::nullopt;
  for (int64_t value = std::min({current - 1, number, kMaxSearch}); value >= 1; --value) {
    const std::optional<int64_t> product = Product({others, value});
    if (product.has_value() && Divisible(number, *product)) return value;
  }
  return std::nullopt;
}

std::string InDigits(absl::string_view text) {
  const std::string plain = absl::StrReplaceAll(text, {{",", ""}, {"_", ""}});
  absl::string_view digits = plain;
  int64_t binary = 1, decimal = 1, number = 0;
  if (absl::EndsWithIgnoreCase(digits, "k")) binary = int64_t{1} << 10, decimal = 1'000;
  if (absl::EndsWithIgnoreCase(digits, "m")) binary = int64_t{1} << 20, decimal = 1'000'000;
  if (binary > 1) digits.remove_suffix(1);
  constexpr int64_t kMost = int64_t{1} << 40;
  if (plain == digits && plain.size() == text.size()) return "";
  if (!absl::SimpleAtoi(digits, &number) || number < 1 || number > kMost) return "";
  const std::string meant = absl::StrCat(number * binary);
  const bool power = (number & (number - 1)) == 0;
  return binary == 1 || power ? meant : absl::StrCat(meant, " or ", number * decimal);
}

std::string MeantInDigits(absl::string_view text) {
  const std::string digits = InDigits(text);
  return digits.empty() ? "" : absl::StrCat("; did you mean ", digits, "?");
}

}  // namespace flightplan
