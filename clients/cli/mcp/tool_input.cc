// Flags as a JSON schema, and JSON as flags.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "clients/cli/mcp/tools.h"
#include "clients/cli/rpc/json_text.h"
#include "clients/cli/text.h"
#include "resolver/base/nearest.h"
#include "resolver/base/status_macros.h"

namespace flightplan::cli {
namespace {

// Flags that write, ask for many files, or have no sense without a shell around the command.
constexpr absl::string_view kNotOffered[] = {"--write",     "--batch",   "--slurm-script", "--job",   "--all-versions",
                                             "--door-mode", "--release", "--server",       "--export"};
// Of --format: what would fill a context window.
constexpr absl::string_view kLongFormats[] = {"json", "html", "jsonl", "sarif"};
constexpr size_t kMaxExamples = 12;
constexpr char kText[] = "text";
constexpr char kFileName[] = "file_name";
constexpr char kArguments[] = "arguments";
constexpr char kName[] = "name";
constexpr char kDefaultFile[] = "launch";
constexpr char kWrongSides[] = "a as flags and b as text: give the text as a and the flags as b";

bool NamesFile(const Flag& flag) {
  return flag.set.values.files || flag.set.values.folders || absl::StrContains(flag.value_name, "FILE") ||
         flag.value_name == "DIR";
}

std::vector<std::string> WordsOf(const Flag& flag) {
  std::vector<std::string> words;
  for (const std::string& word : flag.set.values.words) {
    const bool skip = flag.name == "--format" && std::count(std::begin(kLongFormats), std::end(kLongFormats), word) > 0;
    if (!skip) words.push_back(word);
  }
  return words;
}

bool IsOffered(const Flag& flag) {
  if (std::count(std::begin(kNotOffered), std::end(kNotOffered), flag.name) > 0) return false;
  if (flag.name == "--format") return WordsOf(flag).size() > 1;
  return !NamesFile(flag) || flag.name == "--model";  // whose file is another property
}

std::string PropertyOf(const Flag& flag) { return absl::StrReplaceAll(flag.name.substr(2), {{"-", "_"}}); }

std::vector<std::pair<const FlagGroup*, const Flag*>> Offered(const CommandLine& command) {
  std::vector<std::pair<const FlagGroup*, const Flag*>> flags;
  for (const FlagGroup& group : command.groups) {
    for (const Flag& flag : group.flags) {
      if (IsOffered(flag)) flags.emplace_back(&group, &flag);
    }
  }
  return flags;
}

std::string FlagSchema(const FlagGroup& group, const Flag& flag) {
  JsonObject schema;
  const bool list = flag.set.type == ValueType::kList;
  static constexpr absl::string_view kTypes[] = {"string", "boolean", "integer", "number", "string", "array"};
  schema.Text("type", kTypes[static_cast<size_t>(flag.set.type)]);
  if (list) schema.Raw("items", R"({"type":"string"})");
  if (flag.set.least.has_value()) {
    flag.set.type == ValueType::kInteger ? schema.Integer("minimum", static_cast<int64_t>(*flag.set.least))
                                         : schema.Number("minimum", *flag.set.least);
  }
  if (flag.set.most.has_value()) schema.Number("maximum", *flag.set.most);
  const std::vector<std::string> words = WordsOf(flag);
  if (flag.set.type == ValueType::kWord) schema.Raw("enum", JsonStrings(words));
  if (flag.set.type == ValueType::kText && !words.empty() && words.size() <= kMaxExamples) {
    schema.Raw("examples", JsonStrings(words));
  }
  const std::string shown = flag.help.empty() ? absl::StrCat(group.title, ": ", flag.name, " ", flag.value_name)
                            : list            ? absl::StrCat(flag.value_name, ": ", flag.help)
                                              : std::string(flag.help);
  return schema.Text("description", shown).Json();
}

std::string TextSchema(absl::string_view description) {
  return JsonObject().Text("type", "string").Text("description", description).Json();
}

void AddLaunch(JsonObject* properties) {
  properties->Raw(kText, TextSchema("the launch itself: a shell script, one argument a line, YAML or overrides"))
      .Raw(kFileName, TextSchema("its name, by which its form is told: pretrain.sh, config.yaml"));
}

std::string ObjectSchema(const JsonObject& properties, const std::vector<absl::string_view>& required,
                         absl::string_view description) {
  JsonObject schema;
  schema.Text("type", "object");
  if (!description.empty()) schema.Text("description", description);
  schema.Raw("properties", properties.Json());
  const std::vector<std::string> names(required.begin(), required.end());
  if (!names.empty()) schema.Raw("required", JsonStrings(names));
  return schema.Bool("additionalProperties", false).Json();
}

// What Properties describes, by name; null: not a flag.
using Known = std::map<std::string, const Flag*>;

Known KnownProperties(const Tool& tool, const CommandLine& command, bool side) {
  Known known;
  for (const auto& [group, flag] : Offered(command)) known[PropertyOf(*flag)] = flag;
  if (!tool.text_property.empty()) known[std::string(tool.text_property)] = nullptr;
  if (tool.subject == ToolSubject::kLaunch || side) known[kText] = known[kFileName] = nullptr;
  if (tool.subject == ToolSubject::kLaunch) known[kArguments] = nullptr;
  if (tool.subject == ToolSubject::kName) known[kName] = nullptr;
  if (tool.subject == ToolSubject::kSides && !side) known["a"] = known["b"] = nullptr;
  return known;
}

absl::Status Wrong(absl::string_view property, absl::string_view wants) {
  return absl::InvalidArgumentError(absl::StrCat(property, " ", wants));
}

absl::StatusOr<std::string> ScalarText(const std::string& property, ValueType type, const rapidjson::Value& value) {
  if (value.IsString()) return std::string(JsonTextOf(value));
  if (value.IsBool()) return std::string(value.GetBool() ? "true" : "false");
  if (value.IsInt64()) return absl::StrCat(value.GetInt64());
  if (value.IsDouble() && std::floor(value.GetDouble()) == value.GetDouble() && std::fabs(value.GetDouble()) < 1e15) {
    return absl::StrCat(static_cast<int64_t>(value.GetDouble()));
  }
  if (value.IsNumber()) return JsonNumber(value.GetDouble());
  return Wrong(property, type == ValueType::kSwitch ? "wants true or false" : "wants one value");
}

// As --set takes it: a list by commas.
absl::StatusOr<std::string> SettingText(const std::string& property, const rapidjson::Value& value) {
  if (value.IsNull()) return std::string("null");
  if (!value.IsArray()) return ScalarText(property, ValueType::kText, value);
  std::vector<std::string> items;
  for (const rapidjson::Value& item : value.GetArray()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(std::string text, ScalarText(property, ValueType::kText, item));
    items.push_back(std::move(text));
  }
  return absl::StrJoin(items, ",");
}

absl::Status AddFlag(const std::string& property, const Flag& flag, const rapidjson::Value& value,
                     std::vector<std::string>* args) {
  if (value.IsNull()) return absl::OkStatus();
  const bool pairs = absl::StrContains(flag.value_name, "=");  // KNOB=VALUE: an object says the same
  if (flag.set.type == ValueType::kList && pairs && value.IsObject()) {
    for (const auto& member : value.GetObject()) {
      const absl::string_view name = JsonTextOf(member.name);
      FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string text, SettingText(absl::StrCat(property, ".", name), member.value));
      args->push_back(absl::StrCat(flag.name, "=", name, "=", text));
    }
    return absl::OkStatus();
  }
  if (flag.set.type == ValueType::kList && value.IsObject()) return Wrong(property, "wants a list");
  if (flag.set.type == ValueType::kList && value.IsArray()) {
    for (const rapidjson::Value& item : value.GetArray()) {
      FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string text, ScalarText(property, flag.set.type, item));
      args->push_back(absl::StrCat(flag.name, "=", text));
    }
    return absl::OkStatus();
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::string text, ScalarText(property, flag.set.type, value));
  if (text.empty() && !flag.set.takes_empty) return absl::OkStatus();  // models fill in every field of a form
  const std::vector<std::string> words = WordsOf(flag);
  if (flag.set.type == ValueType::kWord && std::find(words.begin(), words.end(), text) == words.end()) {
    return Wrong(property, absl::StrCat("wants one of ", absl::StrJoin(words, ", "), ", not ", Quoted(text)));
  }
  args->push_back(absl::StrCat(flag.name, "=", text));
  return absl::OkStatus();
}

