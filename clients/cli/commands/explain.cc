#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/explain_page.h"
#include "clients/cli/findings.h"
#include "clients/cli/knob_words.h"
#include "clients/cli/name_lists.h"
#include "clients/cli/output.h"
#include "clients/cli/paging.h"
#include "resolver/base/status_macros.h"

namespace flightplan::cli {
namespace {

// A stack's own spelling is a name too: "--norm-epsilon", "model.layernorm_epsilon=1e-6". The parser takes no flag that
// is none of the command's, so that its dashes go.
std::vector<std::string> WithoutDashes(Arguments args, const CommandLine& command) {
  std::set<absl::string_view> flags = {"--help"};
  for (const FlagGroup& group : command.groups) {
    for (const Flag& flag : group.flags) flags.insert(flag.name);
  }
  std::vector<std::string> words(args.begin(), args.end());
  for (std::string& word : words) {
    const absl::string_view name = absl::string_view(word).substr(0, word.find('='));
    if (absl::StartsWith(name, "--") && name.size() > 2 && flags.count(name) == 0) word.erase(0, 2);
  }
  return words;
}

// The rules that look at a name.
v1::ListRulesResponse RulesAbout(absl::string_view name, const v1::ListRulesResponse& rules) {
  v1::ListRulesResponse about;
  for (const v1::RuleInfo& rule : rules.rules()) {
    if (std::find(rule.reads().begin(), rule.reads().end(), name) != rule.reads().end()) *about.add_rules() = rule;
  }
  return about;
}

// "-moe-enable-deepep-": names are compared by whole words.
std::string Words(absl::string_view name) {
  return absl::StrCat("-", absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}, {".", "-"}}), "-");
}

// A word of several names: "deepep" is in two knobs and is the value of another, "ep" is a flag of `resolve`.
class PlainWord {
 public:
  explicit PlainWord(absl::string_view word) : word_(Words(word)), one_(word_), flag_(absl::StrCat("--", word, " ")) {
    if (absl::EndsWith(one_, "s-")) one_.erase(one_.size() - 2, 1);  // "graphs"
  }
  bool IsIn(const std::string& name) const {
    const std::string words = Words(name);
    return word_ != "--" && (absl::StrContains(words, word_) || absl::StrContains(words, one_));
  }
  bool IsIn(const v1::KnobInfo& knob) const {
    v1::KnobValue one;
    one.set_int_value(1);
    const std::string said = FlagSpelling({}).knob(knob.name(), one);
    return IsIn(knob.name()) || (absl::StartsWith(said, flag_) && !absl::StrContains(said, knob.name()));
  }
  bool IsValueOf(const v1::KnobInfo& knob) const {
    return std::any_of(knob.choices().begin(), knob.choices().end(),
                       [this](const std::string& choice) { return Words(choice) == word_; });
  }

 private:
  std::string word_, one_, flag_;
};

// False: no name has the word.
absl::StatusOr<bool> ExplainWord(absl::string_view name, bool json, const v1::ListRulesResponse& rules,
                                 Backend& backend, Context& context) {
  const PlainWord word(name);
  v1::ListRulesResponse about;
  for (const v1::RuleInfo& rule : rules.rules()) {
    if (word.IsIn(rule.id()) || word.IsIn(rule.area())) *about.add_rules() = rule;
  }
  v1::ListKnobsResponse knobs, named, valued;
  FLIGHTPLAN_RETURN_IF_ERROR(ListAll(backend, &Backend::ListKnobs, v1::ListKnobsRequest(), &knobs));
  for (const v1::KnobInfo& knob : knobs.knobs()) {
    if (word.IsIn(knob)) *named.add_knobs() = knob;
    if (word.IsValueOf(knob)) *valued.add_knobs() = knob;
  }
  if (about.rules().empty() && named.knobs().empty() && valued.knobs().empty()) return false;
  if (!json) {
    PrintWord(name, valued, named, about, context);
  } else if (about.rules().empty()) {
    named.MergeFrom(valued);
    context.out += ToJson(named);
  } else {
    context.out += ToJson(about);
  }
  Answered(about, context);
  return true;
}

// A variable as an entry of the reference, beside rules and knobs.
v1::KnobInfo EntryOf(absl::string_view name, const v1::ListRulesResponse& about) {
  std::vector<std::string> ids;
  for (const v1::RuleInfo& rule : about.rules()) ids.push_back(rule.id());
  v1::KnobInfo entry;
  entry.set_name(std::string(name));
  entry.set_knob_class(std::string(kVariableClass));
  entry.set_note(absl::StrCat("rules that look at it: ", absl::StrJoin(ids, ", ")));
  return entry;
}

}  // namespace

int RunExplain(Arguments args, Context& context) {
  std::string format = "table";
  BackendOptions where;
  const CommandLine command{
      .name = "explain",
      .usage = "flightplan explain RULE|KNOB|SPELLING|VARIABLE|WORD [--format table|json]",
      .summary =
          "one rule (what, why, source, fix), one knob (class, default, spellings, the rules that look at it), the "
          "rules that look at an environment variable, or the rules and knobs that have a word in their names",
      .example =
          "flightplan explain recompute.full-needs-method\nflightplan explain moe_token_dispatcher_type\nflightplan "
          "explain --norm-epsilon\nflightplan explain deepep",
      .max_positional = 1,
      .groups = {{"print", {{"--format", "F", "table (default), json", ToChoice(&format, {"table", "json"})}}},
                 BackendFlags(&where)},
      .positional = {.list = kRulesAndKnobs}};
  ParsedArguments parsed;
  const std::vector<std::string> words = WithoutDashes(args, command);
  if (const auto exit = ParseOrExit(command, words, context, &parsed)) return *exit;
  if (parsed.positional.empty())
    return Misuse(command, "wants the id of a rule, or the name of a knob or a variable", context);
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
  v1::KnobInfo knob;
  absl::Status status = GetKnobByWord(parsed.positional[0], **backend, &knob);
  v1::ListRulesResponse rules;
  if (absl::IsNotFound(status)) {
    const std::string word = parsed.positional[0].substr(0, parsed.positional[0].find('='));
    const std::string name(absl::StripPrefix(word, "env."));  // as a list of decisions has it
    if (const absl::Status all = ListAll(**backend, &Backend::ListRules, v1::ListRulesRequest(), &rules); !all.ok()) {
      return Failed(command, all, context);
    }
    const v1::ListRulesResponse about = RulesAbout(name, rules);
    if (about.rules_size() > 0) {
      Answered(EntryOf(name, about), context);
      if (format == "json") {
        context.out += ToJson(about);
      } else {
        PrintVariable(name, rules, context);
      }
      return kExitOk;
    }
    const absl::StatusOr<bool> explained = ExplainWord(name, format == "json", rules, **backend, context);
    if (!explained.ok()) return Failed(command, explained.status(), context);
    if (*explained) return kExitOk;
  }
  if (absl::IsNotFound(status)) {  // a word with a dot is rather a rule's id; both say what is nearest
    Failed(command, no_rule, context);
    return Failed(command, status, context);
  }
  if (status.ok()) Answered(knob, context);
  if (status.ok() && format == "json") {
    context.out += ToJson(knob);
    return kExitOk;
  }
  if (status.ok()) status = ListAll(**backend, &Backend::ListRules, v1::ListRulesRequest(), &rules);
  if (!status.ok()) return Failed(command, status, context);
  PrintKnob(knob, rules, context);
  return kExitOk;
}

}  // namespace flightplan::cli
