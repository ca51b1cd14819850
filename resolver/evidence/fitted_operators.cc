#include "resolver/evidence/fitted_operators.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "absl/strings/strip.h"

namespace flightplan {
namespace {

struct OperatorRows {
  absl::string_view id;
  std::array<absl::string_view, 3> width;  // parameters whose product it is; an empty one is 1
  bool per_key;
};
constexpr OperatorRows kOperators[] = {{"mamba.scan", {"heads", "head_dim", "state"}, false},
                                       {"delta.scan", {"heads", "key_dim", "value_dim"}, false},
                                       {"dsa.index", {"heads", "head_dim", ""}, true}};

double WidthOf(const OperatorRows& rows, const ProfileRow& row) {
  double width = 1;
  for (const absl::string_view name : rows.width) {
    if (!name.empty()) width *= row.Parameter(name);
  }
  return width;
}

void AddRow(const OperatorRows& rows, const ProfileRow& row, bool forward, FittedOperator* fitted) {
  const double tokens = row.Parameter("tokens"), keys = rows.per_key ? fitted->sequence : 1;
  (forward ? fitted->forward_us : fitted->backward_us) = row.value / (tokens * fitted->width * keys);
  fitted->error = std::max({fitted->error, row.high / row.value - 1, 1 - row.low / row.value});
  if (row.kind != RowKind::kMeasured) fitted->kind = row.kind;
  fitted->library = std::string(row.Label("library"));
}

}  // namespace

std::vector<FittedOperator> FitOperators(const HardwareProfile& profile) {
  std::vector<FittedOperator> fitted;
  for (const OperatorRows& rows : kOperators) {
    // A forward and a backward row of the same shape are one operator.
    std::map<std::map<std::string, double, std::less<>>, FittedOperator> by_shape;
    for (const ProfileRow& row : profile.rows) {
      absl::string_view pass = row.id;
      if (!absl::ConsumePrefix(&pass, rows.id) || (pass != ".fwd" && pass != ".bwd")) continue;
      const double width = WidthOf(rows, row), sequence = row.Parameter("sequence");
      const bool real = row.kind == RowKind::kMeasured || row.kind == RowKind::kImported;
      if (row.unit != "us" || !real || !(row.value > 0)) continue;
      if (!(width > 0) || !(sequence > 0) || !(row.Parameter("tokens") > 0)) continue;
      FittedOperator& at = by_shape.emplace(row.parameters, FittedOperator{rows.id, width, sequence}).first->second;
      AddRow(rows, row, pass == ".fwd", &at);
    }
    for (const auto& [unused, each] : by_shape) {
      if (each.forward_us > 0) fitted.push_back(each);
    }
  }
  return fitted;
}

const FittedOperator* NearestOperator(const std::vector<FittedOperator>& operators, absl::string_view id, double width,
                                      double sequence) {
  const auto apart = [](double a, double b) { return std::fabs(std::log(a / b)); };
  const FittedOperator* nearest = nullptr;
  for (const FittedOperator& each : operators) {
    if (each.id != id) continue;
    const double by_width = apart(each.width, width);
    const double nearest_by_width = nearest == nullptr ? 0 : apart(nearest->width, width);
    if (nearest == nullptr || by_width < nearest_by_width ||
        (by_width == nearest_by_width && apart(each.sequence, sequence) < apart(nearest->sequence, sequence))) {
      nearest = &each;
    }
  }
  return nearest;
}

}  // namespace flightplan
