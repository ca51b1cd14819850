#include "resolver/catalog/yaml_value.h"

#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "resolver/base/status_macros.h"

namespace flightplan {
namespace {

// An optional sign and digits only.
bool LooksLikeInteger(absl::string_view text) {
  if (absl::StartsWith(text, "-") || absl::StartsWith(text, "+")) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos;
}

// The number forms of YAML 1.2: no hexadecimal floats, no bare "nan" or "infinity".
bool LooksLikeFloat(absl::string_view text) {
  return text.find_first_of("0123456789") != absl::string_view::npos &&
         text.find_first_not_of("+-.0123456789eE") == absl::string_view::npos;
}

absl::StatusOr<Value> FromScalar(absl::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return Value(true);
  if (text == "false" || text == "False" || text == "FALSE") return Value(false);
  if (LooksLikeInteger(text)) {
    int64_t integer = 0;
    if (absl::SimpleAtoi(text, &integer)) return Value(integer);
    return absl::InvalidArgumentError("is an integer beyond 64 bits");
  }
  if (double real = 0; LooksLikeFloat(text) && absl::SimpleAtod(text, &real)) return Value(real);
  if (text == ".inf" || text == "+.inf") return Value(std::numeric_limits<double>::infinity());
  if (text == "-.inf") return Value(-std::numeric_limits<double>::infinity());
  if (text == ".nan") return Value(std::numeric_limits<double>::quiet_NaN());
  return Value(text);
}

}  // namespace

absl::StatusOr<Value> ValueFromYaml(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return Value();
    case YamlNode::Kind::kScalar:
      if (node.quoted) return Value(node.text);
      return FromScalar(node.text);
    case YamlNode::Kind::kList: {
      Value::List items;
      items.reserve(node.items.size());
      for (const YamlNode& item : node.items) {
        FLIGHTPLAN_ASSIGN_OR_RETURN(Value value, ValueFromYaml(item));
        items.push_back(std::move(value));
      }
      return Value(std::move(items));
    }
    case YamlNode::Kind::kMap:
      return absl::InvalidArgumentError("is a mapping; needs a plain value or a list");
  }
  return absl::InternalError("unknown YAML node");
}

}  // namespace flightplan
