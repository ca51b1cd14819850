#include "clients/cli/decisions_part.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/findings.h"
#include "clients/cli/forecast_text.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"
#include "clients/cli/words.h"

namespace flightplan::cli {
namespace {

constexpr size_t kShownDecisions = 10;

constexpr Word<v1::Basis> kBases[] = {{"measurement", v1::BASIS_MEASURED}, {"recipe", v1::BASIS_RECIPES},
                                      {"estimate", v1::BASIS_ESTIMATE},    {"rule", v1::BASIS_RULE},
                                      {"guidance", v1::BASIS_GUIDANCE},    {"your word", v1::BASIS_CALLER}};

std::string BasisText(const v1::Decision& decision) {
  const absl::string_view word = WordFor(kBases, decision.basis());
  const int cited = decision.citations_size();
  const bool counted = decision.basis() == v1::BASIS_MEASURED || decision.basis() == v1::BASIS_RECIPES;
  return counted && cited > 0 ? absl::StrCat(cited, " ", word, cited == 1 ? "" : "s") : std::string(word);
}

int Rank(const v1::Decision& decision) {
  if (decision.needs_ab()) return 0;
  if (decision.basis() == v1::BASIS_CALLER) return 5;
  if (absl::StartsWith(decision.name(), "env.")) return 4;
  if (!decision.alternatives().empty()) return 1;
  const bool weighed = decision.basis() == v1::BASIS_MEASURED || decision.basis() == v1::BASIS_RECIPES ||
                       decision.basis() == v1::BASIS_ESTIMATE;
  return weighed ? 2 : 3;
}

std::string ReasonText(const v1::Decision& decision) {
  if (!decision.has_expected_step_ratio()) return decision.reason();
  return absl::StrCat(decision.reason(), " (step ", decision.expected_step_ratio() > 0 ? "+" : "",
                      PercentText(decision.expected_step_ratio()), ")");
}

// The other candidates, and what the choice rests on.
void AddDetails(const v1::Decision& decision, Table* table) {
  for (const v1::Alternative& other : decision.alternatives()) {
    table->Row({Cell(""), Cell(""),
                Cell(absl::StrCat("not ", ValueText(other.value()), ": ", other.reason()), Style::kDim), Cell("")});
  }
  for (const v1::Citation& citation : decision.citations()) {
    table->Row({Cell(""), Cell(""), Cell(citation.text(), Style::kDim), Cell("")});
  }
}

}  // namespace

std::vector<const v1::Decision*> ByImportance(const v1::ResolveConfigResponse& response) {
  std::vector<const v1::Decision*> decisions;
  for (const v1::Decision& decision : response.decisions()) decisions.push_back(&decision);
  std::stable_sort(decisions.begin(), decisions.end(),
                   [](const auto* a, const auto* b) { return Rank(*a) < Rank(*b); });
  return decisions;
}

std::string DecisionsPart(const v1::ResolveConfigResponse& response, bool all, bool verbose, const Terminal& terminal) {
  const std::vector<const v1::Decision*> decisions = ByImportance(response);
  if (decisions.empty()) return "";
  Table table({{.max_width = 44, .min_width = 20, .shrink = true},
               {.max_width = 24, .min_width = 8, .shrink = true},
               {.min_width = 24, .max_lines = all ? 0 : 3, .shrink = true},
               {.max_width = 24}});
  table.Row({Cell("decided", Style::kBold), Cell(""), Cell("because", Style::kDim), Cell("rests on", Style::kDim)});
  size_t shown = 0;
  for (const v1::Decision* decision : decisions) {
    if (!all && shown == kShownDecisions) break;
    ++shown;
    const std::string rests = decision->needs_ab() ? "needs an A/B" : BasisText(*decision);
    table.Row({Cell(decision->name()), Cell(ValueText(decision->value()), Style::kGreen), Cell(ReasonText(*decision)),
               Cell(rests, decision->needs_ab() ? Style::kYellow : Style::kDim)});
    if (verbose) AddDetails(*decision, &table);
  }
  std::string out = table.Render(terminal);
  if (shown < decisions.size()) {
    const std::string more = absl::StrCat("(", decisions.size() - shown, " more: --verbose)");
    absl::StrAppend(&out,
                    std::string(static_cast<size_t>(std::max(2, terminal.width - static_cast<int>(more.size()))), ' '),
                    terminal.Paint(more, Style::kDim), "\n");
  }
  return out;
}

}  // namespace flightplan::cli
