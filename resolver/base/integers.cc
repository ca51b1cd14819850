#include "resolver/base/integers.h"

#include <algorithm>

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

}  // namespace flightplan
