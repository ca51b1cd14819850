#include "resolver/stacks/megatron_bridge/yaml.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/base/first_names.h"
#include "resolver/base/work.h"
#include "resolver/base/yaml.h"
#include "resolver/catalog/bridge_fields.h"
#include "resolver/read/yaml_scalar.h"
#include "resolver/stacks/megatron_bridge/dataset_kinds.h"
#include "resolver/stacks/megatron_bridge/notes.h"
#include "resolver/stacks/megatron_bridge/override_reader.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kTarget = "_target_";
constexpr size_t kNamedFields = 12;  // of those not looked at, in the note

SourcePosition At(const YamlNode& node) { return {-1, node.line, node.column}; }
SourcePosition KeyAt(const YamlNode& node) { return {-1, node.key_line, node.key_column}; }

// All that says what the model is.
bool NamesModel(const YamlNode& root) {
  const YamlNode* model = root.Find("model");
  if (model == nullptr) return false;
  const bool layers = model->Find("num_layers") != nullptr || model->Find("hybrid_layer_pattern") != nullptr ||
                      model->Find("hybrid_override_pattern") != nullptr;
  return layers && model->Find("hidden_size") != nullptr && model->Find("num_attention_heads") != nullptr;
}

class Reader {
 public:
  Reader(int release, ParseResult* out) : overrides_(release, out), out_(out) {}

  void Container(const YamlNode& root) {
    for (const auto& [section, node] : root.keys) {
      if (absl::StartsWith(section, "_")) continue;
      if (node.kind == YamlNode::Kind::kMap) {
        Section(section, node);
      } else {
        overrides_.ReadSection(Written(section, node), section, ToValue(section, node).value_or(Value()));
      }
    }
    if (!ignored_.empty()) NoteIgnored();
  }

 private:
  static Argument Written(absl::string_view name, const YamlNode& node) {
    const bool scalar = node.kind == YamlNode::Kind::kScalar;
    return {absl::StrCat(name, scalar ? absl::StrCat("=", node.text) : ""), At(node)};
  }

  void Section(const std::string& section, const YamlNode& map) {
    const YamlNode* target = map.Find(kTarget);
    if (section == "comm_overlap") overrides_.Keep(K::comm_overlap_configured, Value(true), KeyAt(map));
    if (section == "mixed_precision") overrides_.Keep(K::mixed_precision_configured, Value(true), KeyAt(map));
    if (section == "peft" && target != nullptr) overrides_.KeepAdapters(target->text, At(*target));
    if (section == "dataset" && target != nullptr) {
      overrides_.Keep(K::dataset_kind, Value(DatasetKindOf(LastPart(target->text))), At(*target));
    }
    if (!OverrideReader::KnowsSection(section) && section != "env_vars") {
      return overrides_.Refuse({section, KeyAt(map)}, OverrideReader::kUnknown, Printable(section),
                               OverrideReader::UnknownSection(section));
    }
    for (const auto& [field, node] : map.keys) {
      if (!absl::StartsWith(field, "_")) Field(section, field, node, map, target != nullptr);
    }
  }

  void Field(const std::string& section, const std::string& field, const YamlNode& node, const YamlNode& map,
             bool dumped) {
    const std::string name = absl::StrCat(section, ".", field);
    const bool specs = section == "dataset" && field == "offline_packing_specs";
    if (specs && node.kind == YamlNode::Kind::kMap) {
      overrides_.Keep(K::dataset_offline_packing_specs, Value(true), At(node));
      for (const auto& [inner, value] : node.keys) {
        const std::string path = absl::StrCat(field, ".", inner);
        if (FindBridgeField(section, path).has_value()) Known(section, path, value);
      }
      return;
    }
    if (specs || section == "env_vars" || FindBridgeField(section, field).has_value()) {
      return Known(section, field, node);
    }
    if (!dumped) return overrides_.Unknown(Written(name, node), section, field);
    const absl::string_view nearest = OverrideReader::NearestField(section, field);
    if (!nearest.empty() && map.Find(nearest) == nullptr) {
      return overrides_.Refuse({name, KeyAt(node)}, OverrideReader::kUnknown, Printable(name),
                               absl::StrCat("the class has no such field; did you mean ", nearest, "?"));
    }
    if (OverrideReader::LooksInside(section)) ignored_.push_back(name);
  }

  void Known(absl::string_view section, absl::string_view field, const YamlNode& node) {
    const std::string name = absl::StrCat(section, ".", field);
    const absl::StatusOr<Value> value = ToValue(name, node);
    const std::optional<K> knob = FindBridgeField(section, field);
    const ValueType type = knob.has_value() ? Row(*knob).type : ValueType::kAny;
    const bool one = type == ValueType::kBool || type == ValueType::kInt || type == ValueType::kFloat;
    if (!value.ok() && one && node.Find(kTarget) == nullptr) {
      return overrides_.Refuse(Written(name, node), OverrideReader::kUnreadable, Printable(name),
                               "one value, not a mapping");
    }
    if (!value.ok()) {
      return NotJudged(At(node), name, std::string(value.status().message()));
    }
    overrides_.ReadField(Written(name, node), section, field, *value);
  }

