#include "clients/cli/lsp/vocabulary.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/catalog/defaults.h"
#include "resolver/catalog/spellings.h"
#include "resolver/plan/stack.h"

namespace flightplan::cli {
namespace {

using Words = absl::btree_map<std::string, VocabularyWord>;

std::vector<std::string> ValuesOf(Knob knob, absl::string_view choices) {
  if (choices.empty()) choices = Row(knob).choices;
  if (choices.empty()) return {};
  return absl::StrSplit(choices, '|');
}

// Flags of a command line that is read by Megatron-LM's own parser, with every form that a knob has.
void AddFlags(int core_release, bool every_release, Words* words) {
  for (const internal::FlagRow& row : Flags()) {
    if (!every_release && !row.releases.Contains(core_release)) continue;
    const bool takes_value =
        row.form != FlagForm::kSwitchOn && row.form != FlagForm::kSwitchOff && row.form != FlagForm::kSwitchPair;
    VocabularyWord word{row.knob, takes_value ? ValuesOf(row.knob, row.choices) : std::vector<std::string>()};
    words->emplace(row.flag, word);
    if (row.form == FlagForm::kSwitchPair)
      words->emplace(absl::StrCat("--no-", absl::StripPrefix(row.flag, "--")), word);
  }
}

void AddSpellings(const Environment& stack, Words* words) {
  for (int i = 0; i < kKnobCount; ++i) {
    const Knob knob = static_cast<Knob>(i);
    std::string spelling = SpellingOf(knob, stack);
    if (spelling.empty()) continue;
    std::vector<std::string> values = ValuesOf(knob, "");
    if (Row(knob).type == flightplan::ValueType::kBool && !absl::StartsWith(spelling, "--")) values = {"true", "false"};
    words->emplace(std::move(spelling), VocabularyWord{knob, std::move(values)});
  }
}

}  // namespace

Vocabulary::Vocabulary(const Environment& stack) : stack_(stack) {
  const Stack& record = StackOf(stack.target);
  if (record.command_line && !record.fork) AddFlags(stack.core_release, false, &words_);
  AddSpellings(stack, &words_);
  AddFlags(stack.core_release, true, &others_);
  for (const Stack* other : AllStacks()) {
    if (other->target != stack.target) AddSpellings(StackEnvironment(other->name, ""), &others_);
  }
}

const VocabularyWord* Vocabulary::Find(absl::string_view name) const {
  name = absl::StripPrefix(name, "+");
  for (const Words* words : {&words_, &others_}) {
    if (const auto it = words->find(std::string(name)); it != words->end()) return &it->second;
  }
  // A knob's own name, alone or as the last part of a path.
  const size_t dot = name.rfind('.');
  const std::string last = absl::StrReplaceAll(
      absl::StripPrefix(dot == absl::string_view::npos ? name : name.substr(dot + 1), "--"), {{"-", "_"}});
  const std::optional<Knob> knob = FindKnob(last);
  if (!knob.has_value()) return nullptr;
  for (const auto& [spelling, word] : words_) {
    if (word.knob == *knob) return &word;
  }
  for (const auto& [spelling, word] : others_) {
    if (word.knob == *knob) return &word;
  }
  return nullptr;
}

Environment StackEnvironment(absl::string_view framework, absl::string_view version) {
  Environment environment;
  const Stack* stack = FindStack(framework);
  if (stack == nullptr) return environment;
  environment.target = stack->target;
  int release = kMain;
  for (const int known : stack->releases) {
    if (ReleaseText(known) == version) release = known;
  }
  environment.*(stack->release) = release;
  if (stack->core_release != nullptr) environment.core_release = stack->core_release(release);
  return environment;
}

std::string DefaultsText(Knob knob, const Environment& stack) {
  const Stack& record = StackOf(stack.target);
  struct Span {
    int first = 0, last = 0;
    std::string value;
  };
  std::vector<Span> spans;
  for (const int release : record.releases) {
    const Environment at = StackEnvironment(record.name, ReleaseText(release));
    const Config& config = DefaultsFor(at.target, at.core_release, at.bridge_release, false);
    if (config.origin(knob) == Origin::kAbsent) continue;
    const Value& value = config.Get(knob);
    std::string text = value.is_none() ? "none" : value.ToText();
    if (!spans.empty() && spans.back().value == text) {
      spans.back().last = release;
    } else {
      spans.push_back({release, release, std::move(text)});
    }
  }
  if (spans.empty()) return "";
  const bool always =
      spans.size() == 1 && spans[0].first == record.releases.front() && spans[0].last == record.releases.back();
  if (always) return spans[0].value;
  return absl::StrJoin(spans, "; ", [](std::string* out, const Span& span) {
    absl::StrAppend(out, ReleaseText(span.first),
                    span.first == span.last ? "" : absl::StrCat("..", ReleaseText(span.last)), ": ", span.value);
  });
}

}  // namespace flightplan::cli
