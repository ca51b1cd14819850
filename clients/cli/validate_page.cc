#include "clients/cli/validate_page.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/findings.h"
#include "clients/cli/fit_line.h"
#include "clients/cli/forecast_text.h"
#include "clients/cli/labelled_lines.h"
#include "clients/cli/text.h"

namespace flightplan::cli {
namespace {

// Memory, step and speed; what communication costs; what they rest on. `rates`: whose; empty: the catalogue's.
std::string EstimateLines(const v1::Estimate& estimate, const std::string& rates, const Terminal& terminal) {
  std::vector<std::string> parts = FitAndStep(estimate, terminal);
  if (std::string speed = SpeedText(estimate); !speed.empty()) parts.push_back(std::move(speed));
  std::vector<std::string> lines = WrapParts(parts, kPartGap, terminal.width);
  std::vector<std::string> paths = CommunicationTexts(estimate);
  if (!paths.empty()) paths.front() = absl::StrCat("exposed  ", paths.front());
  for (std::string& line : WrapParts(paths, kPartGap, terminal.width)) lines.push_back(std::move(line));
  const std::string basis = rates.empty() ? "" : absl::StrCat("assumed  ", rates, " (flightplan probe measures yours)");
  for (std::string& line : Wrap(terminal.Shown(basis), terminal.width)) lines.push_back(std::move(line));
  return absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
}

Findings Without(absl::string_view rule_id, const Findings& findings) {
  Findings kept;
  for (const v1::Finding& finding : findings) {
    if (finding.rule_id() != rule_id) *kept.Add() = finding;
  }
  return kept;
}

}  // namespace

Verdict VerdictOf(bool accepted, bool will_run, v1::Completeness completeness, v1::FitVerdict fit) {
  if (!accepted) return {"rejected by the stack", Style::kRed};
  const bool in_full = completeness == v1::COMPLETENESS_FULL || completeness == v1::COMPLETENESS_UNSPECIFIED;
  Verdict verdict{"accepted by the stack", Style::kGreen};
  if (!in_full) {
    verdict = {completeness == v1::COMPLETENESS_NONE ? "not judged"
                                                     : "not judged in full: nothing that it shows is refused"};
    if (will_run) return verdict;
  }
  if (!will_run) {
    verdict.later = "will fail later";
    verdict.later_style = Style::kRed;
  } else if (fit == v1::FIT_VERDICT_UNKNOWN) {
    verdict.later = "will run if it fits: unknown";
    verdict.later_style = Style::kYellow;
  } else {
    verdict.later = "will run";
    verdict.later_style = Style::kGreen;
  }
  return verdict;
}

std::string RenderValidatePage(const std::string& input, const v1::ValidateConfigResponse& response, bool verbose,
                               const Terminal& terminal) {
  const Verdict verdict =
      VerdictOf(response.accepted_by_stack(), response.will_run(), response.completeness(), response.memory().fit());
  const std::string rates = RecordedRates(response.findings());
  const Findings findings = Without(kRecordedProfile, response.findings());  // told beside the forecast
  std::string out =
      absl::StrCat(terminal.Paint(terminal.Shown(input), Style::kBold), "   ", terminal.Shown(response.target()), "   ",
                   terminal.Paint(verdict.stack, verdict.stack_style), verdict.later.empty() ? "" : "   ",
                   terminal.Paint(verdict.later, verdict.later_style), "   ",
                   CountText(findings, response.effective_changes_size()), "\n");
  if (response.has_estimate()) {
    out += EstimateLines(response.estimate(), rates, terminal);
  } else if (response.has_memory() && response.completeness() != v1::COMPLETENESS_NONE) {
    absl::StrAppend(&out, "fits  ", FitLine(response, terminal), "\n");
  }
  out += FindingsText(findings, TargetSpelling(response.config(), response.target()), verbose, terminal);
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
