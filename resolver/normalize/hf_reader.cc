#include "resolver/normalize/hf_reader.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

using Json = rapidjson::Value;

constexpr size_t kMaxItems = 100000;

const Json* FindIn(const Json& object, absl::string_view path) {
  const Json* node = &object;
  for (absl::string_view part : absl::StrSplit(path, '.')) {
    if (!node->IsObject()) return nullptr;
    auto it = node->FindMember(Json(part.data(), static_cast<rapidjson::SizeType>(part.size())));
    if (it == node->MemberEnd()) return nullptr;
    node = &it->value;
  }
  return node;
}

absl::string_view TypeName(const Json& node) {
  if (node.IsNull()) return "null";
  if (node.IsBool()) return node.GetBool() ? "true" : "false";
  if (node.IsString()) return "a text";
  if (node.IsArray()) return "a list";
  if (node.IsObject()) return "an object";
  return "a number";
}

std::optional<Value> ScalarValue(const Json& node) {
  if (node.IsBool()) return Value(node.GetBool());
  if (node.IsInt64()) return Value(node.GetInt64());
  if (node.IsNumber()) return Value(node.GetDouble());
  if (node.IsString()) return Value(absl::string_view(node.GetString(), node.GetStringLength()));
  return std::nullopt;
}

bool Suits(ValueType type, const Value& value) {
  const auto number = [](const Value& v) { return v.is_number() && std::isfinite(v.real()); };
  switch (type) {
    case ValueType::kBool:
      return value.is_bool();
    case ValueType::kInt:
      return value.is_int();
    case ValueType::kFloat:
      return number(value);
    case ValueType::kString:
      return value.is_text();
    case ValueType::kFloatList:
      return number(value) || value.is_list();
    case ValueType::kIntList:
    case ValueType::kTuple:
    case ValueType::kFreq:
      return value.is_int() || value.is_list();
    case ValueType::kStringList:
      return value.is_text() || value.is_list();
    case ValueType::kAny:
      return true;
  }
  return false;
}

}  // namespace

absl::string_view HfTextPath(const Json& root) {
  for (absl::string_view path : {"text_config.", "thinker_config.text_config.", "llm_config.", "language_config."}) {
    const Json* text = FindIn(root, absl::StripSuffix(path, "."));
    if (text != nullptr && text->IsObject()) return path;
  }
  return "";
}

HfReader::HfReader(const Json& root, ModelSpec* model, std::vector<std::string>* notes)
    : root_(root), text_(&root), text_path_(HfTextPath(root)), model_(model), notes_(notes) {
  if (!text_path_.empty()) text_ = FindIn(root, absl::StripSuffix(text_path_, "."));
}

const Json* HfReader::Find(absl::string_view path) const {
  const Json* node = FindIn(*text_, path);
  return node != nullptr || text_ == &root_ ? node : FindIn(root_, path);
}

bool HfReader::Has(absl::string_view path) const {
  const Json* node = Find(path);
  return node != nullptr && !node->IsNull();
}

bool HfReader::InRoot(absl::string_view key) const {
  for (const std::string& path : {std::string(key), absl::StrCat("thinker_config.", key)}) {
    if (const Json* found = FindIn(root_, path); found != nullptr && found->IsObject()) return true;
  }
  return false;
}

absl::Status HfReader::Error(absl::string_view path, absl::string_view what) const {
  const bool nested = text_ != &root_ && (FindIn(*text_, path) != nullptr || FindIn(root_, path) == nullptr);
  return absl::InvalidArgumentError(absl::StrCat("$.", nested ? text_path_ : "", path, ": ", what));
}

absl::StatusOr<std::optional<Value>> HfReader::Get(absl::string_view path) const {
  const Json* node = Find(path);
  if (node == nullptr || node->IsNull()) return std::optional<Value>();
  if (std::optional<Value> scalar = ScalarValue(*node)) return scalar;
  if (!node->IsArray() || node->Size() > kMaxItems) {
    return Error(path, absl::StrCat("is ", TypeName(*node), "; needs a plain value or a list"));
  }
  Value::List items;
  for (const Json& item : node->GetArray()) {
    std::optional<Value> scalar = ScalarValue(item);
    if (!scalar.has_value())
      return Error(path, absl::StrCat("holds ", TypeName(item), "; needs a list of plain values"));
    items.push_back(*std::move(scalar));
  }
  return std::optional<Value>(Value(std::move(items)));
}

