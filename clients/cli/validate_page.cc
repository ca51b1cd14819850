#include "clients/cli/validate_page.h"

#include "absl/strings/str_cat.h"
#include "clients/cli/findings.h"
#include "clients/cli/resolve_page.h"
#include "clients/cli/text.h"

namespace flightplan::cli {

std::string RenderValidatePage(const std::string& input, const v1::ValidateConfigResponse& response, bool verbose,
                               const Terminal& terminal) {
  const bool runs = response.will_run();
  const bool accepted = response.accepted_by_stack();
  // The two verdicts, kept apart: what the stack's own code says, and what happens after it.
  const bool in_full =
      response.completeness() == v1::COMPLETENESS_FULL || response.completeness() == v1::COMPLETENESS_UNSPECIFIED;
  const std::string verdict = !accepted  ? terminal.Paint("rejected by the stack", Style::kRed)
                              : !in_full ? std::string(response.completeness() == v1::COMPLETENESS_NONE
                                                           ? "not judged"
                                                           : "not judged in full: nothing that it shows is refused")
                                         : terminal.Paint("accepted by the stack", Style::kGreen);
  const std::string later = accepted && (in_full || !runs)
                                ? absl::StrCat("   ", runs ? terminal.Paint("will run", Style::kGreen)
                                                           : terminal.Paint("will fail later", Style::kRed))
                                : "";
  std::string out =
      absl::StrCat(terminal.Paint(terminal.Shown(input), Style::kBold), "   ", terminal.Shown(response.target()), "   ",
                   verdict, later, "   ", CountText(response.findings(), response.effective_changes_size()), "\n");
  if (response.has_estimate()) absl::StrAppend(&out, "fits  ", FitLine(response.estimate(), terminal), "\n");
  out += FindingsText(response.findings(), TargetSpelling(response.config(), response.target()), verbose, terminal);
  if (response.effective_changes_size() > 0) {
    absl::StrAppend(&out, "\n", terminal.Paint("the stack will change", Style::kBold), "\n",
                    ChangesText(response.effective_changes(), verbose, terminal));
  }
  if (response.not_judged_size() > 0) absl::StrAppend(&out, "\n", terminal.Paint("not judged", Style::kBold), "\n");
  for (const std::string& what : response.not_judged()) {
    for (const std::string& line : Wrap(terminal.Shown(what), terminal.width - 2))
      absl::StrAppend(&out, "  ", line, "\n");
  }
  return out;
}

}  // namespace flightplan::cli
