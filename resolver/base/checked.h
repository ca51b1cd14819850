// Integer arithmetic that remembers an overflow instead of wrapping: a formula is written as it stands in the reference
// and asked once, at its end, whether it held.
#pragma once

#include <cstdint>

namespace flightplan {

class Checked {
 public:
  constexpr Checked() = default;
  constexpr Checked(int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)

  // The value; meaningless unless ok().
  constexpr int64_t value() const { return value_; }
  constexpr bool ok() const { return ok_; }

  friend constexpr Checked operator+(Checked a, Checked b) {
    Checked sum;
    sum.ok_ = !__builtin_add_overflow(a.value_, b.value_, &sum.value_) && a.ok_ && b.ok_;
    return sum;
  }
  friend constexpr Checked operator-(Checked a, Checked b) {
    Checked difference;
    difference.ok_ = !__builtin_sub_overflow(a.value_, b.value_, &difference.value_) && a.ok_ && b.ok_;
    return difference;
  }
  friend constexpr Checked operator*(Checked a, Checked b) {
    Checked product;
    product.ok_ = !__builtin_mul_overflow(a.value_, b.value_, &product.value_) && a.ok_ && b.ok_;
    return product;
  }
  // In place: of `*this = *this + b`, built for size, GCC 12 lost the first of two sums.
  Checked& operator+=(Checked b) {
    ok_ = !__builtin_add_overflow(value_, b.value_, &value_) && ok_ && b.ok_;
    return *this;
  }

 private:
  int64_t value_ = 0;
  bool ok_ = true;
};

}  // namespace flightplan
