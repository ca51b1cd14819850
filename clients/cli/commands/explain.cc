#include "absl/strings/str_cat.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/explain_page.h"
#include "clients/cli/name_lists.h"
#include "clients/cli/output.h"
#include "clients/cli/paging.h"

namespace flightplan::cli {

int RunExplain(Arguments args, Context& context) {
  std::string format = "table";
  BackendOptions where;
  const CommandLine command{
      .name = "explain",
      .usage = "flightplan explain RULE|KNOB [--format table|json]",
      .summary = "one rule (what, why, source, fix) or one knob (class, default, spellings, the rules that look at it)",
      .example = "flightplan explain recompute.full-needs-method\nflightplan explain moe_token_dispatcher_type",
      .max_positional = 1,
      .groups = {{"print", {{"--format", "F", "table (default), json", ToChoice(&format, {"table", "json"})}}},
                 BackendFlags(&where)},
      .positional = {.list = kRulesAndKnobs}};
  ParsedArguments parsed;
  if (const auto exit = ParseOrExit(command, args, context, &parsed)) return *exit;
  if (parsed.positional.empty()) return Misuse(command, "wants the id of a rule or the name of a knob", context);
  const absl::StatusOr<std::shared_ptr<Backend>> backend = MakeBackend(where, context);
  if (!backend.ok()) return Misuse(command, backend.status().message(), context);

  v1::GetRuleRequest get_rule;
  get_rule.set_id(parsed.positional[0]);
  v1::RuleInfo rule;
  const absl::Status no_rule = (*backend)->GetRule(get_rule, &rule);
  if (no_rule.ok()) {
    Answered(rule, context);
    if (format == "json") {
      context.out += ToJson(rule);
    } else {
      if (rule.id() != get_rule.id()) {
        absl::StrAppend(&context.out, context.terminal.Shown(get_rule.id()), " has a new name: ", rule.id(), "\n\n");
      }
      PrintRule(rule, context);
    }
    return kExitOk;
  }
  if (!absl::IsNotFound(no_rule)) return Failed(command, no_rule, context);
  v1::GetKnobRequest get_knob;
  get_knob.set_name(parsed.positional[0]);
  v1::KnobInfo knob;
  absl::Status status = (*backend)->GetKnob(get_knob, &knob);
  if (absl::IsNotFound(status)) {  // a word with a dot is rather a rule's id; both say what is nearest
    Failed(command, no_rule, context);
    return Failed(command, status, context);
  }
  if (status.ok()) Answered(knob, context);
  if (status.ok() && format == "json") {
    context.out += ToJson(knob);
    return kExitOk;
  }
  v1::ListRulesResponse rules;
  if (status.ok()) status = ListAll(**backend, &Backend::ListRules, v1::ListRulesRequest(), &rules);
  if (!status.ok()) return Failed(command, status, context);
  PrintKnob(knob, rules, context);
  return kExitOk;
}

}  // namespace flightplan::cli
