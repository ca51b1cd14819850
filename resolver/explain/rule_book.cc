#include "resolver/explain/rule_book.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "resolver/explain/catalog_answers.h"
#include "resolver/explain/rule_examples.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/normalize/violations.h"
#include "resolver/rules/registry.h"

namespace flightplan {
namespace {

constexpr absl::string_view kHead = R"(# Rules

Generated from the rule records and their example tables; do not edit. After a change of either:
`cmake --build --preset release --target update_rule_book`. How to add a rule or a release: [README.md](README.md).

Kinds: an *error* is refused by the stack or fails later; a *warning* runs, but something is likely wrong; an *info* is
worth knowing; a *change* is what the stack does to the configuration without asking. Releases are those of
Megatron-Core; Bridge's own stand beside them where Bridge is the one that checks. Under *fires* stands the least that
fires the rule over the defaults of its target, under *writes* what a change then writes, under *neighbour* what differs in
the nearest one that does not.
)";

std::string Code(absl::string_view text) {
  return text.empty() ? "" : absl::StrCat("`", absl::StrReplaceAll(text, {{"`", "'"}, {"\n", " "}}), "`");
}

std::string FixText(const v1::Fix& fix) {
  std::vector<std::string> parts;
  Violations ignored;
  for (const v1::KnobSetting& knob : fix.knobs()) {
    const Value value = ValueFromMessage(knob.value(), "", &ignored);
    parts.push_back(absl::StrCat(knob.name(), "=", value.is_none() ? "none" : value.ToText()));
  }
  for (const auto& [name, value] : std::map<std::string, std::string>(fix.env().begin(), fix.env().end())) {
    parts.push_back(absl::StrCat("env.", name, "=", value));
  }
  return Code(absl::StrJoin(parts, " "));
}

std::string EffectText(const v1::RuleInfo& rule) {
  std::string effect = rule.kind();
  if (rule.kind() == "change") return absl::StrCat(effect, ", stage ", rule.stage());
  if (rule.verdict() == v1::VERDICT_KIND_ACCEPTED_BY_STACK && rule.kind() == "error")
    effect += ": the stack refuses it";
  if (rule.verdict() == v1::VERDICT_KIND_WILL_RUN && rule.kind() == "error") effect += ": accepted, fails later";
  return absl::StrCat(effect, ", stage ", rule.stage());
}

void Line(absl::string_view label, const std::string& text, std::string* out) {
  if (!text.empty()) absl::StrAppend(out, "- ", label, ": ", text, "\n");
}

void AppendRule(const Rule& rule, const RuleExample* example, std::string* out) {
  v1::RuleInfo info;
  RuleToMessage(rule, &info);
  absl::StrAppend(out, "\n### ", info.id(), "\n\n", info.text(), info.text().empty() ? "" : "\n\n");
  Line("formerly", Code(rule.formerly), out);
  Line("effect", EffectText(info), out);
  std::vector<std::string> reads(info.reads().begin(), info.reads().end());
  Line("looks at", Code(absl::StrJoin(reads, ", ")), out);
  std::vector<std::string> fixes;
  if (rule.fix != nullptr) fixes.push_back("by the values found");
  for (const v1::Fix& fix : info.fixes()) fixes.push_back(FixText(fix));
  Line("fix", absl::StrJoin(fixes, " or "), out);
  Line("releases",
       absl::StrCat("Core ", info.core_releases(), info.bridge_releases().empty() ? "" : ", Bridge ",
                    info.bridge_releases()),
       out);
  Line("source", Code(info.source().text()), out);
  if (example == nullptr) return;
  Line("fires", Code(example->fires), out);
  Line("writes", Code(example->writes), out);
  Line("neighbour", Code(example->passes), out);
}

}  // namespace

std::string RuleBook() {
  std::vector<const Rule*> rules(AllRules().begin(), AllRules().end());
  std::stable_sort(rules.begin(), rules.end(),
                   [](const Rule* a, const Rule* b) { return std::tie(a->area, a->id) < std::tie(b->area, b->id); });
  // A release that words a check differently has a record of its own; the first one is main's.
  rules.erase(std::unique(rules.begin(), rules.end(), [](const Rule* a, const Rule* b) { return a->id == b->id; }),
              rules.end());
  std::string out(kHead);
  absl::StrAppend(&out, "\n", rules.size(), " rules.\n");
  absl::string_view area;
  for (const Rule* rule : rules) {
    if (rule->area != area) absl::StrAppend(&out, "\n## ", rule->area, "\n");
    area = rule->area;
    AppendRule(*rule, FindRuleExample(rule->id), &out);
  }
  return out;
}

}  // namespace flightplan
