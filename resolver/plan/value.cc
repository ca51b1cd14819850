#include "resolver/plan/value.h"

#include <charconv>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/charconv.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "rapidjson/document.h"
#include "resolver/base/json.h"
#include "resolver/base/status_macros.h"

namespace flightplan {
namespace {

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

// "%.15g" where that reads back as the same number, else "%.17g".
std::string RealText(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "Infinity" : "-Infinity";
  char text[32];
  for (const int digits : {15, 17}) {
    // libstdc++'s own charconv of floating-point numbers brings 65 kB of tables that nothing else asks for.
    const int size = absl::SNPrintF(text, sizeof(text), "%.*g", digits, v);
    double back = 0;
    absl::from_chars(text, text + size, back);
    if (back != v && digits == 15) continue;
    std::string shortest(text, static_cast<size_t>(size));
    if (shortest.find_first_of(".e") == std::string::npos) shortest += ".0";
    return shortest;
  }
  return "";
}

std::string IntText(int64_t v) {
  char text[24];
  return std::string(text, std::to_chars(text, text + sizeof(text), v).ptr);
}

}  // namespace

const Counted* Value::NewText(absl::string_view text) {
  auto* box = new Text();
  box->text.assign(text.data(), text.size());
  return box;
}

const Counted* Value::NewList(List items) {
  auto* box = new Items();
  box->items = std::move(items);
  return box;
}

void Value::Free() {
  if (is_text()) {
    delete static_cast<const Text*>(as_.shared);
  } else {
    delete static_cast<const Items*>(as_.shared);
  }
}

const Value::List& Value::EmptyList() {
  static const List* const kEmpty = new List();
  return *kEmpty;
}

int64_t Value::Truncated(double v) { return std::abs(v) < 9e18 ? static_cast<int64_t>(v) : 0; }

std::string Value::ToJson() const {
  switch (tag_) {
    case Tag::kNone:
      break;
    case Tag::kBool:
      return as_.boolean ? "true" : "false";
    case Tag::kInt:
      return IntText(as_.integer);
    case Tag::kFloat:
      return RealText(as_.real);
    case Tag::kText:
      return JsonQuoted(text());
    case Tag::kList: {
      std::string json;
      json.reserve(2 + 2 * list().size());
      char before = '[';
      for (const Value& item : list()) {
        const bool digit = item.is_int() && item.integer() >= 0 && item.integer() <= 9;  // patterns of 0 and 1
        if (digit) {
          const char words[] = {before, static_cast<char>('0' + item.integer())};
          json.append(words, 2);
        } else {
          json += before;
          json += item.ToJson();
        }
        before = ',';
      }
      if (list().empty()) json += '[';
      json += ']';
      return json;
    }
  }
  return "null";
}

std::string Value::ToText() const {
  if (is_text()) return std::string(text());
  if (is_list()) {
    return absl::StrJoin(list(), ",", [](std::string* out, const Value& v) { absl::StrAppend(out, v.ToText()); });
  }
  return is_none() ? "none" : ToJson();
}

bool operator==(const Value& a, const Value& b) {
  if (a.tag_ != b.tag_) return a.is_number() && b.is_number() && a.real() == b.real();
  switch (a.tag_) {
    case Value::Tag::kNone:
      return true;
    case Value::Tag::kBool:
      return a.as_.boolean == b.as_.boolean;
    case Value::Tag::kInt:
      return a.as_.integer == b.as_.integer;
    case Value::Tag::kFloat:
      return a.as_.real == b.as_.real;
    case Value::Tag::kText:
      return a.as_.shared == b.as_.shared || a.text() == b.text();
    case Value::Tag::kList:
      return a.as_.shared == b.as_.shared || a.list() == b.list();
  }
  return false;
}

absl::StatusOr<Value> ValueFromJson(absl::string_view json) {
  rapidjson::Document document;
  if (const auto fault = ReadJson(json, JsonNumbers::kAll, &document); fault.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("not JSON at offset ", fault->offset, ": ", fault->what));
  }
  return FromNode(document, 0);
}

}  // namespace flightplan
