// Integer arithmetic as Python does it, safe on any values a caller may send.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace flightplan {

// number % divisor == 0; false for a zero divisor, which upstream answers with an exception.
bool Divides(int64_t divisor, int64_t number);
// Python's // : rounds towards minus infinity; 0 for a zero divisor.
int64_t FloorDiv(int64_t number, int64_t divisor);
// Python's % : has the divisor's sign; 0 for a zero divisor.
int64_t FloorMod(int64_t number, int64_t divisor);
// The product, or nothing when it does not fit 64 bits.
std::optional<int64_t> Product(std::initializer_list<int64_t> factors);
// The smallest multiple of `unit` that is at least `number`, and positive; nothing when it does not fit 64 bits or
// `unit` is not positive.
std::optional<int64_t> NextMultiple(int64_t number, int64_t unit);
// The largest value below `current`, at least 1, for which number % (others * value) == 0; nothing when there is none.
std::optional<int64_t> NextSmallerFit(int64_t number, int64_t others, int64_t current);

}  // namespace flightplan
