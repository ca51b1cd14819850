#include "resolver/render/flag_words.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace flightplan {
namespace {

std::string ValueText(const Value& value, ValueType type) {
  if (type == ValueType::kFreq && value.is_list()) return value.ToJson();
  return value.ToText();
}

// Writes the words that give the knob this value; false when no flag can say it.
bool Spell(const FlagSpelling& row, const Value& value, LaunchWriter* words) {
  switch (row.form) {
    case FlagForm::kSwitchOn:
      if (!value.truthy()) return false;
      words->Flag(row.flag);
      return true;
    case FlagForm::kSwitchOff:
      if (value.truthy()) return false;
      words->Flag(row.flag);
      return true;
    case FlagForm::kSwitchPair:
      if (value.truthy() == row.negative) return false;
      words->Flag(row.flag);
      return true;
    case FlagForm::kValue:
      words->Flag(row.flag);
      words->Word(ValueText(value, row.type));
      return true;
    case FlagForm::kList:
    case FlagForm::kListOrEmpty:
    case FlagForm::kListOfThree:
      break;
  }
  if (value.is_list() && value.list().empty() && row.form != FlagForm::kListOrEmpty) return false;
  words->Flag(row.flag);
  if (!value.is_list()) words->Word(value.ToText());
  for (const Value& item : value.list()) words->Word(item.ToText());
  return true;
}

}  // namespace

FlagSpelling SpellingOf(absl::string_view flag, FlagForm form, ValueType type) {
  return {flag, form, type, absl::StartsWith(flag, "--no-")};
}

bool WriteFlag(const FlagSpellings& flags, const Value& value, LaunchWriter* words) {
  return std::any_of(flags.begin(), flags.end(), [&](const FlagSpelling& flag) { return Spell(flag, value, words); });
}

bool SameWords(const Value& a, const Value& b) { return a == b && a.is_bool() == b.is_bool(); }

}  // namespace flightplan
