#include <algorithm>
#include <string>
#include <vector>

#include "clients/cli/commands/commands.h"
#include "clients/cli/knob_words.h"
#include "clients/cli/name_lists.h"
#include "clients/cli/output.h"
#include "clients/cli/paging.h"
#include "clients/cli/table.h"
#include "clients/cli/text.h"
#include "flightplan/v1/catalog_service.pb.h"

namespace flightplan::cli {
namespace {

bool Reads(const v1::RuleInfo& rule, const std::string& knob) {
  return std::find(rule.reads().begin(), rule.reads().end(), knob) != rule.reads().end();
}

bool Matches(const v1::RuleInfo& rule, const std::string& word, const std::string& kind, const std::string& knob) {
  if (!kind.empty() && rule.kind() != kind) return false;
  if (!knob.empty() && !Reads(rule, knob)) return false;
  return ContainsWord(rule.id(), word) || ContainsWord(rule.text(), word);
}

Style StyleOf(const std::string& kind) {
  return kind == "error" ? Style::kRed : kind == "warning" ? Style::kYellow : Style::kDim;
}

}  // namespace

int RunRules(Arguments args, Context& context) {
  std::string format = "table", area, kind, knob;
  BackendOptions where;
  const CommandLine command{
      .name = "rules",
      .usage = "flightplan rules [WORD] [--area A] [--kind K] [--knob NAME] [--format table|json]",
      .summary = "every rule, or those with WORD in id or text; flightplan explain ID has the whole of one",
      .example = "flightplan rules --knob recompute_granularity",
      .max_positional = 1,
      .groups = {{"only",
                  {{"--area", "A", "of one area: recompute, dispatcher, cuda-graph ...",
                    ToText(&area, {.list = kRuleAreas})},
                   {"--kind", "K", "error, warning, info, change or decision",
                    ToChoice(&kind, {"error", "warning", "info", "change", "decision"})},
                   {"--knob", "NAME", "that look at this knob", ToText(&knob, {.list = kKnobNames})}}},
                 {"print", {{"--format", "F", "table (default), json", ToChoice(&format, {"table", "json"})}}},
                 BackendFlags(&where)},
      .positional = {.list = kRuleIds}};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);

  v1::ListRulesRequest request;
  request.set_area(area);
  v1::ListRulesResponse all, shown;
  if (const absl::Status status = ListAll(**backend, &Backend::ListRules, request, &all); !status.ok()) {
    return Failed(command, status, context);
  }
  // A variable of the environment is read by rules and is no knob; a launch's word for a knob is read by none.
  const bool read = std::any_of(all.rules().begin(), all.rules().end(),
                                [&](const v1::RuleInfo& rule) { return knob.empty() || Reads(rule, knob); });
  if (!read) {
    v1::KnobInfo known;
    if (const absl::Status status = GetKnobByWord(knob, **backend, &known); !status.ok()) {
      return Failed(command, status, context);
    }
    knob = known.name();
  }
  for (const v1::RuleInfo& rule : all.rules()) {
    if (Matches(rule, parsed.positional.empty() ? "" : parsed.positional[0], kind, knob)) *shown.add_rules() = rule;
  }
  if (format == "json") {
    context.out += ToJson(shown);
    return kExitOk;
  }
  Table table({{.min_width = 24, .shrink = true}, {}, {.min_width = 20, .shrink = true}}, 0);
  for (const v1::RuleInfo& rule : shown.rules()) {
    table.Row({Cell(rule.id()), Cell(rule.kind(), StyleOf(rule.kind())), Cell(rule.text())});
  }
  absl::StrAppend(&context.out, table.Render(context.terminal), shown.rules_size(), " rules\n");
  return kExitOk;
}

}  // namespace flightplan::cli
