#include "resolver/stacks/word_edits.h"

#include <cctype>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/defaults.h"
#include "resolver/plan/stack.h"
#include "resolver/read/hydra_value.h"
#include "resolver/stacks/dialects.h"

namespace flightplan {
namespace {

// The words that say this in the target's own language. Empty: by saying nothing; nullopt: it has none.
std::optional<std::vector<std::string>> WordsFor(const Assignment& assignment, const Environment& env) {
  if (StackOf(env).container) {
    const absl::string_view section = BridgeSectionOf(assignment.knob);
    if (section.empty()) return std::nullopt;
    return std::vector<std::string>{
        absl::StrCat(section, ".", FieldNameOf(assignment.knob), "=",
                     assignment.value.is_none() ? "null" : WriteHydraValue(assignment.value))};
  }
  Config config = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  config.Set(assignment.knob, assignment.value, Origin::kCaller);
  Launch launch = RenderDialect(OwnDialect(env.target), {config, env, {}});
  if (!launch.unspelled.empty()) return std::nullopt;
  return std::move(launch.argv);
}

// Flag and values, or one word with '='.
size_t WordCount(absl::Span<const Argument> args, size_t index) {
  if (!IsFlag(args[index].text) || absl::StrContains(args[index].text, "=")) return 1;
  size_t end = index + 1;
  while (end < args.size() && !IsFlag(args[end].text)) ++end;
  return end - index;
}

// The same flag with another value, or all words anew.
WordEdit Replace(const WrittenLaunch& launch, const ParsedKnob& written, std::vector<std::string> words,
                 const Assignment& assignment) {
  const size_t index = static_cast<size_t>(written.at.index);
  const std::string& old = launch.args[index].text;
  WordEdit edit{index, WordCount(launch.args, index), std::move(words), assignment};
  const size_t equals = old.find('=');
  if (IsFlag(old) && equals != std::string::npos && edit.words.size() == 2) {
    edit.words = {absl::StrCat(old.substr(0, equals + 1), edit.words[1])};
  } else if (edit.words.size() == edit.count && edit.count > 1 && edit.words[0] == old) {
    edit.words.erase(edit.words.begin());  // the flag stays
    ++edit.index;
    --edit.count;
  }
  return edit;
}

// Bridge's flags: -ep 64 is changed where 64 is the knob's value, so that a flag which sets several knobs stays.
std::optional<WordEdit> ReplaceFlagValue(const WrittenLaunch& launch, const ParsedKnob& written,
                                         const Assignment& assignment) {
  const size_t index = static_cast<size_t>(written.at.index);
  const std::string& old = launch.args[index].text;
  if (written.value.is_none() || written.value.is_bool() || assignment.value.is_none()) return std::nullopt;
  const std::string now = written.value.ToText(), next = assignment.value.ToText();
  const size_t equals = old.find('=');
  if (equals != std::string::npos) {
    if (old.substr(equals + 1) != now) return std::nullopt;
    return WordEdit{index, 1, {absl::StrCat(old.substr(0, equals + 1), next)}, assignment};
  }
  if (index + 1 >= launch.args.size() || launch.args[index + 1].text != now) return std::nullopt;
  return WordEdit{index + 1, 1, {next}, assignment};
}

// The words that set the knob, in the launch's order.
std::vector<const ParsedKnob*> WordsOf(Knob knob, const WrittenLaunch& launch) {
  std::vector<const ParsedKnob*> written;
  for (const ParsedKnob& parsed : launch.knobs) {
    const bool placed = parsed.at.index >= 0 && static_cast<size_t>(parsed.at.index) < launch.args.size();
    if (parsed.knob == knob && placed) written.push_back(&parsed);
  }
  return written;
}

// False: no word can say it.
bool PlanEdit(const WrittenLaunch& launch, const Assignment& assignment, const Environment& env,
              std::vector<WordEdit>* edits) {
  if (!assignment.env_var.empty()) return false;
  std::optional<std::vector<std::string>> words = WordsFor(assignment, env);
  if (!words.has_value()) return false;
  const std::vector<const ParsedKnob*> written = WordsOf(assignment.knob, launch);
  if (words->empty()) {  // said by saying nothing: every mention goes
    for (const ParsedKnob* parsed : written) edits->push_back(Replace(launch, *parsed, {}, assignment));
    return true;
  }
  if (written.empty()) {
    edits->push_back({launch.args.size(), 0, *std::move(words), assignment});
    return true;
  }
  const ParsedKnob& last = *written.back();  // the last one holds
  const bool flag = IsFlag(launch.args[static_cast<size_t>(last.at.index)].text);
  if (!StackOf(env).container || !flag) {
    edits->push_back(Replace(launch, last, *std::move(words), assignment));
    return true;
  }
  std::optional<WordEdit> edit = ReplaceFlagValue(launch, last, assignment);
  if (!edit.has_value()) return false;
  edits->push_back(*std::move(edit));
  return true;
}

}  // namespace

bool IsFlag(absl::string_view word) {
  return word.size() > 1 && word[0] == '-' && !std::isdigit(static_cast<unsigned char>(word[1])) && word[1] != '.';
}

WordEdits PlanEdits(const WrittenLaunch& launch, const Patch& patch, const Environment& env) {
  WordEdits plan;
  for (const Assignment& assignment : patch) {
    if (!PlanEdit(launch, assignment, env, &plan.edits)) plan.unwritten.push_back(assignment);
  }
  return plan;
}

}  // namespace flightplan
