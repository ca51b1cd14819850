#include "resolver/plan/value.h"

#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "rapidjson/document.h"
#include "rapidjson/error/en.h"
#include "resolver/base/status_macros.h"

namespace flightplan {
namespace {

constexpr unsigned kJsonFlags = rapidjson::kParseNanAndInfFlag | rapidjson::kParseIterativeFlag |
                                rapidjson::kParseFullPrecisionFlag | rapidjson::kParseValidateEncodingFlag;
constexpr int kMaxDepth = 16;

absl::StatusOr<Value> FromNode(const rapidjson::Value& node, int depth) {
  if (depth > kMaxDepth) return absl::InvalidArgumentError("value nests deeper than 16 lists");
  if (node.IsNull()) return Value();
  if (node.IsBool()) return Value(node.GetBool());
  if (node.IsInt64()) return Value(node.GetInt64());
  if (node.IsNumber()) return Value(node.GetDouble());
  if (node.IsString()) return Value(absl::string_view(node.GetString(), node.GetStringLength()));
  if (!node.IsArray()) return absl::InvalidArgumentError("an object is no knob value; give a scalar or a list");
  Value::List items;
  items.reserve(node.Size());
  for (const auto& child : node.GetArray()) {
    FLIGHTPLAN_ASSIGN_OR_RETURN(Value item, FromNode(child, depth + 1));
    items.push_back(std::move(item));
  }
  return Value(std::move(items));
}

std::string RealText(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "Infinity" : "-Infinity";
  std::string shortest = absl::StrFormat("%.15g", v);
  if (std::strtod(shortest.c_str(), nullptr) != v) shortest = absl::StrFormat("%.17g", v);
  if (shortest.find_first_of(".eE") == std::string::npos) shortest += ".0";
  return shortest;
}

}  // namespace

bool Value::truthy() const {
  switch (rep_.index()) {
    case 1:
      return std::get<bool>(rep_);
    case 2:
      return std::get<int64_t>(rep_) != 0;
    case 3:
      return std::get<double>(rep_) != 0;
    case 4:
      return !text().empty();
    case 5:
      return !list().empty();
    default:
      return false;
  }
}

int64_t Value::integer() const {
  if (is_bool()) return std::get<bool>(rep_) ? 1 : 0;
  if (is_int()) return std::get<int64_t>(rep_);
  if (!is_float()) return 0;
  double v = std::get<double>(rep_);
  return std::abs(v) < 9e18 ? static_cast<int64_t>(v) : 0;
}

double Value::real() const { return is_float() ? std::get<double>(rep_) : static_cast<double>(integer()); }

absl::string_view Value::text() const {
  return is_text() ? absl::string_view(*std::get<4>(rep_)) : absl::string_view();
}

const Value::List& Value::list() const {
  static const List* const kEmpty = new List();
  return is_list() ? *std::get<5>(rep_) : *kEmpty;
}

std::string Value::ToJson() const {
  switch (rep_.index()) {
    case 1:
      return std::get<bool>(rep_) ? "true" : "false";
    case 2:
      return absl::StrCat(std::get<int64_t>(rep_));
    case 3:
      return RealText(std::get<double>(rep_));
    case 4:
      return absl::StrCat("\"", absl::Utf8SafeCEscape(text()), "\"");
    case 5:
      return absl::StrCat(
          "[", absl::StrJoin(list(), ",", [](std::string* out, const Value& v) { absl::StrAppend(out, v.ToJson()); }),
          "]");
    default:
      return "null";
  }
}

std::string Value::ToText() const {
  if (is_text()) return std::string(text());
  if (is_list()) {
    return absl::StrJoin(list(), ",", [](std::string* out, const Value& v) { absl::StrAppend(out, v.ToText()); });
  }
  return is_none() ? "none" : ToJson();
}

bool operator==(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number() && (a.is_float() || b.is_float())) return a.real() == b.real();
  if (a.rep_.index() != b.rep_.index()) return false;
  if (a.is_text()) return a.text() == b.text();
  if (a.is_list()) return a.list() == b.list();
  return a.rep_ == b.rep_;
}

absl::StatusOr<Value> ValueFromJson(absl::string_view json) {
  rapidjson::Document document;
  document.Parse<kJsonFlags>(json.data(), json.size());
  if (document.HasParseError()) {
    return absl::InvalidArgumentError(absl::StrCat("not JSON at offset ", document.GetErrorOffset(), ": ",
                                                   rapidjson::GetParseError_En(document.GetParseError())));
  }
  return FromNode(document, 0);
}

}  // namespace flightplan
