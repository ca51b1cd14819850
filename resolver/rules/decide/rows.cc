#include "resolver/rules/decide/rows.h"

#include <utility>

namespace flightplan::decide {

const Row* FirstThatHolds(absl::Span<const Row> rows, D d) {
  for (const Row& row : rows) {
    if (row.when == nullptr || row.when(d)) return &row;
  }
  return nullptr;
}

Why WhyOf(const Row& row, absl::string_view rule_id, D d) {
  Why why{.rule_id = rule_id,
          .reason = row.why(d),
          .basis = row.basis,
          .citations = {row.cites.begin(), row.cites.end()},
          .needs_ab = row.needs_ab(d),
          .expected_step_ratio = row.expected(d)};
  if (row.other.has_value()) why.alternatives = {{Value(row.other->value), row.other->why}};
  return why;
}

const Row* Choose(Deliberation& d, Knob knob, absl::string_view rule_id, absl::Span<const Row> rows) {
  if (!d.open(knob)) return nullptr;
  const Row* row = FirstThatHolds(rows, d);
  if (row == nullptr) return nullptr;
  Why why = WhyOf(*row, rule_id, d);
  if (why.needs_ab && row->ab != nullptr) {
    AbSuggestion ab = row->ab(d);
    if (ab.reason.empty()) ab.reason = why.reason;
    d.SuggestAb(std::move(ab));
  }
  d.Choose(knob, row->value(d), std::move(why));
  if (row->then != nullptr) row->then(d);
  return row;
}

void Export(Deliberation& d, absl::Span<const ExportRow> rows) {
  for (const ExportRow& row : rows) {
    if (d.var_given(row.variable) || (row.when != nullptr && !row.when(d))) continue;
    d.Export(row.variable, row.value(d),
             {.rule_id = row.rule_id,
              .reason = row.why(d),
              .basis = row.basis,
              .citations = {row.cites.begin(), row.cites.end()}});
  }
}

}  // namespace flightplan::decide
