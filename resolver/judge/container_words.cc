#include "resolver/judge/container_words.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/plan/stack.h"
#include "resolver/read/hydra_value.h"

namespace flightplan {
namespace {

// Sections of which words are kept, and those whose words are named when they are lost.
constexpr absl::string_view kKept[] = {"dataset", "tokenizer", "logger", "validation", "checkpoint", "scheduler"};
constexpr absl::string_view kToldAlone[] = {"profiling", "straggler"};

bool IsAmong(absl::Span<const absl::string_view> sections, absl::string_view section) {
  return std::find(sections.begin(), sections.end(), section) != sections.end();
}

struct Word {
  absl::string_view name;
  bool opposite = false;  // it says that the switch is off
};

// Of a knob that is no field of the container's, or a field that its own code moves (train.eval_iters).
std::optional<Word> WordOf(Knob knob) {
  Word word{WordFor(knob, kBridgeOverride)};
  word.opposite = absl::ConsumeSuffix(&word.name, " (inverse)");
  const absl::string_view section = word.name.substr(0, word.name.find('.'));
  const bool moved = section == "validation" && BridgeSectionOf(knob) == "train";
  if (word.name.empty() || (!BridgeSectionOf(knob).empty() && !moved)) return std::nullopt;
  return IsAmong(kKept, section) ? std::optional(word) : std::nullopt;
}

// Of several paths with their weights Bridge takes one text, as the command line has it
// (src/megatron/bridge/training/config.py:309).
Value AsText(const Value& value) {
  if (!value.is_list()) return value;
  return Value(absl::StrJoin(value.list(), " ", [](std::string* out, const Value& item) {
    absl::StrAppend(out, item.is_text() ? std::string(item.text()) : item.ToText());
  }));
}

bool TakesOneText(Knob knob) { return knob == Knob::data_path; }

const std::map<absl::string_view, std::pair<Knob, bool>>& KnobsByWord() {
  static const auto* const kKnobs = [] {
    auto* knobs = new std::map<absl::string_view, std::pair<Knob, bool>>();
    for (int i = 0; i < kKnobCount; ++i) {
      const auto word = WordOf(static_cast<Knob>(i));
      if (word.has_value()) knobs->emplace(word->name, std::pair(static_cast<Knob>(i), word->opposite));
    }
    return knobs;
  }();
  return *kKnobs;
}

}  // namespace

bool IsMovedInContainer(Knob knob, const Environment& to) {
  return StackOf(to).container && !BridgeSectionOf(knob).empty() && WordOf(knob).has_value();
}

ContainerWords WordsInContainer(Knob knob, const Value& value, const Environment& to) {
  const std::optional<Word> word = StackOf(to).container ? WordOf(knob) : std::nullopt;
  if (!word.has_value()) return {};
  const Value written = word->opposite ? Value(!value.truthy()) : TakesOneText(knob) ? AsText(value) : value;
  return {std::string(word->name), {absl::StrCat(word->name, "=", WriteHydraValue(written))}};
}

ContainerWords WordsInContainer(Knob knob, const Argument& value, const Environment& to) {
  if (!StackOf(to).container || Row(knob).type == ValueType::kBool) return {};
  std::optional<Word> word = WordOf(knob);
  const bool path = Row(knob).type == ValueType::kString && Row(knob).choices[0] == '\0';
  const std::string field = absl::StrCat(BridgeSectionOf(knob), ".", FieldNameOf(knob));
  if (!word.has_value() && path && !BridgeSectionOf(knob).empty()) word = Word{field};
  if (!word.has_value()) return {};
  return {std::string(word->name), {absl::StrCat(word->name, "=", value.text)}};
}

std::vector<PlainOverride> ReadPlainOverrides(const std::vector<Argument>& args, const Environment& from) {
  std::vector<PlainOverride> read;
  if (!StackOf(from).container) return read;
  for (const Argument& arg : args) {
    absl::string_view text = arg.text;
    while (absl::ConsumePrefix(&text, "+")) continue;
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos || absl::StartsWith(text, "-")) continue;
    PlainOverride plain{std::string(text.substr(0, equals)), arg, std::nullopt};
    const absl::string_view name = plain.name;
    const absl::string_view section = name.substr(0, name.find('.'));
    const bool field = FindBridgeField(section, name.substr(std::min(name.find('.') + 1, equals))).has_value();
    const bool is_plain = IsAmong(kKept, section) || IsAmong(kToldAlone, section);
    if ((!arg.unknown && (field || !is_plain)) || absl::EndsWith(name, "_target_")) continue;
    const auto found = KnobsByWord().find(name);
    const absl::StatusOr<Value> value = ReadHydraValue(text.substr(equals + 1));
    const bool known = value.ok() && !arg.unknown && !absl::StrContains(text.substr(equals + 1), "${");
    if (found != KnobsByWord().end() && known) {
      const auto& [knob, opposite] = found->second;
      Value kept = opposite ? Value(!value->truthy()) : *value;
      if (Row(knob).type == ValueType::kStringList && kept.is_text()) kept = Value(Value::List{kept});
      plain.knob = ParsedKnob{knob, std::move(kept), arg.at};
    }
    read.push_back(std::move(plain));
  }
  return read;
}

namespace {

// In double quotes where the word has single ones of its own.
std::string Quoted(const std::string& word) {
  const bool single = absl::StrContains(word, '\'') && word.find_first_of("\"\\$`!") == std::string::npos;
  return single ? absl::StrCat("\"", word, "\"") : ShellQuote(word);
}

}  // namespace

void AppendWord(const std::string& word, bool for_shell, Launch* launch) {
  launch->argv.push_back(word);
  std::string& text = launch->text;
  if (!text.empty() && text.back() == '\n') text.pop_back();
  const bool begins = (absl::StartsWith(word, "--") && word.size() > 2) || absl::StrContains(word, '=');
  absl::StrAppend(&text, begins ? " \\\n    " : " ", for_shell ? absl::StrCat("\"", word, "\"") : Quoted(word), "\n");
}

}  // namespace flightplan
