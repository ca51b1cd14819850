#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/findings.h"
#include "clients/cli/log_part.h"
#include "clients/cli/name_lists.h"
#include "clients/cli/output.h"
#include "clients/cli/paging.h"
#include "clients/cli/text.h"
#include "clients/cli/words.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "resolver/explain/rule_examples.h"

namespace flightplan::cli {
namespace {

constexpr int kLabelWidth = 14;

// "what          text", wrapped below itself; nothing for empty text.
void Append(absl::string_view label, absl::string_view text, Context& context) {
  const Terminal& terminal = context.terminal;
  if (text.empty()) return;
  for (const std::string& line : Wrap(terminal.Shown(text), terminal.width - kLabelWidth)) {
    const size_t room = static_cast<size_t>(kLabelWidth) - std::min<size_t>(label.size(), kLabelWidth - 1);
    absl::StrAppend(&context.out, terminal.Paint(label, Style::kBold), std::string(room, ' '), line, "\n");
    label = "";
  }
}

constexpr Word<v1::VerdictKind> kVerdicts[] = {
    {"said by the stack's own configuration code", v1::VERDICT_KIND_ACCEPTED_BY_STACK},
    {"the stack accepts it; the run fails later", v1::VERDICT_KIND_WILL_RUN},
    {"legal and runs; worth knowing", v1::VERDICT_KIND_ADVICE}};

void PrintRule(const v1::RuleInfo& rule, Context& context) {
  absl::StrAppend(&context.out, context.terminal.Paint(rule.id(), Style::kBold), "\n\n");
  Append("kind", absl::StrCat(rule.kind(), rule.stage().empty() ? "" : absl::StrCat(", stage ", rule.stage())),
         context);
  Append(rule.kind() == "error" || rule.kind() == "warning" ? "needs" : "does", rule.text(), context);
  Append("verdict", WordFor(kVerdicts, rule.verdict()), context);
  Append("looks at", absl::StrJoin(rule.reads(), ", "), context);
  for (const v1::Fix& fix : rule.fixes()) Append("fix", FixText(fix, FlagSpelling()), context);
  Append("Core", rule.core_releases(), context);
  Append("Bridge", rule.bridge_releases(), context);
  if (const RuleExample* const example = FindRuleExample(rule.id()); example != nullptr) {
    Append("example", absl::StrCat("fires with ", example->fires), context);
    Append("writes", example->writes, context);
    Append("not with", example->passes, context);
  }
  Append("source", absl::StrCat(rule.source().text(), rule.source().field_report() ? " (field report)" : ""), context);
}

// The rules that look at the knob are found on this side: there are less than a thousand, and the list is one call.
absl::Status PrintKnob(const v1::KnobInfo& knob, Backend& backend, Context& context) {
  v1::ListRulesResponse rules;
  if (absl::Status status = ListAll(backend, &Backend::ListRules, v1::ListRulesRequest(), &rules); !status.ok())
    return status;
  std::vector<std::string> judges, writers;
  for (const v1::RuleInfo& rule : rules.rules()) {
    if (std::find(rule.reads().begin(), rule.reads().end(), knob.name()) == rule.reads().end()) continue;
    (rule.kind() == "change" || rule.kind() == "decision" ? writers : judges).push_back(rule.id());
  }
  absl::StrAppend(&context.out, context.terminal.Paint(knob.name(), Style::kBold), "\n\n");
  Append("class", knob.knob_class() == "convergence" ? "convergence: never touched to gain speed" : knob.knob_class(),
         context);
  Append(
      "type",
      absl::StrCat(knob.type(), knob.choices().empty() ? "" : absl::StrCat(": ", absl::StrJoin(knob.choices(), ", "))),
      context);
  Append("default", ValueText(knob.default_value()), context);
  Append("section", knob.section(), context);
  Append("also", absl::StrJoin(knob.aliases(), ", "), context);
  Append("megatron-lm", absl::StrJoin(knob.megatron_lm_flags(), ", "), context);
  Append("bridge", knob.bridge_override(), context);
  Append("bridge-perf", knob.bridge_perf(), context);
  Append("loongforge", knob.loongforge(), context);
  Append("note", knob.note(), context);
  Append("in a run", absl::StrJoin(LogTexts(knob.name()), "; "), context);
  Append("judged by", absl::StrJoin(judges, ", "), context);
  Append("changed by", absl::StrJoin(writers, ", "), context);
  return absl::OkStatus();
}

}  // namespace

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
  if (status.ok()) status = PrintKnob(knob, **backend, context);
  return status.ok() ? kExitOk : Failed(command, status, context);
}

}  // namespace flightplan::cli
