#include "clients/cli/ab_part.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/findings.h"
#include "clients/cli/forecast_text.h"
#include "clients/cli/labelled_lines.h"
#include "clients/cli/text.h"

namespace flightplan::cli {
namespace {

// The A side of a suggestion, which the answer carries once.
const v1::Launch& PlanLaunch(const v1::AbSuggestion& ab, const v1::ResolveConfigResponse& response) {
  return ab.has_plan_launch() || response.launches().empty() ? ab.plan_launch() : response.launches(0);
}

}  // namespace

std::string AbPart(const v1::ResolveConfigResponse& response, const Terminal& terminal) {
  if (response.ab_suggestions().empty()) return Line("A/B", "the evidence settles every knob; none to run", terminal);
  std::string out;
  for (const v1::AbSuggestion& ab : response.ab_suggestions()) {
    std::string head = absl::StrCat(ab.knob(), ": ", ValueText(ab.plan_value()), " (A, this plan) or ",
                                    ValueText(ab.other_value()), " (B)");
    if (ab.has_expected_step_ratio()) {
      const v1::Range& ratio = ab.expected_step_ratio();
      absl::StrAppend(&head, ", step ", PercentText(ratio.value()), " (", PercentText(ratio.low()), "..",
                      PercentText(ratio.high()), ")");
    }
    absl::StrAppend(&out, out.empty() ? "" : "\n", terminal.Paint(terminal.Shown(head), Style::kBold), "\n");
    out += Line("why", ab.reason(), terminal);
    if (!ab.companions().empty()) {
      std::vector<std::string> with;
      for (const v1::KnobSetting& knob : ab.companions())
        with.push_back(absl::StrCat(knob.name(), "=", ValueText(knob.value())));
      out += Line("B needs", absl::StrJoin(with, ", "), terminal);
    }
    absl::StrAppend(&out, "\n# A\n", terminal.ShownLines(PlanLaunch(ab, response).text()), "\n# B\n",
                    terminal.ShownLines(ab.other_launch().text()), "\n");
  }
  return out;
}

}  // namespace flightplan::cli
