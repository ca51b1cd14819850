#include "resolver/read/yaml_knobs.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "resolver/read/argparse.h"
#include "resolver/read/yaml_scalar.h"

namespace flightplan {
void YamlKnobs::Take(Knob knob, const YamlNode& node, Substitution substitute) {
  if (node.kind == YamlNode::Kind::kNull) return Keep(knob, Value(), node);
  const std::optional<Value> value =
      node.kind == YamlNode::Kind::kList ? List(knob, node, substitute) : Scalar(knob, node, substitute);
  if (value.has_value()) Keep(knob, *value, node);
}

void YamlKnobs::Keep(Knob knob, Value value, const YamlNode& node) {
  result_.knobs.push_back({knob, std::move(value), At(node)});
}

void YamlKnobs::Report(SourcePosition at, absl::string_view rule_id, Severity severity, std::string seen,
                       std::string needs) {
  KeepFinding(MakeParseFinding(at, rule_id, severity, std::move(seen), std::move(needs), source_), &result_.findings);
}

std::optional<Value> YamlKnobs::List(Knob knob, const YamlNode& node, Substitution substitute) {
  Value::List items;
  for (const YamlNode& item : node.items) {
    if (items.size() >= kMaxListItems) {
      Report(At(item), "input.limit", Severity::kError, std::string(Name(knob)),
             absl::StrCat("at most ", kMaxListItems, " items"));
      return std::nullopt;
    }
    const std::optional<Value> value = Scalar(knob, item, substitute);
    if (!value.has_value()) return std::nullopt;
    items.push_back(*value);
  }
  return Value(std::move(items));
}

std::optional<Value> YamlKnobs::Scalar(Knob knob, const YamlNode& node, Substitution substitute) {
  const std::optional<std::string> text = substitute(node, this);
  if (!text.has_value()) return std::nullopt;
  const ValueType type = Row(knob).type;
  if (type == ValueType::kBool) {
    const std::optional<bool> value = YamlBool(*text);
    if (value.has_value()) return Value(*value);
    return Refuse(knob, node, "expected true or false");
  }
  if (*text == "None" || *text == "null" || *text == "~") return Value();
  if (node.kind != YamlNode::Kind::kScalar) return Refuse(knob, node, "expected a single value");
  const bool pattern = type == ValueType::kFreq && !absl::StrContains(*text, "[");
  const absl::StatusOr<Value> value = ReadFlagValue(*text, pattern ? ValueType::kInt : type);
  if (value.ok()) return *value;
  if (numbers_ == Numbers::kAny && type == ValueType::kInt) {
    if (const absl::StatusOr<Value> number = ReadFlagValue(*text, ValueType::kFloat); number.ok()) return *number;
  }
  return Refuse(knob, node, std::string(value.status().message()));
}

std::optional<Value> YamlKnobs::Refuse(Knob knob, const YamlNode& node, std::string needs) {
  Report(At(node), "mlm.argparse", Severity::kError, absl::StrCat(Name(knob), " ", Printable(node.text)),
         std::move(needs));
  return std::nullopt;
}

}  // namespace flightplan
