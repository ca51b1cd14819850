#include "resolver/stacks/knob_schema.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "resolver/base/json.h"

namespace flightplan {
namespace {

// One value of a type. YAML 1.1, which the stacks read, has yes and on for true and 1e-5 for text; YAML 1.2, which many
// editors read, has them the other way round.
constexpr absl::string_view kBool =
    R"({"anyOf": [{"type": "boolean"}, {"enum": ["true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", )"
    R"("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"]}]})";
constexpr absl::string_view kInteger =
    R"({"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^\\s*[+-]?[0-9](_?[0-9])*\\s*$"}]})";
constexpr absl::string_view kNumber =
    R"({"anyOf": [{"type": "number"}, {"type": "string", "pattern": )"
    R"("^\\s*[+-]?([0-9][0-9_]*\\.?[0-9_]*|\\.[0-9][0-9_]*)([eE][+-]?[0-9]+)?\\s*$"}, )"
    R"({"enum": ["inf", "-inf", "nan", ".inf", "-.inf", ".nan"]}]})";
constexpr absl::string_view kText = R"({"type": ["string", "number", "boolean"]})";
constexpr absl::string_view kFrequency =
    R"({"anyOf": [{"$ref": "#/$defs/integer"}, {"type": "string", "pattern": "\\["}]})";

std::string Ref(absl::string_view definition) { return absl::StrCat(R"({"$ref": "#/$defs/)", definition, "\"}"); }

std::string OneOrSeveral(const std::string& item) {
  return AnyOf({item, absl::StrCat(R"({"type": "array", "items": )", AnyOf({item, Ref("otherwise")}), "}")});
}

absl::string_view ScalarName(ValueType type) {
  switch (type) {
    case ValueType::kBool:
      return "bool";
    case ValueType::kInt:
    case ValueType::kIntList:
    case ValueType::kTuple:
      return "integer";
    case ValueType::kFloat:
    case ValueType::kFloatList:
      return "number";
    case ValueType::kFreq:
      return "frequency";
    case ValueType::kString:
    case ValueType::kStringList:
    case ValueType::kAny:
      break;
  }
  return "text";
}

bool TakesList(ValueType type) {
  switch (type) {
    case ValueType::kIntList:
    case ValueType::kFloatList:
    case ValueType::kStringList:
    case ValueType::kTuple:
    case ValueType::kFreq:
      return true;
    case ValueType::kBool:
    case ValueType::kInt:
    case ValueType::kFloat:
    case ValueType::kString:
    case ValueType::kAny:
      break;
  }
  return false;
}

void Gather(absl::string_view choices, std::vector<std::string>* words) {
  for (absl::string_view choice : absl::StrSplit(choices, '|', absl::SkipEmpty())) {
    if (std::find(words->begin(), words->end(), choice) == words->end()) words->emplace_back(choice);
  }
}

// The words that some release takes. Empty: some release takes any.
std::vector<std::string> Choices(Knob knob, const SchemaFormat& format) {
  std::vector<std::string> words;
  if (format.own_choices != nullptr) Gather(format.own_choices(knob), &words);
  if (!words.empty()) return words;
  Gather(Row(knob).choices, &words);
  bool flagged = false;
  for (const internal::FlagRow& flag : Flags()) {
    if (flag.knob != knob) continue;
    flagged = true;
    if (*flag.choices == '\0') return {};
    Gather(flag.choices, &words);
  }
  return flagged || *Row(knob).choices != '\0' ? words : std::vector<std::string>();
}

// Numbers count as text, too.
std::string Enumerated(ValueType type, const std::vector<std::string>& words) {
  std::vector<std::string> items;
  for (const std::string& word : words) {
    int64_t number = 0;
    if (type == ValueType::kInt && absl::SimpleAtoi(word, &number)) items.push_back(absl::StrCat(number));
    items.push_back(JsonQuoted(word));
  }
  return absl::StrCat(R"({"enum": [)", absl::StrJoin(items, ", "), "]}");
}

std::string Shape(Knob knob, const SchemaFormat& format) {
  const ValueType type = Row(knob).type;
  if (type == ValueType::kAny) return "true";
  const std::vector<std::string> words = Choices(knob, format);
  std::string one = words.empty() ? Ref(ScalarName(type)) : Enumerated(type, words);
  if (!words.empty() && format.open_models && Row(knob).knob_class == KnobClass::kConvergence) {
    one = AnyOf({one, Ref(ScalarName(type))});
  }
  // Upstream has lists for some of them: data_path, pipeline_model_parallel_layout.
  if (type == ValueType::kString && words.empty()) return AnyOf({one, R"({"type": "array"})"});
  return TakesList(type) ? OneOrSeveral(one) : one;
}

absl::string_view ClassText(KnobClass knob_class) {
  switch (knob_class) {
    case KnobClass::kConvergence:
      return "changes what is computed";
    case KnobClass::kExecution:
      return "changes only how it is computed";
    case KnobClass::kBenchmarkOnly:
      return "for benchmarks only";
  }
  return "";
}

std::string ReleaseText(ReleaseRange releases, int first) {
  std::string text;
  if (releases.since > first) absl::StrAppend(&text, "since 0.", releases.since);
  if (releases.until < kMain) absl::StrAppend(&text, text.empty() ? "" : ", ", "until 0.", releases.until);
  return text;
}

}  // namespace

void Members::Add(absl::string_view name, absl::string_view json) {
  absl::StrAppend(&text_, text_.empty() ? "\n" : ",\n", JsonQuoted(name), ": ", json);
}

std::string Members::Object() const { return absl::StrCat("{", text_, "\n}"); }

std::string AnyOf(const std::vector<std::string>& schemas) {
  return absl::StrCat(R"({"anyOf": [)", absl::StrJoin(schemas, ", "), "]}");
}

Members KnobDefinitions(const std::string& object, bool numbers_are_switches) {
  // What may stand wherever a value may: None, a reference that is followed when the file is read.
  std::vector<std::string> otherwise = {R"({"enum": [null, "None", "null", "~"]})",
                                        R"({"type": "string", "pattern": "\\$\\{"})"};
  if (!object.empty()) otherwise.push_back(object);
  Members members;
  members.Add("otherwise", AnyOf(otherwise));
  members.Add("bool",
              numbers_are_switches ? AnyOf({std::string(kBool), R"({"type": "integer"})"}) : std::string(kBool));
  members.Add("integer", kInteger);
  members.Add("number", kNumber);
  members.Add("text", kText);
  members.Add("frequency", kFrequency);
  return members;
}

std::string KnobSchema(Knob knob, const SchemaFormat& format) {
  const ReleaseRange releases = format.releases(knob);
  std::vector<std::string> about = {std::string(ClassText(Row(knob).knob_class))};
  const internal::FlagRow* flag = format.with_flags ? FirstFlag(knob, std::min(kMain, releases.until)) : nullptr;
  if (flag != nullptr) about.insert(about.begin(), flag->flag);
  if (const std::string text = ReleaseText(releases, format.first_release); !text.empty()) {
    about.push_back(absl::StrCat(format.stack, " ", text));
  }
  if (*Row(knob).note != '\0') about.emplace_back(Row(knob).note);
  Members members;
  members.Add("description", JsonQuoted(absl::StrJoin(about, "; ")));
  const Value& fallback = format.defaults.Get(knob);
  // A number for a word is one of upstream's enumerations: exit_signal is 15 for SIGTERM.
  const bool numbered = Row(knob).type == ValueType::kString && fallback.is_int();
  members.Add("anyOf", absl::StrCat("[", Shape(knob, format), ", ", numbered ? Ref("integer") + ", " : "",
                                    Ref("otherwise"), "]"));
  if (format.defaults.origin(knob) != Origin::kAbsent && !fallback.is_none()) members.Add("default", fallback.ToJson());
  if (releases.until < kMain) members.Add("deprecated", "true");
  return members.Object();
}

}  // namespace flightplan
