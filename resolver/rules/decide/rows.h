// A decision as data: a list of candidate rows, judged from the top. The first row that holds gives the value and says
// why.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/rules/decide/deliberation.h"
#include "resolver/rules/rule.h"

namespace flightplan::decide {

using D = const Deliberation&;

// A cell of a row: a constant, or a function of the question where the cell names its figures.
template <typename Constant, typename Result>
class Cell {
 public:
  using Function = Result (*)(D);
  constexpr Cell() = default;
  // NOLINTBEGIN(google-explicit-constructor)
  template <typename T>
  requires(std::is_convertible_v<T, Function>) constexpr Cell(T function) : function_(function) {}
  template <typename T>
  requires(std::is_convertible_v<T, Constant> && !std::is_convertible_v<T, Function>) constexpr Cell(T constant)
      : constant_(constant) {}
  // NOLINTEND(google-explicit-constructor)
  Result operator()(D d) const { return function_ != nullptr ? function_(d) : Result(constant_); }

 private:
  Constant constant_{};
  Function function_ = nullptr;
};

// Predicates that several tables use.
inline bool Flex(D d) { return d.is(Knob::moe_token_dispatcher_type, "flex"); }
inline bool Hybridep(D d) { return Flex(d) && d.is(Knob::moe_flex_dispatcher_backend, "hybridep"); }

// The nearest other value, and why it was not taken.
struct Other {
  Literal value;
  const char* why;
};

struct Row {
  bool (*when)(D) = nullptr;  // null: always
  Cell<Literal, Value> value;
  Cell<const char*, std::string> why;
  Basis basis = Basis::kRule;
  ConstList<absl::string_view, 2> cites = {};
  std::optional<Other> other = std::nullopt;
  Cell<bool, bool> needs_ab;        // evidence does not settle it
  AbSuggestion (*ab)(D) = nullptr;  // the two runs that would; without a reason of its own it is the row's
  Cell<std::optional<double>, std::optional<double>> expected;  // relative change of the step; negative is faster
  void (*then)(Deliberation&) = nullptr;                        // sets what goes with this value
};

// The first row that holds; null: none does.
const Row* FirstThatHolds(absl::Span<const Row> rows, D d);

// What a row says of its value.
Why WhyOf(const Row& row, absl::string_view rule_id, D d);

// Sets the knob to what the first row that holds says, and runs that row's `then`. Does nothing, and judges no row,
// where the knob is not open. Null: nothing was set.
const Row* Choose(Deliberation& d, Knob knob, absl::string_view rule_id, absl::Span<const Row> rows);

// A variable to export where the row holds.
struct ExportRow {
  bool (*when)(D) = nullptr;  // null: always
  absl::string_view variable;
  Cell<const char*, std::string> value;
  absl::string_view rule_id;
  Cell<const char*, std::string> why;
  Basis basis = Basis::kRule;
  ConstList<absl::string_view, 2> cites = {};
};

// Exports each variable whose row holds, unless the caller exports it.
void Export(Deliberation& d, absl::Span<const ExportRow> rows);

}  // namespace flightplan::decide