absl::Status Unknown(const std::string& property, const Known& known) {
  std::vector<absl::string_view> names;
  for (const auto& [name, flag] : known) names.push_back(name);
  const absl::string_view nearest = NearestName(property, names);
  return absl::InvalidArgumentError(absl::StrCat("no property ", Quoted(property),
                                                 nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?")));
}

// The flags among `arguments`; what is none of them must be known.
absl::Status AddFlags(const rapidjson::Value& arguments, const Known& known, std::vector<std::string>* args) {
  for (const auto& member : arguments.GetObject()) {
    const std::string property(JsonTextOf(member.name));
    const auto it = known.find(property);
    if (it == known.end()) return Unknown(property, known);
    if (it->second != nullptr) FLIGHTPLAN_RETURN_IF_ERROR(AddFlag(property, *it->second, member.value, args));
  }
  return absl::OkStatus();
}

// The text of a property; nothing: it is not there.
absl::StatusOr<std::optional<std::string>> TextOf(const rapidjson::Value& arguments, const char* property) {
  const rapidjson::Value* value = JsonMember(arguments, property);
  if (value == nullptr || value->IsNull()) return std::optional<std::string>();
  if (!value->IsString()) return Wrong(property, "wants text");
  if (value->GetStringLength() > kMaxFileBytes)
    return Wrong(property, absl::StrCat("is longer than ", kMaxFileBytes, " bytes"));
  return std::optional<std::string>(JsonTextOf(*value));
}

// `text` as a file on the command line; its name, or nothing where there is no text.
absl::StatusOr<std::optional<std::string>> AddText(const rapidjson::Value& arguments, const char* fallback,
                                                   ToolCommandLine* line) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::optional<std::string> text, TextOf(arguments, kText));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::optional<std::string> name, TextOf(arguments, kFileName));
  if (!text.has_value()) return std::optional<std::string>();
  std::string file = name.value_or(fallback);
  if (file.empty() || file[0] == '-') return Wrong(kFileName, "is empty or begins with -");
  if (line->files.count(file) > 0) file = absl::StrCat(fallback, "/", file);  // both sides of one name
  line->files[file] = *std::move(text);
  return std::optional<std::string>(std::move(file));
}

