#include "resolver/stacks/loongforge/yaml.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "resolver/base/yaml.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/read/yaml_knobs.h"

namespace flightplan {
namespace {

using K = Knob;

constexpr absl::string_view kSource = "LoongForge:loongforge/train/validators.py:79";
constexpr absl::string_view kComposition = "LoongForge:loongforge/train/parser.py:131";

// A resolver that LoongForge registers: act, moe_freq, position_func, loss_func.
bool IsNameResolver(absl::string_view name) {
  return name == "act" || name == "moe_freq" || name == "position_func" || name == "loss_func";
}

absl::string_view Unquoted(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  for (absl::string_view quote : {"\"", "'"}) {
    if (text.size() >= 2 && absl::StartsWith(text, quote) && absl::EndsWith(text, quote)) {
      return text.substr(1, text.size() - 2);
    }
  }
  return text;
}

// OmegaConf's ${...} as the whole value: ${oc.env:NAME}, ${oc.env:NAME,default}, ${moe_freq:"[0]*3+[1]*58"}.
std::optional<std::string> Substitute(const YamlNode& node, YamlKnobs* reader) {
  absl::string_view text = node.text;
  if (!absl::StrContains(text, "${")) return node.text;
  const auto unknown = [&](std::string needs) {
    reader->Report(YamlKnobs::At(node), "input.not-judged", Severity::kInfo, Printable(node.text), std::move(needs));
    return std::nullopt;
  };
  if (!absl::ConsumePrefix(&text, "${") || !absl::ConsumeSuffix(&text, "}") || absl::StrContains(text, "${")) {
    return unknown("a value made of several references is not followed");
  }
  const size_t colon = text.find(':');
  if (colon == absl::string_view::npos) return unknown("a reference to another key is not followed");
  const absl::string_view name = text.substr(0, colon);
  const absl::string_view argument = text.substr(colon + 1);
  if (IsNameResolver(name)) return std::string(Unquoted(argument));
  if (name != "oc.env") return unknown(absl::StrCat("the resolver ", Printable(name), " is not known"));
  const size_t comma = argument.find(',');
  const std::string variable(absl::StripAsciiWhitespace(argument.substr(0, comma)));
  const auto set = reader->env().vars.find(variable);
  if (set != reader->env().vars.end()) return set->second;
  if (comma != absl::string_view::npos) return std::string(Unquoted(argument.substr(comma + 1)));
  reader->Report(YamlKnobs::At(node), "mlm.argparse", Severity::kError, Printable(node.text),
                 absl::StrCat("the environment variable ", Printable(variable), " must be set"));
  return std::nullopt;
}

// `target`: the class that the map builds; a field of its own is no slip.
void ReadArguments(const YamlNode& map, absl::string_view target, YamlKnobs* reader) {
  for (const auto& [key, node] : map.keys) {
    if (key == "model_type" && node.kind == YamlNode::Kind::kScalar) {
      reader->Keep(K::model_family, Value(node.text), node);
    } else if (const auto knob = LoongForgeKey(key); knob.has_value()) {
      if (node.kind != YamlNode::Kind::kMap) reader->Take(*knob, node, Substitute);
    } else if (const absl::string_view nearest = NearestKnobName(key);
               !nearest.empty() && !IsLoongForgeStructure(key) &&
               (target.empty() || !LoongForgeClassTakes(target, key))) {
      reader->Report(YamlKnobs::AtKey(node), "lf.yaml-unknown-key", Severity::kWarning, Printable(key),
                     absl::StrCat("no argument has this name, so LoongForge passes over it; the nearest is ", nearest));
    }
  }
}

absl::string_view TargetOf(const YamlNode& map) {
  const YamlNode* const target = map.Find("_target_");
  return target != nullptr ? absl::string_view(target->text) : "";
}

void ReadComponents(const YamlNode& model, YamlKnobs* reader) {
  const YamlNode* chosen = nullptr;
  std::string name;
  std::vector<std::string> others;
  for (const auto& [key, node] : model.keys) {
    if (node.kind != YamlNode::Kind::kMap) continue;
    const bool foundation = absl::StrContains(key, "foundation");
    if (chosen != nullptr && !foundation) {
      others.push_back(Printable(key));
      continue;
    }
    if (chosen != nullptr) others.push_back(name);
    chosen = &node;
    name = Printable(key);
  }
  if (chosen == nullptr) return ReadArguments(model, TargetOf(model), reader);
  // What the whole model says goes first: the component's own words win.
  for (const auto& [key, node] : model.keys) {
    if (key == "model_type" && node.kind == YamlNode::Kind::kScalar) {
      reader->Keep(K::model_family, Value(node.text), node);
    }
  }
  reader->Keep(K::model_component, Value(name), *chosen);
  for (const auto& [key, node] : chosen->keys) {
    if (key == "model_type") continue;
    YamlNode one;
    one.kind = YamlNode::Kind::kMap;
    one.keys.emplace_back(key, node);
    ReadArguments(one, TargetOf(*chosen), reader);
  }
  if (others.empty()) return;
  reader->Report(YamlKnobs::AtKey(*chosen), "input.not-judged", Severity::kInfo, absl::StrJoin(others, ", "),
                 absl::StrCat("LoongForge judges each component on its own; this answer is for ", name));
}

}  // namespace

ParseResult ParseLoongForgeYaml(absl::string_view text, const Environment& env) {
  YamlKnobs reader(env, kSource, YamlKnobs::Numbers::kAny);
  const absl::StatusOr<YamlDocument> document = ParseYaml("config-file", text);
  if (!document.ok()) {
    reader.Report({}, "mlm.argparse", Severity::kError, "the YAML file", std::string(document.status().message()));
    return reader.Finish();
  }
  if (document->root.kind != YamlNode::Kind::kMap) {
    reader.Report({-1, 1, 1}, "mlm.argparse", Severity::kError, "the YAML file", "expected a map of arguments");
    return reader.Finish();
  }
  const YamlNode& root = document->root;
  if (const YamlNode* defaults = root.Find("defaults"); defaults != nullptr) {
    reader.Report(YamlKnobs::At(*defaults), "input.not-judged", Severity::kInfo, "defaults",
                  absl::StrCat("the files that Hydra puts under this one are not read (", kComposition, ")"));
  }
  const YamlNode* model = root.Find("model");
  if (model != nullptr && model->kind == YamlNode::Kind::kMap) {
    ReadComponents(*model, &reader);
  } else {
    ReadArguments(root, TargetOf(root), &reader);
  }
  ParseResult read = reader.Finish();
  for (ParsedKnob& knob : read.knobs) knob.origin = Origin::kModel;
  return read;
}

}  // namespace flightplan
