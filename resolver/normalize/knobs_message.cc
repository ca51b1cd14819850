#include "resolver/normalize/knobs_message.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/finding.pb.h"
#include "flightplan/v1/knobs.pb.h"
#include "google/protobuf/descriptor.h"
#include "resolver/base/utf8.h"
#include "resolver/plan/knob_value.h"
#include "resolver/plan/layer_pattern.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

constexpr int kMaxKnobs = 4096;
constexpr int kMaxDepth = 4;

Value FromMessage(const v1::KnobValue& message, absl::string_view field, int depth, Violations* violations) {
  switch (message.kind_case()) {
    case v1::KnobValue::kBoolValue:
      return Value(message.bool_value());
    case v1::KnobValue::kIntValue:
      return Value(static_cast<int64_t>(message.int_value()));
    case v1::KnobValue::kDoubleValue:
      return Value(message.double_value());
    case v1::KnobValue::kStringValue:
      return Value(absl::string_view(message.string_value()));
    case v1::KnobValue::kListValue: {
      if (depth >= kMaxDepth) {
        violations->Add(field, "nests deeper than 4 lists");
        return Value();
      }
      Value::List items;
      for (const v1::KnobValue& item : message.list_value().values()) {
        items.push_back(FromMessage(item, field, depth + 1, violations));
      }
      return Value(std::move(items));
    }
    case v1::KnobValue::KIND_NOT_SET:
      return Value();
  }
  return Value();
}

// Field number of flightplan.v1.Knobs -> knob.
const std::map<int, Knob>& KnobsByNumber() {
  static const auto* const kMap = [] {
    auto* map = new std::map<int, Knob>();
    for (int i = 0; i < kKnobCount; ++i) {
      const Knob knob = static_cast<Knob>(i);
      if (Row(knob).proto > 0) map->emplace(Row(knob).proto, knob);
    }
    return map;
  }();
  return *kMap;
}

Value ListOf(const google::protobuf::Message& list, const google::protobuf::Reflection& reflection,
             const google::protobuf::FieldDescriptor& field) {
  const google::protobuf::Message& message = reflection.GetMessage(list, &field);
  Value::List items;
  if (const auto* ints = dynamic_cast<const v1::IntList*>(&message)) {
    for (int64_t v : ints->values()) items.emplace_back(v);
  } else if (const auto* reals = dynamic_cast<const v1::DoubleList*>(&message)) {
    for (double v : reals->values()) items.emplace_back(v);
  } else if (const auto* texts = dynamic_cast<const v1::StringList*>(&message)) {
    for (const std::string& v : texts->values()) items.emplace_back(absl::string_view(v));
  }
  return Value(std::move(items));
}

Value TypedValue(const v1::Knobs& typed, const google::protobuf::FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *typed.GetReflection();
  switch (field.cpp_type()) {
    case google::protobuf::FieldDescriptor::CPPTYPE_BOOL:
      return Value(reflection.GetBool(typed, &field));
    case google::protobuf::FieldDescriptor::CPPTYPE_INT64:
      return Value(static_cast<int64_t>(reflection.GetInt64(typed, &field)));
    case google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE:
      return Value(reflection.GetDouble(typed, &field));
    case google::protobuf::FieldDescriptor::CPPTYPE_STRING:
      return Value(absl::string_view(reflection.GetString(typed, &field)));
    case google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE:
      return ListOf(typed, reflection, field);
    case google::protobuf::FieldDescriptor::CPPTYPE_INT32:
    case google::protobuf::FieldDescriptor::CPPTYPE_UINT32:
    case google::protobuf::FieldDescriptor::CPPTYPE_UINT64:
    case google::protobuf::FieldDescriptor::CPPTYPE_FLOAT:
    case google::protobuf::FieldDescriptor::CPPTYPE_ENUM:
      break;
  }
  return Value();
}

}  // namespace

Value ValueFromMessage(const v1::KnobValue& message, absl::string_view field, Violations* violations) {
  return FromMessage(message, field, 0, violations);
}