absl::Status AddLaunchSubject(const rapidjson::Value& arguments, ToolCommandLine* line) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::optional<std::string> file, AddText(arguments, kDefaultFile, line));
  const rapidjson::Value* words = JsonMember(arguments, kArguments);
  if (words != nullptr && words->IsNull()) words = nullptr;
  if (file.has_value() == (words != nullptr)) {
    return Wrong(kText, file.has_value() ? "stands beside arguments: give one of them" : "or arguments is missing");
  }
  if (file.has_value()) line->args.push_back(*file);
  if (words == nullptr) return absl::OkStatus();
  if (!words->IsArray()) return Wrong(kArguments, "wants a list of text");
  line->args.emplace_back("--");
  for (const rapidjson::Value& word : words->GetArray()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(std::string text, ScalarText(kArguments, ValueType::kText, word));
    line->args.push_back(std::move(text));
  }
  return absl::OkStatus();
}

// Files come first on the command line of diff, sets of flags after them.
absl::Status AddSides(const Tool& tool, const CommandLine& command, const rapidjson::Value& arguments,
                      ToolCommandLine* line) {
  const Known known = KnownProperties(tool, command, true);
  std::vector<std::string> flags;
  for (const char* side : {"a", "b"}) {
    const rapidjson::Value* value = JsonObjectMember(arguments, side);
    if (value == nullptr) return Wrong(side, "wants an object: a launch (text) or properties of resolve");
    FLIGHTPLAN_ASSIGN_OR_RETURN(const std::optional<std::string> file, AddText(*value, side, line));
    std::vector<std::string> own;
    FLIGHTPLAN_RETURN_IF_ERROR(AddFlags(*value, known, &own));
    if (file.has_value() && !own.empty()) return Wrong(side, "is a launch or flags, not both");
    if (file.has_value() && !flags.empty()) return absl::InvalidArgumentError(kWrongSides);
    if (file.has_value()) {
      line->args.push_back(*file);
    } else {
      flags.emplace_back("--");
      flags.insert(flags.end(), own.begin(), own.end());
    }
  }
  line->args.insert(line->args.end(), flags.begin(), flags.end());
  return absl::OkStatus();
}

absl::Status AddSubject(const Tool& tool, const CommandLine& command, const rapidjson::Value& arguments,
                        ToolCommandLine* line) {
  switch (tool.subject) {
    case ToolSubject::kNothing:
      return absl::OkStatus();
    case ToolSubject::kLaunch:
      return AddLaunchSubject(arguments, line);
    case ToolSubject::kSides:
      return AddSides(tool, command, arguments, line);
    case ToolSubject::kName:
      break;
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::optional<std::string> name, TextOf(arguments, kName));
  if (!name.has_value()) return absl::OkStatus();
  // A flag as a launch has it ("--num-experts") names its knob; it is no flag of the command.
  const size_t begin = name->find_first_not_of('-');
  if (begin == std::string::npos) return Wrong(kName, "is empty");
  line->args.push_back(name->substr(begin));
  return absl::OkStatus();
}

}  // namespace

