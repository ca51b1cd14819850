#include "resolver/plan/layer_pattern.h"

#include <cctype>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/status_macros.h"

namespace flightplan {
namespace {

using Items = std::vector<int64_t>;
constexpr int kMaxDepth = 16;

// sum := product ('+' product)*;  product := [int '*'] atom ['*' int];  atom := '[' int (',' int)* ']' | '(' sum ')'
class Reader {
 public:
  Reader(absl::string_view text, size_t max_items) : text_(text), max_items_(max_items) {}

  absl::StatusOr<Items> Read() {
    FLIGHTPLAN_ASSIGN_OR_RETURN(Items items, Sum(0));
    Skip();
    if (at_ != text_.size()) return Error("unexpected text");
    return items;
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("layer pattern: ", what, " at offset ", at_, "; write it like [0]*3+[1]*58"));
  }
  absl::Status TooMany() const { return Error(absl::StrCat("expands to more than ", max_items_, " layers")); }
  void Skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool Take(char c) {
    Skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<int64_t> Integer() {
    Skip();
    size_t end = at_;
    int64_t value = 0;
    while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end])) && end - at_ < 9) {
      value = value * 10 + (text_[end++] - '0');
    }
    if (end == at_) return std::nullopt;
    at_ = end;
    return value;
  }
  absl::StatusOr<Items> Sum(int depth) {
    if (depth > kMaxDepth) return Error("nests too deep");
    FLIGHTPLAN_ASSIGN_OR_RETURN(Items items, Product(depth));
    while (Take('+')) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(Items more, Product(depth));
      if (items.size() + more.size() > max_items_) return TooMany();
      items.insert(items.end(), more.begin(), more.end());
    }
    return items;
  }
  absl::StatusOr<Items> Product(int depth) {
    int64_t times = 1;
    if (std::optional<int64_t> before = Integer(); before.has_value()) {
      if (!Take('*')) return Error("expected '*'");
      times = *before;
    }
    FLIGHTPLAN_ASSIGN_OR_RETURN(Items unit, Atom(depth));
    while (Take('*')) {
      const std::optional<int64_t> after = Integer();
      if (!after.has_value()) return Error("expected a repeat count");
      if (times != 0 && *after > static_cast<int64_t>(max_items_)) return TooMany();
      times *= *after;
      if (times > static_cast<int64_t>(max_items_)) return TooMany();
    }
    if (unit.size() * static_cast<size_t>(times) > max_items_) return TooMany();
    Items items;
    for (int64_t i = 0; i < times; ++i) items.insert(items.end(), unit.begin(), unit.end());
    return items;
  }
  absl::StatusOr<Items> Atom(int depth) {
    if (Take('(')) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(Items items, Sum(depth + 1));
      if (!Take(')')) return Error("expected ')'");
      return items;
    }
    if (!Take('[')) return Error("expected '['");
    Items items;
    do {
      const std::optional<int64_t> value = Integer();
      if (!value.has_value()) return Error("expected an integer");
      items.push_back(*value);
      if (items.size() > max_items_) return TooMany();
    } while (Take(','));
    if (!Take(']')) return Error("expected ']'");
    return items;
  }

  absl::string_view text_;
  size_t max_items_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<std::vector<int64_t>> ExpandLayerPattern(absl::string_view text, size_t max_items) {
  if (text.size() > 4 * max_items) return absl::InvalidArgumentError("layer pattern: text is too long");
  return Reader(text, max_items).Read();
}

}  // namespace flightplan
