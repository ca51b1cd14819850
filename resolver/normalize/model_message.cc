#include "resolver/normalize/model_message.h"

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "flightplan/v1/knobs.pb.h"
#include "flightplan/v1/model.pb.h"
#include "google/protobuf/descriptor.h"
#include "resolver/base/utf8.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/normalize/request_bounds.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

using google::protobuf::FieldDescriptor;

constexpr size_t kMaxTextBytes = 256;  // of names; layer patterns are bounded by the number of layers

// How a field of the model's table travels: under its own name when the message has such a field, else in one of the
// two maps.
struct Route {
  const ModelField* field;
  const FieldDescriptor* own;  // null: in a map
  bool number;                 // the map is extra_dimensions, not extra_fields
};

template <class... Members>
bool HoldsOneOf(const ModelField& field) {
  return (std::holds_alternative<Members>(field.member) || ...);
}

// What the catalogue says about an entry rather than about the model.
bool IsCataloguesOwn(absl::string_view name) {
  for (absl::string_view own : {"aliases", "model_type", "bridge", "derived", "sources", "notes"}) {
    if (name == own) return true;
  }
  return absl::StartsWith(name, "published_");
}

// Whether an MLP of this activation has a gate when nothing is said of one.
bool UsuallyGated(absl::string_view activation) {
  return activation != "squared_relu" && activation != "gelu" && activation != "relu";
}

// In the table's order: sizes stand before the patterns that they are the length of.
const std::vector<Route>& Routes() {
  static const auto* const kRoutes = [] {
    auto* routes = new std::vector<Route>();
    for (const ModelField& field : ModelFields()) {
      if (IsCataloguesOwn(field.name)) continue;
      using M = ModelSpec;
      const bool number = HoldsOneOf<int64_t M::*, std::optional<int64_t> M::*, std::optional<double> M::*>(field);
      routes->push_back({&field, v1::ModelSpec::descriptor()->FindFieldByName(std::string(field.name)), number});
    }
    return routes;
  }();
  return *kRoutes;
}

// The contract's counts are 32 bits wide; a site's entry may hold more, and then the largest one is shown.
int32_t Narrow(int64_t value) {
  constexpr int64_t kLowest = std::numeric_limits<int32_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::min(std::max(value, kLowest), kHighest));
}

// Lists of integers are layer patterns, and these are written as expressions.
Value Shown(const Value& value) {
  if (!value.is_list() || (!value.list().empty() && value.list()[0].is_text())) return value;
  std::vector<int64_t> pattern;
  for (const Value& item : value.list()) pattern.push_back(item.integer());
  return Value(FormatPattern(pattern));
}

void SetOwn(const FieldDescriptor* own, const Value& value, v1::ModelSpec* message) {
  const google::protobuf::Reflection& to = *message->GetReflection();
  const FieldDescriptor::CppType type = own->cpp_type();
  if (type == FieldDescriptor::CPPTYPE_INT32) return to.SetInt32(message, own, Narrow(value.integer()));
  if (type == FieldDescriptor::CPPTYPE_INT64) return to.SetInt64(message, own, value.integer());
  if (type == FieldDescriptor::CPPTYPE_DOUBLE) return to.SetDouble(message, own, value.real());
  if (type == FieldDescriptor::CPPTYPE_BOOL) return to.SetBool(message, own, value.truthy());
  to.SetString(message, own, std::string(value.text()));
}

// None when the message does not say. A field without presence says so by its zero.
Value GetOwn(const v1::ModelSpec& message, const FieldDescriptor* own) {
  const google::protobuf::Reflection& from = *message.GetReflection();
  if (!from.HasField(message, own)) return Value();
  const FieldDescriptor::CppType type = own->cpp_type();
  if (type == FieldDescriptor::CPPTYPE_INT32) return Value(int64_t{from.GetInt32(message, own)});
  if (type == FieldDescriptor::CPPTYPE_INT64) return Value(from.GetInt64(message, own));
  if (type == FieldDescriptor::CPPTYPE_DOUBLE) return Value(from.GetDouble(message, own));
  if (type == FieldDescriptor::CPPTYPE_BOOL) return Value(from.GetBool(message, own));
  return Value(from.GetString(message, own));
}

class Reader {
 public:
  Reader(const v1::ModelSpec& message, absl::string_view path, Violations* violations)
      : message_(message), path_(path), violations_(violations) {}

  ModelSpec Read() {
    for (const Route& route : Routes()) {
      if (route.own != nullptr) {
        Set(*route.field, route.field->name, GetOwn(message_, route.own));
      } else if (route.number) {
        auto extra = message_.extra_dimensions().find(std::string(route.field->name));
        if (extra != message_.extra_dimensions().end()) {
          Set(*route.field, InMap("extra_dimensions", extra->first), Value(extra->second));
        }
      } else if (auto extra = message_.extra_fields().find(std::string(route.field->name));
                 extra != message_.extra_fields().end()) {
        const std::string name = InMap("extra_fields", extra->first);
        Set(*route.field, name, ValueFromMessage(extra->second, absl::StrCat(path_, ".", name), violations_));
      }
    }
    CheckNotes(absl::StrCat(path_, ".sources"), message_.sources(), violations_);
    CheckLength(absl::StrCat(path_, ".notes"), message_.notes().size(), kMaxNotesBytes, violations_);
    RefuseUnknown(message_.extra_dimensions(), "extra_dimensions", /*number=*/true);
    RefuseUnknown(message_.extra_fields(), "extra_fields", /*number=*/false);
    model_.knobs = PinsFromMessages(v1::Knobs::default_instance(), message_.knobs(), "", absl::StrCat(path_, ".knobs"),
                                    violations_);
    Complete();
    for (const ModelFault& fault : CheckModel(model_)) {
      if (bad_.insert(std::string(fault.field)).second) Bad(fault.field, fault.what);
    }
    return std::move(model_);
  }