absl::StatusOr<int64_t> HfReader::Int(absl::string_view path, int64_t fallback, int64_t min, int64_t max) const {
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::optional<Value> value, Get(path));
  if (!value.has_value()) return fallback;
  int64_t number = 0;
  if (absl::Status status = internal::ReadInt(*value, {min, max, {}}, &number); !status.ok()) {
    return Error(path, status.message());
  }
  return number;
}

absl::StatusOr<int64_t> HfReader::RequiredInt(absl::string_view path, int64_t min, int64_t max) const {
  if (!Has(path)) return Error(path, "is missing");
  return Int(path, 0, min, max);
}

absl::StatusOr<double> HfReader::Real(absl::string_view path, double fallback) const {
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::optional<Value> value, Get(path));
  if (!value.has_value()) return fallback;
  if (!value->is_number() || !std::isfinite(value->real())) {
    return Error(path, absl::StrCat("is ", Utf8Prefix(value->ToJson(), 60), "; needs a finite number"));
  }
  return value->real();
}

absl::StatusOr<bool> HfReader::Bool(absl::string_view path, bool fallback) const {
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::optional<Value> value, Get(path));
  if (!value.has_value()) return fallback;
  if (!value->is_bool()) {
    return Error(path, absl::StrCat("is ", Utf8Prefix(value->ToJson(), 60), "; needs true or false"));
  }
  return value->truthy();
}

absl::StatusOr<std::string> HfReader::Text(absl::string_view path, absl::string_view fallback) const {
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::optional<Value> value, Get(path));
  if (!value.has_value()) return std::string(fallback);
  if (!value->is_text()) return Error(path, absl::StrCat("is ", Utf8Prefix(value->ToJson(), 60), "; needs text"));
  return std::string(value->text());
}

absl::StatusOr<std::vector<int64_t>> HfReader::Ints(absl::string_view path) const {
  std::vector<int64_t> numbers;
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::optional<Value> value, Get(path));
  if (!value.has_value()) return numbers;
  const internal::Limits limits{0, int64_t{1} << 40, {}};
  if (absl::Status status = internal::ReadInts(*value, limits, &numbers); !status.ok()) {
    return Error(path, status.message());
  }
  return numbers;
}

absl::StatusOr<std::vector<std::string>> HfReader::Texts(absl::string_view path) const {
  std::vector<std::string> texts;
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::optional<Value> value, Get(path));
  if (!value.has_value()) return texts;
  if (absl::Status status = internal::ReadTexts(*value, &texts); !status.ok()) return Error(path, status.message());
  return texts;
}

absl::Status HfReader::Set(absl::string_view field, const Value& value, absl::string_view path) {
  const ModelField* known = FindModelField(field);
  if (known == nullptr) return SetKnob(field, value, path);
  if (absl::Status status = SetModelField(*known, value, model_); !status.ok()) return Error(path, status.message());
  return absl::OkStatus();
}

absl::Status HfReader::SetKnob(absl::string_view name, const Value& value, absl::string_view path) {
  const std::optional<Knob> knob = FindKnob(name);
  if (!knob.has_value()) return absl::InternalError(absl::StrCat(name, " is neither a model field nor a knob"));
  auto& knobs = model_->knobs;
  knobs.erase(std::remove_if(knobs.begin(), knobs.end(), [&](const auto& entry) { return entry.first == *knob; }),
              knobs.end());
  if (value.is_none()) return absl::OkStatus();
  if (!Suits(Row(*knob).type, value)) {
    return Error(path, absl::StrCat("is ", Utf8Prefix(value.ToJson(), 60), "; wrong type for ", name));
  }
  knobs.emplace_back(*knob, value);
  return absl::OkStatus();
}

}  // namespace flightplan