  // A value as the dumper writes it: `{_target_: torch.bfloat16, _call_: false}` is a dtype or a function,
  // `{_target_: ...AttnBackend, _args_: [1], _name_: flash}` a member of an enumeration.
  absl::StatusOr<Value> ToValue(absl::string_view name, const YamlNode& node) {
    switch (node.kind) {
      case YamlNode::Kind::kNull:
        return Value();
      case YamlNode::Kind::kScalar:
        return YamlScalar(node);
      case YamlNode::Kind::kList: {
        Value::List items;
        for (const YamlNode& item : node.items) {
          if (items.size() >= kMaxListItems) return absl::InvalidArgumentError("a list of too many items");
          absl::StatusOr<Value> value = ToValue(name, item);
          if (!value.ok()) return value;
          items.push_back(*std::move(value));
        }
        return Value(std::move(items));
      }
      case YamlNode::Kind::kMap:
        break;
    }
    if (const YamlNode* member = node.Find("_name_")) return Value(member->text);
    const YamlNode* target = node.Find(kTarget);
    const YamlNode* call = node.Find("_call_");
    if (target != nullptr && call != nullptr && call->text == "false") {
      const absl::string_view last = LastPart(target->text);
      return Value(absl::StartsWith(target->text, "torch.") && !absl::EndsWith(name, "_func") ? target->text : last);
    }
    if (target != nullptr) return absl::InvalidArgumentError("an object; its fields are not looked at");
    return absl::InvalidArgumentError("a mapping; its keys are not looked at");
  }

  void NotJudged(SourcePosition at, const std::string& seen, std::string needs) {
    KeepFinding(MakeParseFinding(at, "input.not-judged", Severity::kInfo, Printable(seen, 2000), std::move(needs),
                                 "Megatron-LM:megatron/training/config/container.py:140"),
                &out_->findings);
  }

  void NoteIgnored() {
    NotJudged({}, absl::StrCat(ignored_.size(), " fields: ", FirstNames(ignored_, ", ", kNamedFields)),
              "no rule looks at them");
  }

  OverrideReader overrides_;
  ParseResult* out_;
  std::vector<std::string> ignored_;
};

}  // namespace

bool IsBridgeYaml(absl::string_view text) {
  absl::string_view section;
  int known = 0, unknown = 0;
  bool holder = false;  // the lines are of a mapping that others are made of
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    Work::Spend(1 + line.size());
    const absl::string_view key = absl::StripAsciiWhitespace(line.substr(0, line.find(':')));
    if (key.empty() || key[0] == '#' || key == "---") continue;
    if (!absl::StrContains(line, ':')) {
      if (line[0] != ' ') return false;
      continue;
    }
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(line.find(':') + 1));
    const bool named = OverrideReader::KnowsSection(key) || key == "env_vars" || key[0] == '_';
    if (line[0] != ' ') {
      holder = !named && absl::StartsWith(value, "&");
      section = holder ? "" : key;
      if (!named && !holder && key != kYamlMerge) return false;
    } else if (holder && OverrideReader::KnowsSection(key) && (value.empty() || value[0] == '&')) {
      section = key;
    } else if (holder && section.empty()) {  // fields of whatever section takes them
      known += FindBridgeField("model", key).has_value() ? 1 : 0;
    } else if (OverrideReader::LooksInside(section) && key != kYamlMerge) {
      ++(FindBridgeField(section, key).has_value() ? known : unknown);
    }
  }
  return known >= 2 && known > unknown;
}

namespace {

// Mappings of names of their own, at the root, that others are made of: `base: &base`. A container has no such section,
// and the file's reader passes over it (omegaconf_utils.py:470).
void DropHolders(absl::string_view text, YamlNode* root) {
  std::set<absl::string_view> holders;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos || line[0] == ' ' || line[0] == '#') continue;
    const absl::string_view key = line.substr(0, colon);
    const bool anchored = absl::StartsWith(absl::StripLeadingAsciiWhitespace(line.substr(colon + 1)), "&");
    if (anchored && !OverrideReader::KnowsSection(key) && key != "env_vars") holders.insert(key);
  }
  const auto held = [&](const auto& entry) {
    return holders.count(entry.first) > 0 && entry.second.kind == YamlNode::Kind::kMap;
  };
  root->keys.erase(std::remove_if(root->keys.begin(), root->keys.end(), held), root->keys.end());
}

}  // namespace

ParseResult ParseBridgeYaml(absl::string_view text, const Environment& env) {
  ParseResult result;
  const int release = NearestRelease(kBridgeReleases, env.bridge_release);
  absl::StatusOr<YamlDocument> document = ParseYaml("config", text, YamlAliases::kMerged);
  OverrideReader faults(release, &result);
  if (!document.ok()) {
    faults.Refuse({"", {}}, OverrideReader::kUnreadable, "the YAML file", std::string(document.status().message()));
  } else if (document->root.kind != YamlNode::Kind::kMap) {
    faults.Refuse({"", {-1, 1, 1}}, OverrideReader::kUnreadable, "the YAML file",
                  "expected the sections of a configuration container: model, train, optimizer ...");
  } else {
    DropHolders(text, &document->root);
    if (!NamesModel(document->root)) result.elsewhere = "in the recipe that this file is merged over";
    Reader(release, &result).Container(document->root);
  }
  return result;
}

}  // namespace flightplan
