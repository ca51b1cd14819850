#include "clients/cli/lsp/hover.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/findings.h"
#include "clients/cli/rpc/json_text.h"
#include "clients/cli/words.h"
#include "resolver/catalog/spellings.h"
#include "resolver/plan/stack.h"

namespace flightplan::cli {
namespace {

constexpr size_t kShownRules = 30;

constexpr Word<v1::ConfigOrigin> kOrigins[] = {{"the stack's default", v1::CONFIG_ORIGIN_DEFAULT},
                                               {"of the model", v1::CONFIG_ORIGIN_MODEL},
                                               {"written here", v1::CONFIG_ORIGIN_CALLER},
                                               {"decided", v1::CONFIG_ORIGIN_DECIDED},
                                               {"set by the stack itself", v1::CONFIG_ORIGIN_UPSTREAM}};
constexpr absl::string_view kClasses[] = {"convergence: changes what is trained",
                                          "execution: changes speed and memory alone",
                                          "benchmark_only: for benchmarks"};

// "**label** text", a paragraph; nothing for empty text. In code where it is a value or a word of the stack.
void Append(absl::string_view label, absl::string_view text, bool code, std::string* out) {
  if (text.empty()) return;
  absl::StrAppend(out, "- ", label, ": ", code ? "`" : "", text, code ? "`" : "", "\n");
}

std::string Ids(std::vector<std::string> ids) {
  const size_t more = ids.size() > kShownRules ? ids.size() - kShownRules : 0;
  ids.resize(ids.size() - more);
  return absl::StrCat(absl::StrJoin(ids, ", "), more == 0 ? "" : absl::StrCat(" and ", more, " more"));
}

void AppendRules(absl::string_view knob, const v1::ListRulesResponse& rules, std::string* out) {
  std::vector<std::string> judges, writers;
  for (const v1::RuleInfo& rule : rules.rules()) {
    if (std::find(rule.reads().begin(), rule.reads().end(), knob) == rule.reads().end()) continue;
    (rule.kind() == "change" || rule.kind() == "decision" ? writers : judges).push_back(rule.id());
  }
  Append("judged by", Ids(std::move(judges)), false, out);
  Append("changed by", Ids(std::move(writers)), false, out);
}

// The value that the launch ends with, after the stack's own changes.
void AppendValueHere(absl::string_view knob, const Judgement* judgement, std::string* out) {
  if (judgement == nullptr || !judgement->asked) return;
  for (const v1::ConfigEntry& entry : judgement->response.config()) {
    if (entry.name() != knob) continue;
    Append("here", absl::StrCat("`", ValueText(entry.value()), "`, ", WordFor(kOrigins, entry.origin())), false, out);
  }
}

std::string SpellingsText(Knob knob) {
  std::vector<std::string> parts;
  for (const Stack* stack : AllStacks()) {
    if (!stack->by_name) continue;
    const std::string spelling = SpellingOf(knob, StackEnvironment(stack->name, ""));
    if (!spelling.empty()) parts.push_back(absl::StrCat(stack->name, " `", spelling, "`"));
  }
  return absl::StrJoin(parts, ", ");
}

std::string KnobText(Knob knob, const VocabularyWord& word, const Vocabulary& vocabulary, const Judgement* judgement,
                     const v1::ListRulesResponse& rules) {
  const internal::KnobRow& row = Row(knob);
  std::string out = absl::StrCat("**", row.name, "**\n\n");
  if (*row.note != '\0') absl::StrAppend(&out, row.note, "\n\n");
  AppendValueHere(row.name, judgement, &out);
  const std::string stack(StackOf(vocabulary.stack().target).name);
  Append(absl::StrCat("default of ", stack), DefaultsText(knob, vocabulary.stack()), true, &out);
  Append("class", kClasses[static_cast<size_t>(row.knob_class)], false, &out);
  Append("values",
         word.values.empty() ? absl::StrReplaceAll(row.choices, {{"|", ", "}}) : absl::StrJoin(word.values, ", "),
         false, &out);
  Append("spelled", SpellingsText(knob), false, &out);
  AppendRules(row.name, rules, &out);
  return out;
}

}  // namespace

std::string HoverJson(const Document& document, TextPosition position, const Vocabulary& vocabulary,
                      const Judgement* judgement, const v1::ListRulesResponse& rules) {
  const TextLines lines(document.text);
  const Spot spot = SpotAt(document.text, lines.OffsetOf(position), document.form);
  if (spot.kind == Spot::Kind::kNothing) return "null";
  const VocabularyWord* word = vocabulary.Find(spot.name);
  if (word == nullptr) return "null";
  const std::string text = KnobText(word->knob, *word, vocabulary, judgement, rules);
  return JsonObject()
      .Raw("contents", JsonObject().Text("kind", "markdown").Text("value", text).Json())
      .Raw("range", RangeJson(lines, spot.begin, spot.end))
      .Json();
}

}  // namespace flightplan::cli
