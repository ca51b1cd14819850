#include "clients/cli/convert_page.h"

#include "absl/strings/str_cat.h"
#include "clients/cli/findings.h"
#include "clients/cli/labelled_lines.h"
#include "clients/cli/table.h"

namespace flightplan::cli {
namespace {

using Knobs = google::protobuf::RepeatedPtrField<v1::ConvertedKnob>;

constexpr int kShownPins = 10;
constexpr absl::string_view kOtherLaunches = "input.other-launches";

std::string Section(absl::string_view title, const Knobs& knobs, int most, const Terminal& terminal) {
  if (knobs.empty()) return "";
  Table table({{.min_width = 20, .shrink = true},
               {.min_width = 20, .shrink = true},
               {.min_width = 24, .max_lines = 3, .shrink = true}});
  int shown = 0;
  for (const v1::ConvertedKnob& knob : knobs) {
    if (++shown > most) break;
    // A switch by its name: its flag may stand for the opposite.
    const bool by_name = knob.source_spelling().empty() || knob.value().has_bool_value();
    const std::string from = by_name ? knob.name() : knob.source_spelling();
    table.Row({Cell(absl::StrCat(from, knob.has_value() ? " " : "", knob.has_value() ? ValueText(knob.value()) : "")),
               Cell(knob.target_spelling().empty() ? "-" : knob.target_spelling()), Cell(knob.reason(), Style::kDim)});
  }
  std::string out = absl::StrCat(terminal.Paint(title, Style::kBold), "  ", knobs.size(), "\n", table.Render(terminal));
  if (knobs.size() > most) absl::StrAppend(&out, "  (", knobs.size() - most, " more: --verbose)\n");
  return out;
}

}  // namespace

std::string RenderConvertReport(const v1::ConvertConfigResponse& response, absl::string_view target, bool verbose,
                                const Terminal& terminal) {
  constexpr int kAll = 1 << 20;
  const int most = verbose ? kAll : kShownPins;
  std::string out = Section("no counterpart", response.dropped(), kAll, terminal);
  out += Section("spelled otherwise", response.converted(), most, terminal);
  out += Section("written because the defaults differ", response.pinned_defaults(), most, terminal);
  if (target.substr(0, 15) == "megatron-bridge") {
    out += "apply the overrides to a recipe of the same model: what the recipe sets beside them was not judged\n";
  }
  out += StillNeeded(response.launch(), terminal);
  for (const v1::Finding& finding : response.source_findings()) {
    if (finding.rule_id() == kOtherLaunches) absl::StrAppend(&out, terminal.Shown(finding.needs()), "\n");
  }
  if (HasError(response.source_findings())) {
    absl::StrAppend(&out, "the source itself has ", CountText(response.source_findings(), 0), "\n");
  }
  absl::StrAppend(&out, terminal.Paint(terminal.Shown(target), Style::kBold), " finds ",
                  CountText(response.target_findings(), 0), "\n",
                  FindingsText(response.target_findings(), TargetSpelling({}, target), verbose, terminal));
  return out;
}

}  // namespace flightplan::cli
