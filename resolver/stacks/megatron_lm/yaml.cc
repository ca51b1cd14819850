#include "resolver/stacks/megatron_lm/yaml.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/base/work.h"
#include "resolver/base/yaml.h"
#include "resolver/read/yaml_knobs.h"
#include "resolver/stacks/megatron_lm/functional_tests.h"

namespace flightplan {
namespace {

constexpr absl::string_view kSource = "Megatron-LM:megatron/training/yaml_arguments.py:1";

// Replaces ${NAME}; an unset one stops upstream.
std::optional<std::string> Substitute(const YamlNode& node, YamlKnobs* reader) {
  std::string out;
  for (size_t at = 0; at < node.text.size();) {
    const size_t open = node.text.find("${", at);
    const size_t close = open == std::string::npos ? open : node.text.find('}', open);
    if (close == std::string::npos) return out + node.text.substr(at);
    const std::string name = node.text.substr(open + 2, close - open - 2);
    const auto it = reader->env().vars.find(name);
    if (it == reader->env().vars.end()) {
      reader->Report(YamlKnobs::At(node), "mlm.argparse", Severity::kError, Printable(node.text),
                     absl::StrCat("the environment variable ", Printable(name), " must be set"));
      return std::nullopt;
    }
    out += node.text.substr(at, open - at) + it->second;
    at = close + 1;
  }
  return out;
}

void ReadField(const std::string& key, const YamlNode& node, YamlKnobs* reader) {
  if (key == "activation_func" && node.text == "swiglu") return reader->Keep(Knob::swiglu, true, node);
  const auto knob = FindKnob(key);
  if (knob.has_value()) return reader->Take(*knob, node, Substitute);
  const absl::string_view nearest = NearestKnobName(key);
  reader->Report(YamlKnobs::AtKey(node), "mlm.yaml-unknown-key", Severity::kWarning, Printable(key),
                 nearest.empty() ? "Megatron-LM reads the key and never looks at it"
                                 : absl::StrCat("Megatron-LM never looks at it; the nearest is ", nearest));
}

void ReadMap(const YamlNode& map, YamlKnobs* reader) {
  for (const auto& [key, node] : map.keys) {
    if (node.kind == YamlNode::Kind::kMap) {
      ReadMap(node, reader);  // language_model, model_parallel: only a grouping
    } else {
      ReadField(key, node, reader);
    }
  }
}

// Of text alone: a file with a slip in it is still the file that it was meant to be.
struct KeyCounts {
  int known = 0, others = 0;
};
KeyCounts CountKeys(absl::string_view text) {
  KeyCounts counts;
  bool inside = true;  // at the root, or in one of the groups
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    Work::Spend(1 + line.size());
    const size_t colon = line.find(':');
    const absl::string_view key = absl::StripAsciiWhitespace(line.substr(0, colon));
    if (colon == absl::string_view::npos || key.empty() || key[0] == '#' || key[0] == '-') continue;
    if (line[0] != ' ') {
      const bool group = key == "language_model" || key == "model_parallel";
      inside = group || !absl::StripAsciiWhitespace(line.substr(colon + 1)).empty();
      if (group) ++counts.known;
      if (group || !inside) continue;
    }
    if (inside) ++(FindKnob(key).has_value() ? counts.known : counts.others);
  }
  return counts;
}

}  // namespace

bool HasArgumentsOfMegatronLm(absl::string_view text) {
  if (IsFunctionalTest(text)) return true;
  const KeyCounts counts = CountKeys(text);
  return counts.known > 0 && counts.known >= counts.others;
}

ParseResult ParseMegatronLmYaml(absl::string_view text, const Environment& env) {
  YamlKnobs reader(env, kSource);
  // Those of the functional tests share their arguments by anchors, and some write one twice.
  const bool test = IsFunctionalTest(text);
  const absl::StatusOr<YamlDocument> document =  // yaml.safe_load: yaml_arguments.py:444
      test ? ParseYaml("model_config", text, YamlAliases::kMerged, {.keys = YamlKeys::kLastHolds})
           : ParseYaml("yaml-cfg", text, YamlAliases::kMerged);
  if (test && document.ok()) return ParseFunctionalTest(document->root, env);
  if (!document.ok()) {
    reader.Report({}, "mlm.argparse", Severity::kError, "the YAML file", std::string(document.status().message()));
  } else if (document->root.kind != YamlNode::Kind::kMap) {
    reader.Report({-1, 1, 1}, "mlm.argparse", Severity::kError, "the YAML file", "expected a map of arguments");
  } else {
    ReadMap(document->root, &reader);
  }
  return reader.Finish();
}

}  // namespace flightplan
