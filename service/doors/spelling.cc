#include "service/doors/spelling.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/catalog/spellings.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/normalize/violations.h"
#include "resolver/plan/knob.h"
#include "resolver/plan/stack.h"
#include "resolver/render/launch.h"

namespace flightplan::doors {
namespace {

// A switch to `value` in Megatron's own flags: "--bf16", "--no-bias-swiglu-fusion"; empty where no flag does that.
std::string SwitchSpelling(const std::string& name, bool value) {
  const std::optional<Knob> knob = FindKnob(name);
  if (!knob.has_value()) return "";
  for (const internal::FlagRow& row : Flags()) {
    if (row.knob != *knob || !row.releases.Contains(kMain)) continue;
    if (row.form == (value ? FlagForm::kSwitchOn : FlagForm::kSwitchOff)) return row.flag;
    if (row.form == FlagForm::kSwitchPair) {
      return value ? row.flag : absl::StrCat("--no-", absl::StripPrefix(row.flag, "--"));
    }
  }
  return "";
}

// The knob's own name where the table has no spelling that sets it. `own_words`: of the stack whose words these are, or
// null.
std::string TableSpelling(const std::string& name, bool bridge, const Stack* own_words) {
  const std::optional<Knob> knob = FindKnob(name);
  if (!knob.has_value()) return name;
  if (own_words != nullptr) {
    const std::string word = OwnSpelling(*knob, *own_words);
    return word.empty() ? name : word;
  }
  if (bridge) {
    const absl::string_view field = WordFor(*knob, kBridgeOverride);
    const absl::string_view section = BridgeSectionOf(*knob);
    // Some rows tell a person of two fields, or of the opposite, and some fields have no row; an override sets one.
    const bool words = absl::StrContains(field, ' ');
    if ((words || field.empty()) && !section.empty()) return absl::StrCat(section, ".", FieldNameOf(*knob));
    return field.empty() || words ? name : std::string(field);
  }
  for (const internal::FlagRow& row : Flags()) {
    if (row.knob == *knob && row.form != FlagForm::kSwitchOff && row.releases.Contains(kMain)) return row.flag;
  }
  return name;
}

bool TakesWords(const std::string& name) {
  const std::optional<Knob> knob = FindKnob(name);
  return knob.has_value() && std::any_of(Flags().begin(), Flags().end(), [&knob](const internal::FlagRow& row) {
           return row.knob == *knob && row.releases.Contains(kMain) &&
                  (row.form == FlagForm::kList || row.form == FlagForm::kListOrEmpty);
         });
}

Value ValueOf(const v1::KnobValue& value) {
  Violations ignored;  // an answer of our own; what cannot be read is shown as none
  return ValueFromMessage(value, "", &ignored);
}

// Behind a flag, for a shell: of a list each item a word of its own, where the flag takes several.
std::string FlagValue(const v1::KnobValue& value, bool words) {
  if (!value.has_list_value() || !words) return ShellQuote(ValueText(value));
  const Value read = ValueOf(value);
  return absl::StrJoin(read.list(), " ",
                       [](std::string* out, const Value& item) { absl::StrAppend(out, ShellQuote(item.ToText())); });
}

// A key and its value as one word of a shell. Settings take a list as a list alone: of a bare word Megatron would take
// each letter for an item.
std::string KeyValue(absl::string_view key, const v1::KnobValue& value) {
  const Value read = ValueOf(value);
  const auto add = [](std::string* out, const Value& item) { absl::StrAppend(out, item.ToText()); };
  return ShellQuote(absl::StrCat(
      key, "=", read.is_list() ? absl::StrCat("[", absl::StrJoin(read.list(), ",", add), "]") : ValueText(value)));
}

}  // namespace

std::string ValueText(const v1::KnobValue& value) {
  const Value read = ValueOf(value);
  return read.is_none() ? "none" : read.ToText();
}

std::string FixText(const v1::Fix& fix, const Spelling& spelling) {
  std::vector<std::string> parts;
  for (const v1::KnobSetting& knob : fix.knobs()) {
    std::string part = spelling.knob(knob.name(), knob.value());
    // Two knobs may have one word, as a field of Bridge's comm_overlap and the one that it is copied over.
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(std::move(part));
  }
  std::vector<std::string> variables;
  for (const auto& [name, value] : std::map<std::string, std::string>(fix.env().begin(), fix.env().end())) {
    variables.push_back(absl::StrCat(spelling.variable, name, "=", value));
  }
  // Before a launch's own words: a flag that takes a list would take what follows it.
  parts.insert(spelling.variable.empty() ? parts.begin() : parts.end(), variables.begin(), variables.end());
  return absl::StrJoin(parts, " ");
}

std::vector<std::string> FixTexts(const google::protobuf::RepeatedPtrField<v1::Fix>& fixes, const Spelling& spelling,
                                  size_t limit) {
  std::vector<std::string> texts;
  for (const v1::Fix& fix : fixes) {
    if (texts.size() == limit) break;
    std::string text = FixText(fix, spelling);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  return texts;
}

Spelling TargetSpelling(const Entries& config, absl::string_view target) {
  std::map<std::string, std::string> spellings;
  for (const v1::ConfigEntry& entry : config) spellings[entry.name()] = entry.spelling();
  const bool bridge = absl::StartsWith(target, "megatron-bridge");
  const Stack* const stack = FindStack(target.substr(0, target.find(' ')));
  const Stack* const own_words = stack != nullptr && !stack->vocabulary.empty() ? stack : nullptr;
  const auto spell = [spellings = std::move(spellings), bridge, own_words](const std::string& knob,
                                                                           const v1::KnobValue& value) {
    const auto found = spellings.find(knob);
    const bool known = found != spellings.end() && !found->second.empty();
    const std::string spelling = known ? found->second : TableSpelling(knob, bridge, own_words);
    if (value.has_bool_value() && !bridge && own_words == nullptr) {
      if (std::string flag = SwitchSpelling(knob, value.bool_value()); !flag.empty()) return flag;
    }
    if (value.kind_case() == v1::KnobValue::KIND_NOT_SET) {
      // A field of Bridge's container, which the recipe may have set: leaving the word out leaves it at that.
      const bool field = bridge && absl::StrContains(spelling, ".");
      return field ? absl::StrCat(spelling, "=null") : absl::StrCat("without ", spelling);
    }
    if (!absl::StartsWith(spelling, "--")) return KeyValue(spelling, value);
    // Behind its flag an empty list is no word, and a parser asks for one.
    if (value.has_list_value() && value.list_value().values().empty()) return absl::StrCat("without ", spelling);
    if (own_words != nullptr || !value.has_bool_value()) {  // a switch of a stack's own words has a value, too
      return absl::StrCat(spelling, " ", FlagValue(value, own_words != nullptr || TakesWords(knob)));
    }
    return absl::StrCat(value.bool_value() ? "" : "without ", spelling);
  };
  return {spell, ""};
}

std::string StepText(const v1::RepairStep& step, const Spelling& spelling) {
  const bool lines = step.fix().knobs().empty() && step.fix().env().empty();
  return lines ? "the lines of the command" : FixText(step.fix(), spelling);
}

}  // namespace flightplan::doors
