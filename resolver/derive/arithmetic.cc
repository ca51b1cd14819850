#include "resolver/derive/arithmetic.h"

#include <algorithm>

namespace flightplan {
namespace {

constexpr int64_t kMaxSearch = 1 << 20;  // more than any cluster has GPUs

}  // namespace

bool Divides(int64_t divisor, int64_t number) { return divisor != 0 && FloorMod(number, divisor) == 0; }

int64_t FloorDiv(int64_t number, int64_t divisor) {
  if (divisor == 0) return 0;
  if (divisor == -1) return number == INT64_MIN ? INT64_MAX : -number;
  const int64_t quotient = number / divisor;
  return number % divisor != 0 && (number < 0) != (divisor < 0) ? quotient - 1 : quotient;
}

int64_t FloorMod(int64_t number, int64_t divisor) {
  if (divisor == 0 || divisor == -1) return 0;
  const int64_t rest = number % divisor;
  return rest != 0 && (rest < 0) != (divisor < 0) ? rest + divisor : rest;
}

std::optional<int64_t> Product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  }
  return product;
}

std::optional<int64_t> NextMultiple(int64_t number, int64_t unit) {
  if (unit <= 0) return std::nullopt;
  return Product({unit, std::max<int64_t>(1, FloorDiv(number, unit) + (Divides(unit, number) ? 0 : 1))});
}

std::optional<int64_t> NextSmallerFit(int64_t number, int64_t others, int64_t current) {
  if (current <= 1) return std::nullopt;
  for (int64_t value = std::min({current - 1, number, kMaxSearch}); value >= 1; --value) {
    const std::optional<int64_t> product = Product({others, value});
    if (product.has_value() && Divides(*product, number)) return value;
  }
  return std::nullopt;
}

}  // namespace flightplan
