// The repair of a launch as edits of its own text.
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/lsp/hover.h"
#include "clients/cli/rpc/json_text.h"
#include "clients/cli/unified_diff.h"

namespace flightplan::cli {
namespace {

std::string EditsJson(const std::string& before, const std::string& after) {
  // Lines by \n alone, as the differences count them.
  std::vector<size_t> starts = {0};
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == '\n') starts.push_back(i + 1);
  }
  const auto start = [&](size_t line) { return line < starts.size() ? starts[line] : before.size(); };
  const TextLines lines(before);
  std::vector<std::string> edits;
  for (const LineChange& change : LineChanges(before, after)) {
    edits.push_back(JsonObject()
                        .Raw("range", RangeJson(lines, start(change.first), start(change.first + change.count)))
                        .Text("newText", change.text)
                        .Json());
  }
  return JsonList(edits);
}

// Those of the document's diagnostics that are marked and about one of the rules.
std::string DiagnosticsOf(const Judgement& judgement, const std::set<std::string>& marked,
                          const std::set<std::string>& rules) {
  std::vector<std::string> about;
  for (const Judgement::Diagnostic& diagnostic : judgement.diagnostics) {
    if (marked.count(diagnostic.rule_id) > 0 && rules.count(diagnostic.rule_id) > 0) about.push_back(diagnostic.json);
  }
  return JsonList(about);
}

std::string ActionJson(const Document& document, const v1::Repair& repair, absl::string_view title,
                       const std::string& diagnostics, bool preferred) {
  const std::string edits =
      JsonObject()
          .Raw("textDocument", JsonObject().Text("uri", document.uri).Integer("version", document.version).Json())
          .Raw("edits", EditsJson(document.text, repair.text()))
          .Json();
  JsonObject action;
  action.Text("title", title).Text("kind", "quickfix").Raw("diagnostics", diagnostics);
  if (preferred) action.Bool("isPreferred", true);
  return action.Raw("edit", JsonObject().Raw("documentChanges", JsonList({edits})).Json()).Json();
}

bool HeldBack(const v1::Repair& repair) {
  return std::any_of(repair.findings().begin(), repair.findings().end(), [](const v1::Finding& finding) {
    return std::any_of(finding.fixes().begin(), finding.fixes().end(),
                       [](const v1::Fix& fix) { return fix.changes_convergence(); });
  });
}

std::string TitleOf(const v1::Repair& repair, bool convergence) {
  return absl::StrCat("Repair this launch: ", repair.steps_size(), repair.steps_size() == 1 ? " change" : " changes",
                      convergence ? ", some of what is trained" : "",
                      repair.will_run() ? "" : " (not all of its errors)");
}

}  // namespace

std::string CodeActionsJson(const Document& document, const Judgement& judgement, const std::set<std::string>& marked,
                            Backend& backend) {
  std::vector<std::string> actions;
  std::string done;
  v1::ValidateConfigRequest request = judgement.request;
  request.set_repair(true);
  for (const bool convergence : {false, true}) {
    request.set_repair_convergence(convergence);
    v1::ValidateConfigResponse response;
    if (!backend.ValidateConfig(request, &response).ok() || !response.has_repair()) break;
    const v1::Repair& repair = response.repair();
    std::set<std::string> rules;
    for (const v1::RepairStep& step : repair.steps()) rules.insert(step.rule_id());
    const bool changes = !repair.text().empty() && repair.text() != document.text && repair.text() != done;
    if (changes) {
      actions.push_back(ActionJson(document, repair, TitleOf(repair, convergence),
                                   DiagnosticsOf(judgement, marked, rules), !convergence));
      done = repair.text();
    }
    if (!HeldBack(repair)) break;
  }
  return JsonList(actions);
}

}  // namespace flightplan::cli
