#include "resolver/stacks/layered_settings.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/path.h"
#include "resolver/read/hydra_value.h"
#include "resolver/read/yaml_scalar.h"

namespace flightplan {
namespace {

constexpr int kMostFiles = 16;  // of a chain of defaults
constexpr int kMostSteps = 1000;
constexpr size_t kMostText = 4096;  // of a value with references in it

absl::string_view FolderOf(absl::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == absl::string_view::npos ? absl::string_view() : path.substr(0, slash);
}

// A node of a file that the caller did not give has no place in it.
void Unplace(YamlNode* node) {
  node->line = node->column = node->key_line = node->key_column = 0;
  for (YamlNode& item : node->items) Unplace(&item);
  for (auto& [key, value] : node->keys) Unplace(&value);
}

const YamlNode* Child(const YamlNode& map, absl::string_view key) { return map.Find(key); }

// merge_with_override: maps are merged key by key, anything else replaces; a map that says _override_ replaces, too.
void Merge(YamlNode over, YamlNode* base) {
  const bool maps = over.kind == YamlNode::Kind::kMap && base->kind == YamlNode::Kind::kMap;
  const YamlNode* const mark = over.Find("_override_");
  if (!maps || (mark != nullptr && YamlBool(mark->text).value_or(false))) {
    *base = std::move(over);
    return;
  }
  for (auto& [key, value] : over.keys) {
    const auto same = std::find_if(base->keys.begin(), base->keys.end(),
                                   [&name = key](const auto& entry) { return entry.first == name; });
    if (same == base->keys.end()) {
      base->keys.emplace_back(key, std::move(value));
    } else {
      Merge(std::move(value), &same->second);
    }
  }
}

// OmegaConf's loader takes 1e-7 for a number, which YAML 1.1 does not.
Value Scalar(const YamlNode& node) {
  Value value = YamlScalar(node);
  double number = 0;
  const bool digits = !node.text.empty() && (absl::ascii_isdigit(node.text[0]) || node.text[0] == '-');
  if (!node.quoted && value.is_text() && digits && absl::SimpleAtod(node.text, &number)) return Value(number);
  return value;
}

// "mul:${a},2" without its name, split where no brace is open.
std::vector<absl::string_view> SplitArguments(absl::string_view text) {
  std::vector<absl::string_view> parts;
  size_t begin = 0;
  int open = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++open;
    if (text[i] == '}') --open;
    if (text[i] != ',' || open > 0) continue;
    parts.push_back(absl::StripAsciiWhitespace(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  parts.push_back(absl::StripAsciiWhitespace(text.substr(begin)));
  return parts;
}

// The end of "${...}" that begins at `begin`; npos: it has none.
size_t ReferenceEnd(absl::string_view text, size_t begin) {
  int open = 0;
  for (size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '{') ++open;
    if (text[i] == '}' && --open == 0) return i;
  }
  return absl::string_view::npos;
}

// Resolvers that NeMo-RL registers (utils/config.py, register_omegaconf_resolvers).
std::optional<Value> Computed(absl::string_view name, const Value& a, const Value& b) {
  if (!a.is_number() || !b.is_number()) return std::nullopt;
  if (name == "div") {
    if (b.real() == 0) return std::nullopt;
    const double quotient = a.real() / b.real();
    return Value(quotient);
  }
  double result = 0;
  if (name == "add") {
    result = a.real() + b.real();
  } else if (name == "mul") {
    result = a.real() * b.real();
  } else if (name == "max") {
    result = std::max(a.real(), b.real());
  } else {
    return std::nullopt;
  }
  constexpr double kExact = 9007199254740992.0;
  const bool whole = a.is_int() && b.is_int() && std::abs(result) < kExact;
  return whole ? Value(static_cast<int64_t>(result)) : Value(result);
}

}  // namespace

void LayeredSettings::Fault(SourcePosition at, std::string seen, std::string needs) {
  whole_ = false;
  KeepFinding(
      MakeParseFinding(at, grammar_.rule_id, Severity::kError, std::move(seen), std::move(needs), grammar_.source),
      &out_.findings);
}

YamlNode LayeredSettings::Load(absl::string_view name, absl::string_view text, absl::string_view folder, bool own,
                               int* files_left) {
  absl::StatusOr<YamlDocument> file = ParseYaml(name, text, YamlAliases::kMerged);
  if (file.ok() && file->root.kind == YamlNode::Kind::kNull) file->root.kind = YamlNode::Kind::kMap;  // an empty file
  if (!file.ok() || file->root.kind != YamlNode::Kind::kMap) {
    Fault({}, Printable(name), file.ok() ? "a map of settings" : std::string(file.status().message()));
    return {};
  }
  YamlNode& root = file->root;
  if (!own) Unplace(&root);
  YamlNode merged = EmptyMap(), over = EmptyMap();
  for (const Parent& parent : ParentsOf(&root, folder)) {
    const auto found = env_.model_files.find(parent.path);
    if (found == env_.model_files.end() || *files_left <= 0) {
      if (found == env_.model_files.end()) out_.wanted_files.push_back(parent.path);
      out_.elsewhere = absl::StrCat("in ", Printable(parent.path));
      whole_ = false;
      continue;
    }
    --*files_left;  // of all together: a file may name itself, and any number of times
    YamlNode below = Load(parent.path, found->second, FolderOf(parent.path), false, files_left);
    if (!parent.key.empty()) {
      YamlNode group = EmptyMap();
      group.keys.emplace_back(parent.key, std::move(below));
      below = std::move(group);
    }
    Merge(std::move(below), parent.over ? &over : &merged);
  }
  Merge(std::move(root), &merged);
  Merge(std::move(over), &merged);
  return merged;
}

YamlNode LayeredSettings::EmptyMap() {
  YamlNode map;
  map.kind = YamlNode::Kind::kMap;
  return map;
}

// Takes the key that names them out of the file.
std::vector<LayeredSettings::Parent> LayeredSettings::ParentsOf(YamlNode* root, absl::string_view folder) const {
  std::vector<Parent> parents;
  const absl::string_view key = grammar_.below == SettingsGrammar::Below::kExtends ? "extends" : "defaults";
  const auto named =
      std::find_if(root->keys.begin(), root->keys.end(), [key](const auto& entry) { return entry.first == key; });
  if (named == root->keys.end()) return parents;
  const YamlNode names = std::move(named->second);
  root->keys.erase(named);
  if (grammar_.below != SettingsGrammar::Below::kGroups) {
    if (names.kind == YamlNode::Kind::kScalar) parents.push_back({JoinedPath(folder, names.text), "", false});
    for (const YamlNode& item : names.items) parents.push_back({JoinedPath(folder, item.text), "", false});
    return parents;
  }
  // Behind _self_ they stand over the file (https://hydra.cc/docs/advanced/defaults_list/).
  bool over = false;
  for (const YamlNode& item : names.items) {
    over = over || item.text == "_self_";
    if (item.kind == YamlNode::Kind::kScalar && item.text != "_self_") {
      // A file by its path stands below its folder's name, or where "@" says.
      const std::pair<absl::string_view, absl::string_view> name = absl::StrSplit(item.text, absl::MaxSplits('@', 1));
      const bool said = name.first.size() < item.text.size(), here = said && absl::StartsWith(name.second, "_");
      parents.push_back({JoinedPath(folder, absl::StrCat(name.first, ".yaml")),
                         std::string(here   ? ""
                                     : said ? name.second
                                            : FolderOf(name.first)),
                         over});
    }
    for (const auto& [group, name] : item.keys) {
      parents.push_back({JoinedPath(folder, absl::StrCat(group, "/", name.text, ".yaml")), group, over});
    }
  }
  return parents;
}

void LayeredSettings::AddText(absl::string_view text) {
  int files_left = kMostFiles;
  AddMap(Load("settings", text, "", true, &files_left));
}

void LayeredSettings::AddMap(YamlNode map) { Merge(std::move(map), &root_); }

void LayeredSettings::AddFile(const std::string& path) {
  auto found = env_.model_files.find(path);
  // What the launch writes itself is known by its plain name.
  if (found == env_.model_files.end()) found = env_.model_files.find(PlainPath(path));
  if (found != env_.model_files.end()) {
    int files_left = kMostFiles;
    return AddMap(Load(path, found->second, FolderOf(path), false, &files_left));
  }
  out_.wanted_files.push_back(path);
  AddUnknownFile(absl::StrCat("in ", Printable(path)));
}

void LayeredSettings::AddUnknownFile(std::string where) {
  out_.elsewhere = std::move(where);
  whole_ = false;
}

void LayeredSettings::Override(const Argument& argument) {
  absl::string_view word = argument.text;
  const bool removes = absl::ConsumePrefix(&word, "~");
  while (absl::ConsumePrefix(&word, "+")) {
  }
  const size_t equals = word.find('=');
  if (removes) {
    overrides_[std::string(word.substr(0, equals))] = {Value(), argument.at};
    return;
  }
  if (equals == absl::string_view::npos) {
    whole_ = whole_ && !argument.unknown;
    return;
  }
  Found found{std::nullopt, argument.at};
  const absl::string_view text = word.substr(equals + 1);
  if (!argument.unknown && absl::StrContains(text, "${")) {
    int steps = kMostSteps;
    found.value = Substitute(text, {.steps = &steps});
  } else if (!argument.unknown) {
    absl::StatusOr<Value> value = ReadHydraValue(text);
    if (!value.ok()) return Fault(argument.at, Printable(argument.text), std::string(value.status().message()));
    found.value = *std::move(value);
  }
  overrides_[std::string(word.substr(0, equals))] = std::move(found);
}

// The text between "${" and "}".
std::optional<Value> LayeredSettings::Reference(absl::string_view inside, Depth depth) const {
  if (depth.left <= 0 || --*depth.steps <= 0) return std::nullopt;
  --depth.left;
  const size_t colon = inside.find(':');
  if (grammar_.references == SettingsGrammar::References::kVariables) {
    const auto variable = env_.vars.find(std::string(inside.substr(0, colon)));
    if (variable == env_.vars.end() && colon == absl::string_view::npos) return std::nullopt;
    return Substitute(variable != env_.vars.end() ? variable->second : inside.substr(colon + 1), depth);
  }
  if (colon == absl::string_view::npos) {
    const std::optional<Found> found = FindAt(absl::StripAsciiWhitespace(inside), depth);
    return found.has_value() ? found->value : std::nullopt;
  }
  const absl::string_view name = inside.substr(0, colon);
  const std::vector<absl::string_view> parts = SplitArguments(inside.substr(colon + 1));
  if (name == "oc.env") {
    const auto variable = env_.vars.find(std::string(parts[0]));
    if (variable != env_.vars.end()) return Value(variable->second);
    return parts.size() > 1 ? Substitute(parts[1], depth) : std::nullopt;
  }
  if (parts.size() != 2) return std::nullopt;
  const std::optional<Value> a = Substitute(parts[0], depth), b = Substitute(parts[1], depth);
  return a.has_value() && b.has_value() ? Computed(name, *a, *b) : std::nullopt;
}

std::optional<Value> LayeredSettings::Substitute(absl::string_view text, Depth depth) const {
  if (!absl::StrContains(text, "${")) {
    YamlNode plain;
    plain.kind = YamlNode::Kind::kScalar;
    plain.text = std::string(text);
    return Scalar(plain);
  }
  if (absl::StartsWith(text, "${") && ReferenceEnd(text, 0) == text.size() - 1) {
    return Reference(text.substr(2, text.size() - 3), depth);
  }
  std::string whole;
  while (!text.empty()) {
    const size_t begin = text.find("${");
    if (begin == absl::string_view::npos) break;
    const size_t end = ReferenceEnd(text, begin);
    if (end == absl::string_view::npos) return std::nullopt;
    const std::optional<Value> part = Reference(text.substr(begin + 2, end - begin - 2), depth);
    if (!part.has_value()) return std::nullopt;
    absl::StrAppend(&whole, text.substr(0, begin), part->ToText());
    if (whole.size() > kMostText) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  return Value(absl::StrCat(whole, text));
}

std::optional<Value> LayeredSettings::ValueOf(const YamlNode& node) const {
  int steps = kMostSteps;
  return ValueOf(node, {.steps = &steps});
}

std::optional<Value> LayeredSettings::ValueOf(const YamlNode& node, Depth depth) const {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return Value();
    case YamlNode::Kind::kScalar:
      return absl::StrContains(node.text, "${") ? Substitute(node.text, depth) : Scalar(node);
    case YamlNode::Kind::kList: {
      Value::List items;
      for (const YamlNode& item : node.items) {
        std::optional<Value> value = ValueOf(item, depth);
        if (!value.has_value() || items.size() >= kMaxListItems) return std::nullopt;
        items.push_back(*std::move(value));
      }
      return Value(std::move(items));
    }
    case YamlNode::Kind::kMap:
      break;
  }
  return std::nullopt;
}

std::optional<LayeredSettings::Found> LayeredSettings::FindAt(absl::string_view path, Depth depth) const {
  if (const auto found = overrides_.find(std::string(path)); found != overrides_.end()) return found->second;
  const YamlNode* const node = NodeAt(path);
  if (node == nullptr) return std::nullopt;
  return Found{ValueOf(*node, depth), {-1, node->line, node->column}};
}

std::optional<LayeredSettings::Found> LayeredSettings::Find(absl::string_view path) const {
  int steps = kMostSteps;
  return FindAt(path, {.steps = &steps});
}

bool LayeredSettings::Has(absl::string_view path) const {
  const auto found = overrides_.find(std::string(path));
  if (found != overrides_.end()) return !found->second.value.has_value() || !found->second.value->is_none();
  return Map(path) != nullptr || Find(path).has_value();
}

const YamlNode* LayeredSettings::NodeAt(absl::string_view path) const {
  const YamlNode* node = &root_;
  for (const absl::string_view key : absl::StrSplit(path, '.')) {
    node = Child(*node, key);
    if (node == nullptr) return nullptr;
  }
  return node;
}

bool LayeredSettings::InFiles(absl::string_view path) const { return NodeAt(path) != nullptr; }

const YamlNode* LayeredSettings::Map(absl::string_view path) const {
  const YamlNode* const node = NodeAt(path);
  return node != nullptr && node->kind == YamlNode::Kind::kMap ? node : nullptr;
}

std::optional<int64_t> LayeredSettings::Number(absl::string_view path, std::optional<int64_t> usual) const {
  const std::optional<Found> found = Find(path);
  if (!found.has_value()) return usual;
  if (!found->value.has_value()) return std::nullopt;
  if (found->value->is_int()) return found->value->integer();
  constexpr double kExact = 9007199254740992.0;
  const double real = found->value->real();
  const bool whole = found->value->is_number() && std::abs(real) < kExact && std::floor(real) == real;
  return whole ? std::optional<int64_t>(static_cast<int64_t>(real)) : std::nullopt;
}

std::optional<bool> LayeredSettings::Bool(absl::string_view path, bool usual) const {
  const std::optional<Found> found = Find(path);
  if (!found.has_value()) return usual;
  if (!found->value.has_value() || !found->value->is_bool()) return std::nullopt;
  return found->value->truthy();
}

std::string LayeredSettings::Text(absl::string_view path) const {
  const std::optional<Found> found = Find(path);
  return found.has_value() && found->value.has_value() && found->value->is_text() ? std::string(found->value->text())
                                                                                  : "";
}

}  // namespace flightplan
