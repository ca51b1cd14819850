#include "clients/cli/explain_page.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/findings.h"
#include "clients/cli/log_part.h"
#include "clients/cli/text.h"
#include "clients/cli/words.h"
#include "resolver/explain/rule_examples.h"
#include "resolver/plan/cpu_binding.h"

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

constexpr absl::string_view kFailsLater = "the stack accepts it; the run fails later";
constexpr absl::string_view kWarns = "the stack accepts it; a warning, which fails no run by itself";
constexpr Word<v1::VerdictKind> kVerdicts[] = {
    {"said by the stack's own configuration code", v1::VERDICT_KIND_ACCEPTED_BY_STACK},
    {kFailsLater, v1::VERDICT_KIND_WILL_RUN},
    {"legal and runs; worth knowing", v1::VERDICT_KIND_ADVICE}};

// The rules that look at a knob or a variable.
void AppendRules(absl::string_view name, const v1::ListRulesResponse& rules, Context& context) {
  std::vector<std::string> judges, writers;
  for (const v1::RuleInfo& rule : rules.rules()) {
    if (std::find(rule.reads().begin(), rule.reads().end(), name) == rule.reads().end()) continue;
    (rule.kind() == "change" || rule.kind() == "decision" ? writers : judges).push_back(rule.id());
  }
  Append("judged by", absl::StrJoin(judges, ", "), context);
  Append("changed by", absl::StrJoin(writers, ", "), context);
}

}  // namespace

void PrintRule(const v1::RuleInfo& rule, Context& context) {
  absl::StrAppend(&context.out, context.terminal.Paint(rule.id(), Style::kBold), "\n\n");
  Append("kind", absl::StrCat(rule.kind(), rule.stage().empty() ? "" : absl::StrCat(", stage ", rule.stage())),
         context);
  Append(rule.kind() == "error" || rule.kind() == "warning" ? "needs" : "does", rule.text(), context);
  const absl::string_view verdict = WordFor(kVerdicts, rule.verdict());
  Append("verdict", verdict == kFailsLater && rule.kind() != "error" ? kWarns : verdict, context);
  Append("looks at", absl::StrJoin(rule.reads(), ", "), context);
  for (const v1::Fix& fix : rule.fixes()) Append("fix", FixText(fix, FlagSpelling({})), context);
  Append("Core", rule.core_releases(), context);
  Append("Bridge", rule.bridge_releases(), context);
  if (const RuleExample* const example = FindRuleExample(rule.id()); example != nullptr) {
    Append("example", absl::StrCat("fires with ", example->fires), context);
    Append("writes", example->writes, context);
    Append("not with", example->passes, context);
  }
  Append("source", absl::StrCat(rule.source().text(), rule.source().field_report() ? " (field report)" : ""), context);
}

void PrintVariable(absl::string_view name, const v1::ListRulesResponse& rules, Context& context) {
  absl::StrAppend(&context.out, context.terminal.Paint(context.terminal.Shown(name), Style::kBold), "\n\n");
  Append("kind", name == kNumaBindingName ? "a word to torchrun" : "an environment variable of the launch", context);
  AppendRules(name, rules, context);
}

void PrintWord(absl::string_view word, const v1::ListKnobsResponse& valued, const v1::ListKnobsResponse& named,
               const v1::ListRulesResponse& rules, Context& context) {
  const auto append = [&](absl::string_view label, const auto& entries, const auto& name) {
    std::vector<std::string> names;
    for (const auto& entry : entries) names.push_back((entry.*name)());
    Append(label, absl::StrJoin(names, ", "), context);
  };
  absl::StrAppend(&context.out, context.terminal.Paint(context.terminal.Shown(word), Style::kBold), "\n\n");
  append("a value of", valued.knobs(), &v1::KnobInfo::name);
  append("knobs", named.knobs(), &v1::KnobInfo::name);
  append("rules", rules.rules(), &v1::RuleInfo::id);
}

void PrintKnob(const v1::KnobInfo& knob, const v1::ListRulesResponse& rules, Context& context) {
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
  AppendRules(knob.name(), rules, context);
}

}  // namespace flightplan::cli
