#include "resolver/render/megatron_lm_yaml.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/base/yaml.h"
#include "resolver/render/argparse.h"

namespace flightplan {
namespace {

using K = Knob;

SourcePosition At(const YamlNode& node) { return {-1, node.line, node.column}; }

// YAML 1.1 as PyYAML reads it: yes and on are true.
std::optional<bool> ReadBool(absl::string_view text) {
  for (absl::string_view word : {"true", "True", "TRUE", "yes", "Yes", "on", "On"}) {
    if (text == word) return true;
  }
  for (absl::string_view word : {"false", "False", "FALSE", "no", "No", "off", "Off"}) {
    if (text == word) return false;
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(const Environment& env) : env_(env) {}

  void Map(const YamlNode& map) {
    for (const auto& [key, node] : map.keys) {
      if (node.kind == YamlNode::Kind::kMap) {
        Map(node);  // language_model, model_parallel: only a grouping
      } else {
        Field(key, node);
      }
    }
  }

  ParseResult Take() { return std::move(result_); }

  void Report(SourcePosition at, absl::string_view rule_id, Severity severity, std::string seen, std::string needs) {
    if (result_.findings.size() >= kMaxParseFindings) return;
    ParseFinding& entry = result_.findings.emplace_back();
    entry.at = at;
    entry.finding.rule_id = rule_id;
    entry.finding.area = "cli";
    entry.finding.severity = severity;
    entry.finding.stage = "parse";
    entry.finding.seen = std::move(seen);
    entry.finding.needs = std::move(needs);
    entry.finding.source = "Megatron-LM:megatron/training/yaml_arguments.py:1";
  }

 private:
  void Field(const std::string& key, const YamlNode& node) {
    if (key == "activation_func" && node.text == "swiglu") return Keep(K::swiglu, true, node);
    const auto knob = FindKnob(key);
    if (!knob.has_value()) {
      const absl::string_view nearest = NearestKnobName(key);
      return Report({-1, node.key_line, node.key_column}, "mlm.yaml-unknown-key", Severity::kWarning, Printable(key),
                    nearest.empty() ? "Megatron-LM reads the key and never looks at it"
                                    : absl::StrCat("Megatron-LM never looks at it; the nearest is ", nearest));
    }
    if (node.kind == YamlNode::Kind::kNull) return Keep(*knob, Value(), node);
    const std::optional<Value> value = node.kind == YamlNode::Kind::kList ? List(*knob, node) : Scalar(*knob, node);
    if (value.has_value()) Keep(*knob, *value, node);
  }

  void Keep(K knob, Value value, const YamlNode& node) { result_.knobs.push_back({knob, std::move(value), At(node)}); }

  std::optional<Value> List(K knob, const YamlNode& node) {
    Value::List items;
    for (const YamlNode& item : node.items) {
      if (items.size() >= kMaxListItems) {
        Report(At(item), "input.limit", Severity::kError, std::string(Name(knob)),
               absl::StrCat("at most ", kMaxListItems, " items"));
        return std::nullopt;
      }
      const std::optional<Value> value = Scalar(knob, item);
      if (!value.has_value()) return std::nullopt;
      items.push_back(*value);
    }
    return Value(std::move(items));
  }

  std::optional<Value> Scalar(K knob, const YamlNode& node) {
    const std::optional<std::string> text = Substitute(node);
    if (!text.has_value()) return std::nullopt;
    const ValueType type = Row(knob).type;
    if (type == ValueType::kBool) {
      const std::optional<bool> value = ReadBool(*text);
      if (value.has_value()) return Value(*value);
      return Refuse(knob, node, "expected true or false");
    }
    if (*text == "None" || *text == "null" || *text == "~") return Value();
    if (node.kind != YamlNode::Kind::kScalar) return Refuse(knob, node, "expected a single value");
    const bool pattern = type == ValueType::kFreq && !absl::StrContains(*text, "[");
    const absl::StatusOr<Value> value = ReadFlagValue(*text, pattern ? ValueType::kInt : type);
    if (!value.ok()) return Refuse(knob, node, std::string(value.status().message()));
    return *value;
  }

  std::optional<Value> Refuse(K knob, const YamlNode& node, std::string needs) {
    Report(At(node), "mlm.argparse", Severity::kError, absl::StrCat(Name(knob), " ", Printable(node.text)),
           std::move(needs));
    return std::nullopt;
  }

  // Replaces ${NAME}; an unset one stops upstream.
  std::optional<std::string> Substitute(const YamlNode& node) {
    std::string out;
    for (size_t at = 0; at < node.text.size();) {
      const size_t open = node.text.find("${", at);
      const size_t close = open == std::string::npos ? open : node.text.find('}', open);
      if (close == std::string::npos) return out + node.text.substr(at);
      const std::string name = node.text.substr(open + 2, close - open - 2);
      const auto it = env_.vars.find(name);
      if (it == env_.vars.end()) {
        Report(At(node), "mlm.argparse", Severity::kError, Printable(node.text),
               absl::StrCat("the environment variable ", Printable(name), " must be set"));
        return std::nullopt;
      }
      out += node.text.substr(at, open - at) + it->second;
      at = close + 1;
    }
    return out;
  }

  const Environment& env_;
  ParseResult result_;
};

}  // namespace

ParseResult ParseMegatronLmYaml(absl::string_view text, const Environment& env) {
  Reader reader(env);
  const absl::StatusOr<YamlDocument> document = ParseYaml("yaml-cfg", text);
  if (!document.ok()) {
    reader.Report({}, "mlm.argparse", Severity::kError, "the YAML file", std::string(document.status().message()));
  } else if (document->root.kind != YamlNode::Kind::kMap) {
    reader.Report({-1, 1, 1}, "mlm.argparse", Severity::kError, "the YAML file", "expected a map of arguments");
  } else {
    reader.Map(document->root);
  }
  return reader.Take();
}

}  // namespace flightplan