std::string InputSchema(const Tool& tool) {
  const CommandLine command = TableOf(*FindCommand(tool.command));
  JsonObject properties;
  if (tool.subject == ToolSubject::kName) properties.Raw(kName, TextSchema(tool.subject_help));
  if (tool.subject == ToolSubject::kLaunch) {
    AddLaunch(&properties);
    properties.Raw(kArguments,
                   R"({"type":"array","items":{"type":"string"},"description":"arguments, instead of text"})");
  }
  if (!tool.text_property.empty()) properties.Raw(tool.text_property, TextSchema(tool.text_help));
  JsonObject side;
  if (tool.subject == ToolSubject::kSides) AddLaunch(&side);
  for (const auto& [group, flag] : Offered(command)) {
    properties.Raw(PropertyOf(*flag), FlagSchema(*group, *flag));
    // Of a side the schema of a flag is that beside it.
    if (tool.subject == ToolSubject::kSides) {
      side.Raw(PropertyOf(*flag), absl::StrCat(R"({"$ref":"#/properties/)", PropertyOf(*flag), "\"}"));
    }
  }
  if (tool.subject == ToolSubject::kSides) {
    properties.Raw("a", ObjectSchema(side, {}, "a launch (text), or properties over those that both sides share"));
    properties.Raw("b", R"({"$ref":"#/properties/a"})");
  }
  return ObjectSchema(properties, tool.required, "");
}

absl::StatusOr<ToolCommandLine> ToCommandLine(const Tool& tool, const rapidjson::Value& arguments) {
  if (!arguments.IsObject()) return absl::InvalidArgumentError("arguments wants an object");
  const CommandLine command = TableOf(*FindCommand(tool.command));
  const Known known = KnownProperties(tool, command, false);
  ToolCommandLine line;
  FLIGHTPLAN_RETURN_IF_ERROR(AddFlags(arguments, known, &line.args));
  for (const absl::string_view name : tool.required) {
    if (JsonMember(arguments, std::string(name).c_str()) == nullptr) return Wrong(name, "is missing");
  }
  if (!tool.text_property.empty()) {
    const std::string property(tool.text_property);
    FLIGHTPLAN_ASSIGN_OR_RETURN(std::optional<std::string> text, TextOf(arguments, property.c_str()));
    if (text.has_value()) {
      const std::string instead(tool.subject == ToolSubject::kName ? absl::string_view(kName)
                                                                   : tool.text_flag.substr(2));
      const rapidjson::Value* const other = JsonMember(arguments, instead.c_str());
      if (other != nullptr && !other->IsNull()) {
        return Wrong(property, absl::StrCat("stands beside ", instead, ": give one of them"));
      }
      const std::string file = absl::StrCat(property, ".json");
      line.args.push_back(absl::StrCat(tool.text_flag, "=", file));
      line.files[file] = *std::move(text);
    }
  }
  FLIGHTPLAN_RETURN_IF_ERROR(AddSubject(tool, command, arguments, &line));
  return line;
}

std::string InProperties(const Tool& tool, absl::string_view complaint) {
  const CommandLine command = TableOf(*FindCommand(tool.command));
  std::string text = absl::StrCat(tool.name, ": ",
                                  absl::StrReplaceAll(complaint.substr(0, complaint.find("\nusage: ")),
                                                      {{absl::StrCat("flightplan ", command.name, ": "), ""}}));
  std::map<std::string, std::string> names;
  if (!tool.text_flag.empty()) names[std::string(tool.text_flag)] = std::string(tool.text_property);
  for (const auto& [group, flag] : Offered(command)) names[std::string(flag->name)] = PropertyOf(*flag);
  const auto is_word = [](char c) { return absl::ascii_isalnum(c) || c == '-'; };
  for (const auto& [flag, property] : names) {
    for (size_t at = text.find(flag); at != std::string::npos; at = text.find(flag, at + 1)) {
      const size_t end = at + flag.size();
      const bool whole = (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
      if (whole) text.replace(at, flag.size(), property);
    }
  }
  return text;
}

}  // namespace flightplan::cli
