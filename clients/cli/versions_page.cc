#include "clients/cli/versions_page.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/findings.h"
#include "clients/cli/output.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"
#include "google/protobuf/struct.pb.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/dialects.h"

namespace flightplan::cli {
namespace {

constexpr size_t kShown = 3;  // of each list, unless verbose

std::set<std::string> Ids(const v1::ValidateConfigResponse& response, bool errors, bool warnings) {
  std::set<std::string> ids;
  for (const v1::Finding& finding : response.findings()) {
    if (errors && finding.severity() == v1::SEVERITY_ERROR) ids.insert(finding.rule_id());
    if (warnings && finding.severity() == v1::SEVERITY_WARNING) ids.insert(finding.rule_id());
  }
  return ids;
}

std::vector<std::string> Without(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::vector<std::string> left;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(left));
  return left;
}

std::map<std::string, std::string> Values(const v1::ValidateConfigResponse& response) {
  std::map<std::string, std::string> values;
  for (const v1::ConfigEntry& entry : response.config()) values[entry.name()] = ValueText(entry.value());
  return values;
}

std::string Listed(absl::string_view sign, const std::vector<std::string>& items, bool verbose) {
  const size_t shown = verbose ? items.size() : std::min(items.size(), kShown);
  std::vector<std::string> parts;
  for (size_t i = 0; i < shown; ++i) parts.push_back(absl::StrCat(sign, items[i]));
  if (shown < items.size()) parts.push_back(absl::StrCat(items.size() - shown, " more"));
  return absl::StrJoin(parts, ", ");
}

std::string ChangeText(const ReleaseChange& change, bool verbose) {
  std::vector<std::string> parts;
  if (!change.new_findings.empty()) parts.push_back(Listed("+", change.new_findings, verbose));
  if (!change.gone_findings.empty()) parts.push_back(Listed("-", change.gone_findings, verbose));
  if (!change.values.empty()) parts.push_back(Listed("", change.values, verbose));
  return parts.empty() ? "the same" : absl::StrJoin(parts, "; ");
}

google::protobuf::Value ListOf(const std::vector<std::string>& items) {
  google::protobuf::Value value;
  value.mutable_list_value();
  for (const std::string& item : items) value.mutable_list_value()->add_values()->set_string_value(item);
  return value;
}

std::vector<std::string> AsVector(const std::set<std::string>& ids) { return {ids.begin(), ids.end()}; }

}  // namespace

ReleaseChange CompareReleases(const v1::ValidateConfigResponse& older, const v1::ValidateConfigResponse& newer) {
  ReleaseChange change;
  const std::set<std::string> before = Ids(older, true, true), after = Ids(newer, true, true);
  change.new_findings = Without(after, before);
  change.gone_findings = Without(before, after);
  const std::map<std::string, std::string> old_values = Values(older), new_values = Values(newer);
  for (const auto& [name, value] : new_values) {
    const auto old = old_values.find(name);
    if (old != old_values.end() && old->second != value) {
      change.values.push_back(absl::StrCat(name, ": ", old->second, " -> ", value));
    }
  }
  return change;
}

std::vector<std::string> ReleasesOf(absl::string_view framework) {
  std::vector<std::string> releases;
  const Stack* const stack = FindStack(framework);
  if (stack == nullptr || stack->releases.size() == 1) return releases;
  for (int release : stack->releases) {
    // Of the oldest core the config classes were read, not the command line.
    if (!stack->command_line || release >= kFirstCommandLine) releases.push_back(ReleaseText(release));
  }
  return releases;
}

std::vector<std::string> TargetNames() {
  std::vector<std::string> names;
  for (const Stack* stack : AllStacks()) {
    if (!stack->by_name) continue;
    names.emplace_back(stack->name);
    for (const std::string& release : ReleasesOf(stack->name)) names.push_back(absl::StrCat(stack->name, "@", release));
  }
  return names;
}

namespace {

// " but 0.15, ...": which of its releases the page does not judge.
std::string LeftOut(absl::string_view framework) {
  const std::vector<std::string> judged = ReleasesOf(framework);
  const Stack* const stack = FindStack(framework);
  if (stack == nullptr || judged.empty()) return "";
  std::vector<std::string> left;
  for (int release : stack->releases) {
    if (std::find(judged.begin(), judged.end(), ReleaseText(release)) == judged.end())
      left.push_back(ReleaseText(release));
  }
  return left.empty() ? "" : absl::StrCat(" but ", absl::StrJoin(left, ", "), ", whose command line was not read");
}

}  // namespace

std::string RenderVersionsPage(const std::string& input, absl::string_view framework,
                               const std::vector<ReleaseAnswer>& answers, bool verbose, const Terminal& terminal) {
  Table table({{}, {}, {.right = true}, {.min_width = 24, .max_lines = 0, .shrink = true}}, 2);
  table.Row({Cell("release", Style::kBold), Cell("verdict", Style::kBold), Cell("errors", Style::kBold),
             Cell("against the release before", Style::kBold)});
  for (size_t i = 0; i < answers.size(); ++i) {
    const v1::ValidateConfigResponse& response = answers[i].response;
    const bool accepted = response.accepted_by_stack(), runs = response.will_run();
    const std::set<std::string> errors = Ids(response, true, false);
    const std::string change = i == 0 ? Listed("", AsVector(errors), verbose)
                                      : ChangeText(CompareReleases(answers[i - 1].response, response), verbose);
    const bool unknown = runs && response.memory().fit() == v1::FIT_VERDICT_UNKNOWN;
    table.Row({Cell(answers[i].release),
               Cell(unknown    ? "will run if it fits"
                    : runs     ? "will run"
                    : accepted ? "accepted, fails later"
                               : "rejected",
                    unknown ? Style::kYellow
                    : runs  ? Style::kGreen
                            : Style::kRed),
               Cell(absl::StrCat(errors.size())), Cell(change, Style::kDim)});
  }
  return absl::StrCat(terminal.Paint(terminal.Shown(input), Style::kBold), "   ", framework, ", every release",
                      LeftOut(framework), "\n", table.Render(terminal));
}

std::string VersionsJson(const std::vector<ReleaseAnswer>& answers) {
  google::protobuf::Struct page;
  auto* releases = (*page.mutable_fields())["releases"].mutable_list_value();
  for (size_t i = 0; i < answers.size(); ++i) {
    const v1::ValidateConfigResponse& response = answers[i].response;
    auto& fields = *releases->add_values()->mutable_struct_value()->mutable_fields();
    fields["release"].set_string_value(answers[i].release);
    fields["target"].set_string_value(response.target());
    fields["accepted_by_stack"].set_bool_value(response.accepted_by_stack());
    fields["will_run"].set_bool_value(response.will_run());
    fields["fit"].set_string_value(v1::FitVerdict_Name(response.memory().fit()));
    fields["errors"] = ListOf(AsVector(Ids(response, true, false)));
    fields["warnings"] = ListOf(AsVector(Ids(response, false, true)));
    if (i == 0) continue;
    const ReleaseChange change = CompareReleases(answers[i - 1].response, response);
    fields["new_findings"] = ListOf(change.new_findings);
    fields["gone_findings"] = ListOf(change.gone_findings);
    fields["changed_values"] = ListOf(change.values);
  }
  return ToJson(page);
}

}  // namespace flightplan::cli