void ValueToMessage(const Value& value, v1::KnobValue* message) {
  if (value.is_bool()) {
    message->set_bool_value(value.truthy());
  } else if (value.is_int()) {
    message->set_int_value(value.integer());
  } else if (value.is_float()) {
    message->set_double_value(value.real());
  } else if (value.is_text()) {
    message->mutable_string_value()->assign(value.text().data(), value.text().size());
  } else if (value.is_list()) {
    auto* list = message->mutable_list_value();
    for (const Value& item : value.list()) ValueToMessage(item, list->add_values());
  }
}

namespace {

// A layer pattern is the list that it stands for, as in a launch that is read.
Value Listed(Knob knob, Value value, const std::string& field, Violations* violations) {
  if (Row(knob).type != ValueType::kFreq || !value.is_text()) return value;
  const absl::StatusOr<std::vector<int64_t>> layers = ExpandLayerPattern(value.text());
  if (!layers.ok()) {
    violations->Add(field, layers.status());
    return value;
  }
  return Value(Value::List(layers->begin(), layers->end()));
}

}  // namespace

std::vector<std::pair<Knob, Value>> PinsFromMessages(const v1::Knobs& typed,
                                                     const google::protobuf::RepeatedPtrField<v1::KnobSetting>& named,
                                                     absl::string_view typed_field, absl::string_view named_field,
                                                     Violations* violations) {
  std::map<Knob, Value> pins;
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  // Reflection looks at each field there could be, and most callers write none.
  if (&typed != &v1::Knobs::default_instance()) typed.GetReflection()->ListFields(typed, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    auto knob = KnobsByNumber().find(field->number());
    if (knob == KnobsByNumber().end()) continue;
    const std::string path = absl::StrCat(typed_field, ".", field->name());
    const Value value = Listed(knob->second, TypedValue(typed, *field), path, violations);
    if (absl::Status status = CheckKnobValue(knob->second, value); !status.ok()) {
      violations->Add(path, status);
    }
    pins.emplace(knob->second, value);
  }
  if (named.size() > kMaxKnobs) {
    violations->Add(named_field, absl::StrCat("has ", named.size(), " entries, at most 4096"));
    return {};
  }
  for (int i = 0; i < named.size(); ++i) {
    const std::string path = absl::StrCat(named_field, "[", i, "]");
    const v1::KnobSetting& setting = named[i];
    const std::optional<Knob> knob = FindKnob(setting.name());
    if (!knob.has_value()) {
      const absl::string_view near = NearestKnobName(setting.name());
      violations->Add(absl::StrCat(path, ".name"),
                      absl::StrCat("no knob is called '", Utf8Prefix(setting.name(), 128), "'",
                                   near.empty() ? "" : absl::StrCat("; nearest is '", near, "'")));
      continue;
    }
    const std::string at = absl::StrCat(path, ".value");
    const Value value = Listed(*knob, ValueFromMessage(setting.value(), at, violations), at, violations);
    if (absl::Status status = CheckKnobValue(*knob, value); !status.ok()) {
      violations->Add(at, status);
    }
    auto [slot, fresh] = pins.emplace(*knob, value);
    if (!fresh && slot->second != value) {
      violations->Add(path,
                      absl::StrCat(Name(*knob), " is given twice: ", slot->second.ToText(), " and ", value.ToText()));
    }
  }
  return {pins.begin(), pins.end()};
}

void CheckModelPins(const std::vector<std::pair<Knob, Value>>& pins, absl::string_view path, Violations* violations) {
  for (const auto& [knob, value] : pins) {
    const ModelField* field = FindModelField(Name(knob));
    const bool size = field != nullptr && Row(knob).type != ValueType::kFreq;  // whose limit is that of its items
    if (!size || !value.is_number() || field->max == 0 || value.real() <= static_cast<double>(field->max)) continue;
    violations->Add(absl::StrCat(path, ".", Name(knob)),
                    absl::StrCat("must be at most ", field->max, ", not ", value.ToText()));
  }
}

}  // namespace flightplan
