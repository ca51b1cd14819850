#include "clients/cli/findings.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "clients/cli/shell_lines.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"
#include "resolver/render/launch.h"

namespace flightplan::cli {
namespace {

constexpr int kShownAdvice = 3;
constexpr int kIndent = 9;  // "  error  "
constexpr size_t kShownFixes = 3;

struct SeverityRow {
  const char* word;
  Style style;
};

SeverityRow RowOf(v1::Severity severity) {
  if (severity == v1::SEVERITY_ERROR) return {"error", Style::kRed};
  if (severity == v1::SEVERITY_WARNING) return {"warn", Style::kYellow};
  return {"info", Style::kBold};
}

std::string Plural(int64_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

std::string LocationText(const v1::Location& at) {
  if (at.has_line()) return absl::StrCat("line ", at.line(), "  ");
  if (at.has_argument_index()) return absl::StrCat("argument ", at.argument_index() + 1, "  ");
  return "";
}

void AppendLine(absl::string_view line, Style style, const Terminal& terminal, std::string* out) {
  absl::StrAppend(out, std::string(kIndent, ' '), terminal.Paint(line, style), "\n");
}

void AppendBlock(absl::string_view text, Style style, const Terminal& terminal, std::string* out) {
  for (const std::string& line : Wrap(terminal.Shown(text), terminal.width - kIndent)) {
    AppendLine(line, style, terminal, out);
  }
}

// On one line where all of them fit; else each on lines of its own, which a shell takes as they stand.
void AppendFixes(absl::string_view head, const std::vector<std::string>& fixes, const Terminal& terminal,
                 std::string* out) {
  if (fixes.empty()) return;
  const int width = terminal.width - kIndent;
  const std::string together = absl::StrCat(head, terminal.Shown(absl::StrJoin(fixes, "   or   ")));
  if (DisplayWidth(together) <= width) return AppendLine(together, Style::kGreen, terminal, out);
  for (const std::string& fix : fixes) {
    for (const std::string& line : WrapShell(terminal.Shown(fix), width - DisplayWidth(head))) {
      AppendLine(absl::StrCat(head, line), Style::kGreen, terminal, out);
      head = "     ";
    }
    head = "or:  ";
  }
}

std::string FindingText(const v1::Finding& finding, const Spelling& spelling, bool verbose, const Terminal& terminal) {
  const SeverityRow severity = RowOf(finding.severity());
  std::string body;
  AppendBlock(absl::StrCat(LocationText(finding.location()), finding.seen()), Style::kPlain, terminal, &body);
  const std::string head = absl::StrCat("  ", severity.word, std::string(kIndent, ' ')).substr(0, kIndent);
  std::string out = absl::StrCat(terminal.Paint(head, severity.style), body.substr(kIndent));
  if (!finding.needs().empty()) AppendBlock(absl::StrCat("needs: ", finding.needs()), Style::kPlain, terminal, &out);
  AppendFixes(finding.area() == "next-step" ? "try: " : "fix: ",
              doors::FixTexts(finding.fixes(), spelling, kShownFixes), terminal, &out);
  const bool source = !finding.source().text().empty() && (verbose || finding.severity() != v1::SEVERITY_INFO);
  AppendBlock(absl::StrCat("[", finding.rule_id(), "]", source ? absl::StrCat("  ", finding.source().text()) : "",
                           finding.source().field_report() ? " (field report)" : ""),
              Style::kDim, terminal, &out);
  return out;
}

// None, behind the question's own words: --unset alone would only take back its --set and leave the knob open.
std::string NoneOver(const std::string& knob) {
  if (knob == "pipeline_model_parallel_layout") return absl::StrCat("--pipeline-layout '' --unset ", knob);
  return absl::StrCat("--set ", knob, "=null");
}

}  // namespace

Spelling FlagSpelling(const Entries& config) {
  static constexpr std::pair<absl::string_view, absl::string_view> kFlags[] = {
      {"tensor_model_parallel_size", "--tp"},
      {"pipeline_model_parallel_size", "--pp"},
      {"virtual_pipeline_model_parallel_size", "--vpp"},
      {"context_parallel_size", "--cp"},
      {"expert_model_parallel_size", "--ep"},
      {"expert_tensor_parallel_size", "--etp"},
      {"micro_batch_size", "--mbs"},
      {"pipeline_model_parallel_layout", "--pipeline-layout"},
      {"global_batch_size", "--gbs"},
      {"seq_length", "--seq"}};
  std::set<std::string> said;
  for (const v1::ConfigEntry& entry : config) {
    if (entry.origin() == v1::CONFIG_ORIGIN_CALLER) said.insert(entry.name());
  }
  const auto spell = [said = std::move(said)](const std::string& knob, const v1::KnobValue& value) {
    if (value.kind_case() == v1::KnobValue::KIND_NOT_SET) {
      if (knob == "virtual_pipeline_model_parallel_size") return std::string("--vpp 1");
      // No plan trains in FP8 or FP4 on its own account: what was not said knob by knob, --precision has said.
      if ((knob == "fp8" || knob == "fp4") && said.count(knob) == 0) return std::string("--precision bf16");
      return said.count(knob) > 0 ? NoneOver(knob) : absl::StrCat("--unset ", knob);
    }
    for (const auto& [name, flag] : kFlags) {
      if (knob == name) return absl::StrCat(flag, " ", ShellQuote(ValueText(value)));
    }
    return absl::StrCat("--set ", ShellQuote(absl::StrCat(knob, "=", ValueText(value))));
  };
  return {spell, "--env "};
}

std::string CountText(const Findings& findings, int silent_changes) {
  int errors = 0, warnings = 0, notes = 0;
  for (const v1::Finding& finding : findings) {
    ++(finding.severity() == v1::SEVERITY_ERROR     ? errors
       : finding.severity() == v1::SEVERITY_WARNING ? warnings
                                                    : notes);
  }
  std::vector<std::string> parts;
  if (errors > 0) parts.push_back(Plural(errors, "error"));
  if (warnings > 0) parts.push_back(Plural(warnings, "warning"));
  if (notes > 0) parts.push_back(Plural(notes, "note"));
  if (silent_changes > 0) parts.push_back(Plural(silent_changes, "silent change"));
  return parts.empty() ? "no findings" : absl::StrJoin(parts, ", ");
}

bool HasError(const Findings& findings) {
  for (const v1::Finding& finding : findings) {
    if (finding.severity() == v1::SEVERITY_ERROR) return true;
  }
  return false;
}

std::string RecordedRates(const Findings& findings) {
  const auto recorded = std::find_if(findings.begin(), findings.end(),
                                     [](const v1::Finding& finding) { return finding.rule_id() == kRecordedProfile; });
  if (recorded == findings.end()) return "";
  std::map<std::string, std::string> facts;
  for (const v1::KnobSetting& fact : recorded->observed()) facts[fact.name()] = fact.value().string_value();
  absl::string_view device = facts["device"];
  absl::ConsumePrefix(&device, "NVIDIA ");
  return absl::StrCat("GPU rates of a recorded ", device, ", driver ", facts["driver"]);
}

std::string FindingsText(const Findings& findings, const Spelling& spelling, bool verbose, const Terminal& terminal) {
  std::string out;
  int advice = 0;
  for (const v1::Finding& finding : findings) {
    if (finding.severity() == v1::SEVERITY_INFO && ++advice > kShownAdvice && !verbose) continue;
    out += FindingText(finding, spelling, verbose, terminal);
  }
  if (advice > kShownAdvice && !verbose) {
    absl::StrAppend(&out, "         (", advice - kShownAdvice, " more notes: --verbose)\n");
  }
  return out;
}

std::string ChangesText(const Changes& changes, bool verbose, const Terminal& terminal) {
  Table table({{.min_width = 20, .shrink = true},
               {.max_width = 60, .min_width = 16, .shrink = true},
               {.min_width = 12, .shrink = true}});
  int hidden = 0;
  for (const bool callers : {true, false}) {
    for (const v1::EffectiveChange& change : changes) {
      if (change.overrides_caller() != callers) continue;
      if (!callers && !verbose) {
        ++hidden;
        continue;
      }
      table.Row({Cell(change.name(), callers ? Style::kYellow : Style::kPlain),
                 Cell(absl::StrCat(ValueText(change.from()), terminal.arrow(), ValueText(change.to()))),
                 Cell(absl::StrCat("[", change.rule_id(), "]"), Style::kDim)});
    }
  }
  std::string out = table.Render(terminal);
  if (hidden > 0) {
    absl::StrAppend(&out, "  (", table.empty() ? "" : "and ", hidden, " of values you did not set: --show changes)\n");
  }
  return out;
}

}  // namespace flightplan::cli
