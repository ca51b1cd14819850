// The list expressions of --moe-layer-freq and its kin. Upstream hands them to Python's eval() after checking that
// they hold only digits and ,[]()+* ; this evaluates the same language with bounds, and nothing else.
#include <cctype>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"
#include "resolver/read/argparse.h"
#include "resolver/read/list_arithmetic.h"

namespace flightplan {
namespace {

constexpr int kMaxDepth = 64;

bool Overflows(int64_t a, int64_t b, bool multiply, int64_t* out) {
  return multiply ? __builtin_mul_overflow(a, b, out) : __builtin_add_overflow(a, b, out);
}

absl::Status TooLong() {
  return absl::OutOfRangeError(absl::StrCat("the list has more than ", kMaxListItems, " items"));
}

absl::StatusOr<Value> Sum(const Value& a, const Value& b) {
  if (a.is_int() && b.is_int()) {
    int64_t sum = 0;
    if (Overflows(a.integer(), b.integer(), false, &sum)) return absl::OutOfRangeError("integer out of range");
    return Value(sum);
  }
  if (!a.is_list() || !b.is_list()) return absl::InvalidArgumentError("+ needs two lists or two integers");
  return JoinedLists(a, b);
}

absl::StatusOr<Value> Product(const Value& a, const Value& b) {
  if (a.is_int() && b.is_int()) {
    int64_t product = 0;
    if (Overflows(a.integer(), b.integer(), true, &product)) return absl::OutOfRangeError("integer out of range");
    return Value(product);
  }
  const bool list_first = a.is_list();
  const Value& list = list_first ? a : b;
  const Value& times = list_first ? b : a;
  if (!list.is_list() || !times.is_int()) return absl::InvalidArgumentError("* needs a list and an integer");
  return RepeatedList(list, times.integer());
}

class Evaluator {
 public:
  explicit Evaluator(absl::string_view text) : text_(text) {}

  absl::StatusOr<Value> All() {
    FLIGHTPLAN_ASSIGN_OR_RETURN(Value value, Items('\0', 0));
    if (at_ != text_.size()) return Unexpected();
    return value;
  }

 private:
  absl::Status Unexpected() const {
    if (at_ >= text_.size()) return absl::InvalidArgumentError("the expression ends too early");
    return absl::InvalidArgumentError(absl::StrCat("unexpected '", text_.substr(at_, 1), "' at column ", at_ + 1));
  }
  bool Eat(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool At(char c) const { return c == '\0' ? at_ == text_.size() : at_ < text_.size() && text_[at_] == c; }

  // A pattern written out is hundreds of these: [0,0,0,1,1 ...
  bool AtLoneDigit() const {
    if (at_ + 1 >= text_.size() || (text_[at_ + 1] != ',' && text_[at_ + 1] != ']')) return false;
    return std::isdigit(static_cast<unsigned char>(text_[at_])) != 0;
  }

  // Comma-separated sums up to `end` (not eaten). One item without a comma is the item itself, as in Python, unless
  // a list is being read.
  absl::StatusOr<Value> Items(char end, int depth) {
    if (depth > kMaxDepth) return absl::InvalidArgumentError("brackets nest deeper than 64 levels");
    Value::List items;
    bool comma = false;
    while (!At(end)) {
      if (AtLoneDigit()) {
        items.emplace_back(int64_t{text_[at_++] - '0'});
      } else {
        FLIGHTPLAN_ASSIGN_OR_RETURN(Value item, Terms(depth));
        items.push_back(std::move(item));
      }
      if (items.size() > kMaxListItems) return TooLong();
      if (!Eat(',')) break;
      comma = true;
    }
    if (!At(end)) return Unexpected();
    if (end == '\0' && items.empty()) return Unexpected();
    if (end != ']' && !comma && items.size() == 1) return items[0];
    return Value(std::move(items));
  }

  absl::StatusOr<Value> Terms(int depth) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(Value sum, Factors(depth));
    while (Eat('+')) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(Value next, Factors(depth));
      FLIGHTPLAN_ASSIGN_OR_RETURN(sum, Sum(sum, next));
    }
    return sum;
  }

  absl::StatusOr<Value> Factors(int depth) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(Value product, Atom(depth));
    while (Eat('*')) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(Value next, Atom(depth));
      FLIGHTPLAN_ASSIGN_OR_RETURN(product, Product(product, next));
    }
    return product;
  }

  absl::StatusOr<Value> Atom(int depth) {
    for (const auto& [open, close] : {std::pair{'[', ']'}, std::pair{'(', ')'}}) {
      if (!Eat(open)) continue;
      FLIGHTPLAN_ASSIGN_OR_RETURN(Value inner, Items(close, depth + 1));
      if (!Eat(close)) return Unexpected();
      return inner;
    }
    return Integer();
  }

  absl::StatusOr<Value> Integer() {
    const size_t start = at_;
    int64_t value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      if (Overflows(value, 10, true, &value) || Overflows(value, text_[at_] - '0', false, &value)) {
        return absl::OutOfRangeError("integer out of range");
      }
      ++at_;
    }
    if (at_ == start) return Unexpected();
    const bool padded = at_ - start > 1 && text_[start] == '0' && value != 0;  // a syntax error in Python 3
    if (padded) return absl::InvalidArgumentError("integers must not start with 0");
    return Value(value);
  }

  absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<Value> JoinedLists(const Value& a, const Value& b) {
  if (a.list().size() + b.list().size() > kMaxListItems) return TooLong();
  Value::List items = a.list();
  items.insert(items.end(), b.list().begin(), b.list().end());
  return Value(std::move(items));
}

absl::StatusOr<Value> RepeatedList(const Value& list, int64_t times) {
  const size_t size = list.list().size();
  if (times <= 0 || size == 0) return Value(Value::List{});
  if (static_cast<uint64_t>(times) > kMaxListItems / size) return TooLong();
  const auto count = static_cast<size_t>(times);
  if (size == 1) return Value(Value::List(count, list.list()[0]));  // [1]*58
  Value::List items;
  items.reserve(size * count);
  for (size_t i = 0; i < count; ++i) items.insert(items.end(), list.list().begin(), list.list().end());
  return Value(std::move(items));
}

absl::StatusOr<Value> EvaluateListExpression(absl::string_view text) {
  constexpr absl::string_view kAllowed = ",0123456789[]()+*";
  const size_t bad = text.find_first_not_of(kAllowed);
  if (bad != absl::string_view::npos) {
    return absl::InvalidArgumentError("a pattern may hold only digits and ,[]()+*");
  }
  return Evaluator(text).All();
}

}  // namespace flightplan