 private:
  static std::string InMap(absl::string_view map, absl::string_view key) {
    return absl::StrCat(map, "[", Utf8Prefix(key, 64), "]");
  }

  void Bad(absl::string_view name, absl::string_view what) { violations_->Add(absl::StrCat(path_, ".", name), what); }

  // `name` is where it stands in the message.
  void Set(const ModelField& field, absl::string_view name, const Value& value) {
    if (value.is_none()) return;
    absl::Status status = SetModelField(field, value, &model_);
    const bool text = HoldsOneOf<std::string ModelSpec::*, std::optional<std::string> ModelSpec::*>(field);
    if (status.ok() && text && !absl::EndsWith(field.name, "_pattern") && value.text().size() > kMaxTextBytes) {
      status = absl::InvalidArgumentError(absl::StrCat("has ", value.text().size(), " bytes, at most ", kMaxTextBytes));
    }
    if (status.ok()) return;
    Bad(name, status.message());
    bad_.insert(std::string(field.name));
  }

  template <class Map>
  void RefuseUnknown(const Map& map, absl::string_view name, bool number) {
    for (const auto& [key, value] : map) {
      const auto takes = [&, wanted = absl::string_view(key)](const Route& route) {
        return route.own == nullptr && route.number == number && route.field->name == wanted;
      };
      if (absl::c_any_of(Routes(), takes)) continue;
      std::vector<absl::string_view> known;
      for (const Route& route : Routes()) {
        if (route.own == nullptr && route.number == number) known.push_back(route.field->name);
      }
      Bad(InMap(name, key), absl::StrCat("is not known; known are ", absl::StrJoin(known, ", ")));
    }
  }

  // What the contract says of fields that are not given.
  void Complete() {
    ModelSpec& m = model_;
    if (m.name.empty()) m.name = "unnamed";
    if (m.num_query_groups == 0) m.num_query_groups = m.num_attention_heads;
    if (!message_.extra_fields().contains("gated_linear_unit")) {
      m.gated_linear_unit = UsuallyGated(m.activation);
    }
    if (message_.attention().empty() && m.kv_lora_rank.has_value()) m.attention = "mla";
    if (!m.is_mla() && !m.kv_channels.has_value() && m.num_attention_heads > 0 &&
        m.hidden_size % m.num_attention_heads == 0) {
      m.kv_channels = m.hidden_size / m.num_attention_heads;
    }
    for (auto switch_field : {&ModelSpec::tie_embeddings, &ModelSpec::qk_layernorm, &ModelSpec::add_qkv_bias,
                              &ModelSpec::add_bias_linear}) {
      m.*switch_field = (m.*switch_field).value_or(false);
    }
    if (!m.is_moe()) return;
    m.moe_shared_expert_gate = m.moe_shared_expert_gate.value_or(false);
    m.moe_router_enable_expert_bias = m.moe_router_enable_expert_bias.value_or(false);
    const bool sized = bad_.count("num_layers") == 0 && bad_.count("moe_layer_freq") == 0;
    if (sized && m.moe_layer_freq.empty() && !m.hybrid_layer_pattern.has_value()) {
      m.moe_layer_freq.assign(static_cast<size_t>(m.num_layers), 1);
    }
  }

  const v1::ModelSpec& message_;
  absl::string_view path_;
  Violations* violations_;
  ModelSpec model_;
  std::set<std::string> bad_;  // fields of the table
};

}  // namespace

ModelSpec ModelFromMessage(const v1::ModelSpec& message, absl::string_view field, Violations* violations) {
  return Reader(message, field, violations).Read();
}

void ModelToMessage(const ModelSpec& model, v1::ModelSpec* message) {
  static const auto* const kStandard = new ModelSpec();
  for (const Route& route : Routes()) {
    const Value value = GetField(*route.field, model);
    if (value.is_none() || (value.is_list() && value.list().empty())) continue;
    const std::string name(route.field->name);
    if (route.own != nullptr) {
      SetOwn(route.own, Shown(value), message);
    } else if (route.number) {
      (*message->mutable_extra_dimensions())[name] = value.real();
    } else if (value != GetField(*route.field, *kStandard) ||
               (name == "gated_linear_unit" && model.gated_linear_unit != UsuallyGated(model.activation))) {
      ValueToMessage(Shown(value), &(*message->mutable_extra_fields())[name]);
    }
  }
  for (const auto& [knob, value] : model.knobs) {
    v1::KnobSetting* setting = message->add_knobs();
    setting->set_name(std::string(Name(knob)));
    ValueToMessage(value, setting->mutable_value());
  }
  if (model.computed.has_value()) {
    v1::ParameterCounts* counts = message->mutable_parameters();
    counts->set_total_count(model.computed->total);
    counts->set_total_with_mtp_count(model.computed->total_with_mtp);
    counts->set_active_count(model.computed->active);
    counts->set_active_without_input_embedding_count(model.computed->active_without_input_embedding);
  }
  for (const std::string& source : model.sources) message->add_sources(source);
  message->set_notes(model.notes);
}

}  // namespace flightplan
