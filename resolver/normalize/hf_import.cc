#include "resolver/normalize/hf_import.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "rapidjson/document.h"
#include "resolver/base/json.h"
#include "resolver/base/nearest.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/catalog/bridge_converters.h"
#include "resolver/catalog/yaml_value.h"
#include "resolver/normalize/hf_families.h"
#include "resolver/normalize/hf_reader.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

constexpr absl::string_view kNoConverter =
    "Megatron-Bridge@067f987df converts no such class: the sizes hold for plans and estimates, the checkpoint needs a "
    "converter of its own";

absl::Status Parse(absl::string_view json, rapidjson::Document* document) {
  if (json.size() > kMaxHfConfigBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("config.json has ", json.size(), " bytes; it may have at most ", kMaxHfConfigBytes));
  }
  if (const auto fault = ReadJson(json, JsonNumbers::kAll, document); fault.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("config.json is not readable at offset ", fault->offset, " of ", json.size(), ": ", fault->what));
  }
  if (!document->IsObject()) return absl::InvalidArgumentError("config.json needs an object at its top");
  return absl::OkStatus();
}

absl::StatusOr<std::string> ArchitectureOf(const rapidjson::Value& root) {
  const auto it = root.FindMember("architectures");
  if (it == root.MemberEnd()) {
    if (const auto peft = root.FindMember("peft_type"); peft != root.MemberEnd()) {
      const auto base = root.FindMember("base_model_name_or_path");
      const bool named = base != root.MemberEnd() && base->value.IsString();
      return absl::InvalidArgumentError(
          absl::StrCat("$.peft_type: this is an adapter and has no sizes; give the config.json of its base model",
                       named ? ", " : "", named ? Utf8Prefix(base->value.GetString(), 100) : ""));
    }
    const bool sized = root.HasMember("hidden_size") || root.HasMember("d_model") || root.HasMember("text_config");
    return absl::InvalidArgumentError(absl::StrCat(
        "$.architectures: is missing", sized ? "" : ", and so are the sizes: give the config.json of the model itself",
        "; needs a list with the model's class, such as [\"Qwen3MoeForCausalLM\"]"));
  }
  const rapidjson::Value& list = it->value;
  if (!list.IsArray() || list.Empty() || !list[0].IsString()) {
    return absl::InvalidArgumentError("$.architectures: needs a list with the model's class as its first text");
  }
  return std::string(list[0].GetString(), list[0].GetStringLength());
}

// The text at a key of the language fields, where a wrapper has such; empty: none.
std::string TextOf(const rapidjson::Value& root, absl::string_view key) {
  ModelSpec unused;
  const HfReader reader(root, &unused, nullptr);
  return HfTextPath(root).empty() ? "" : reader.Text(key, "").value_or("");
}

// The family of a class. A wrapper of another name has the language model that its model_type names.
absl::StatusOr<const HfFamily*> FamilyOf(const rapidjson::Value& root, const std::string& architecture) {
  const std::string type = TextOf(root, "model_type");
  const std::string typed = absl::StrCat(architecture, "/", type);
  const HfFamily* labelled = nullptr;
  for (const HfFamily& family : HfFamilies()) {
    for (absl::string_view name : absl::StrSplit(family.classes, '|')) {
      if (name == typed) return &family;
    }
    if (family.label == type) labelled = &family;
  }
  for (const HfRefusal& refusal : HfRefusals()) {
    for (absl::string_view name : absl::StrSplit(refusal.classes, '|')) {
      if (name != architecture) continue;
      return absl::InvalidArgumentError(absl::StrCat("$.architectures: models of the class '", architecture, "' have ",
                                                     refusal.has, "; a model description here has no words for it"));
    }
  }
  // What all names end with makes none of them near.
  const auto head = [](absl::string_view name) { return name.substr(0, name.find("For")); };
  std::vector<absl::string_view> known, heads;
  for (const HfFamily& family : HfFamilies()) {
    for (absl::string_view name : absl::StrSplit(family.classes, '|')) {
      if (name == architecture) return &family;
      if (absl::StrContains(name, '/')) continue;
      known.push_back(name);
      heads.push_back(head(name));
    }
  }
  if (labelled != nullptr) return labelled;
  const absl::string_view near = NearestName(head(architecture), heads);
  const auto at = std::find(heads.begin(), heads.end(), near);
  const absl::string_view nearest = near.empty() ? near : known[static_cast<size_t>(at - heads.begin())];
  return absl::InvalidArgumentError(
      absl::StrCat("$.architectures: the class '", Utf8Prefix(architecture, 100),
                   "' is not known, so there is no mapping from its keys",
                   nearest.empty() ? "" : absl::StrCat("; nearest known: ", nearest),
                   "; give its sizes instead, as a model of a catalogue of your own (--catalog-dir) "
                   "or as model.spec, or use one of ",
                   absl::StrJoin(known, ", ")));
}

// A constant of the tables, written as a plain YAML scalar.
absl::StatusOr<Value> Literal(absl::string_view text) {
  if (text == "null") return Value();
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.text = std::string(text);
  return ValueFromYaml(node);
}

bool Same(const Value& a, const Value& b) { return a == b || (a.is_number() && b.is_number() && a.real() == b.real()); }

// A constant of a class goes over the file, as its converter has it: said where the file says something else.
void NoteContradiction(const HfRow& row, const Value& constant, HfReader& reader) {
  absl::string_view keys = row.checked;
  for (const HfRow& common : HfCommonRows()) {
    if (keys.empty() && common.field == row.field) keys = common.keys;
  }
  // One group is none. Of other fields that a class has none of, its derivations speak.
  const bool groups = row.field == "moe_router_num_groups" || row.field == "moe_router_group_topk";
  if (constant.is_none() && !groups && row.field != "mtp_num_layers") return;
  if (keys == kUnchecked) return;
  for (absl::string_view key : absl::StrSplit(keys, '|', absl::SkipEmpty())) {
    if (!reader.Has(key)) continue;
    const absl::StatusOr<std::optional<Value>> said = reader.Get(key);
    if (!said.ok() || !said->has_value() || Same(**said, constant)) return;
    if (constant.is_none() && ((*said)->real() == 0 || (groups && (*said)->real() == 1))) return;
    reader.Note(absl::StrCat("its ", key, " of ", Utf8Prefix((*said)->ToText(), 60), " is not carried over: models of ",
                             "this class have ", row.field, " ", constant.is_none() ? "unset" : constant.ToText(),
                             " as Megatron-Bridge or transformers builds them"));
    return;
  }
}

absl::Status Apply(const HfRow& row, HfReader& reader) {
  absl::string_view path = row.field;
  std::optional<Value> value;
  for (absl::string_view key : absl::StrSplit(row.keys, '|', absl::SkipEmpty())) {
    path = key;
    if (!reader.Has(key)) continue;  // null is as good as absent to transformers
    FLIGHTPLAN_ASSIGN_OR_RETURN(value, reader.Get(key));
    break;
  }
  if (value.has_value()) {
    if (row.zero_is_none && *value == Value(0)) value = Value();
    return reader.Set(row.field, *value, path);
  }
  if (row.otherwise.empty()) return absl::OkStatus();
  if (row.otherwise == kRequired) {
    const std::vector<absl::string_view> keys = absl::StrSplit(row.keys, '|');
    return reader.Error(keys.front(), "is missing");
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(Value literal, Literal(row.otherwise));
  if (row.keys.empty()) NoteContradiction(row, literal, reader);
  return reader.Set(row.field, literal, path);
}

// A layer list in place of the layer count (nemotron_h) must be known before the rows ask for the count.
bool LayerCountFollows(const HfRow& row, const HfReader& reader) {
  return row.field == "num_layers" && !reader.Has("num_hidden_layers") &&
         (reader.Has("layers_block_type") || reader.Has("hybrid_override_pattern"));
}

// A family's own row, where it has one, says what a file may leave out: it stands in for a common one that asks for it.
const HfRow& InPlaceOf(const HfRow& common, const HfFamily& family) {
  if (common.otherwise != kRequired) return common;
  for (const HfRow& row : family.rows) {
    if (row.field == common.field) return row;
  }
  return common;
}

absl::Status Run(const HfFamily& family, HfReader& reader) {
  for (const HfRow& row : HfCommonRows()) {
    if (LayerCountFollows(row, reader) || row.field == family.own) continue;
    FLIGHTPLAN_RETURN_IF_ERROR(Apply(InPlaceOf(row, family), reader));
  }
  for (HfDerivation derive : HfCommonDerivations()) FLIGHTPLAN_RETURN_IF_ERROR(derive(reader));
  for (const HfRow& row : family.rows) FLIGHTPLAN_RETURN_IF_ERROR(Apply(row, reader));
  for (HfDerivation derive : family.derivations) FLIGHTPLAN_RETURN_IF_ERROR(derive(reader));
  FLIGHTPLAN_RETURN_IF_ERROR(hf::Windows(reader));
  FLIGHTPLAN_RETURN_IF_ERROR(hf::NotCarried(reader));
  return FinishHfModel(reader);
}

// The key of the file that gives a field; empty: none alone.
absl::string_view KeyOf(absl::string_view field, const HfFamily& family) {
  for (absl::Span<const HfRow> rows : {family.rows, HfCommonRows()}) {
    for (const HfRow& row : rows) {
      if (row.field == field && !row.keys.empty()) return row.keys.substr(0, row.keys.find('|'));
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<ModelSpec> ImportHfConfig(absl::string_view json, std::vector<std::string>* notes) {
  rapidjson::Document document;
  FLIGHTPLAN_RETURN_IF_ERROR(Parse(json, &document));
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::string architecture, ArchitectureOf(document));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const HfFamily* family, FamilyOf(document, architecture));
  ModelSpec model;
  HfReader reader(document, &model, notes);
  model.architecture = architecture;
  model.family = std::string(family->label);
  model.sources = {"config.json"};
  if (!family->note.empty()) reader.Note(std::string(family->note));
  if (!IsBridgeConverter(architecture)) reader.Note(std::string(kNoConverter));
  for (absl::string_view tower : {"vision_config", "audio_config", "sound_config"}) {
    if (!reader.InRoot(tower)) continue;
    reader.Note(absl::StrCat("the language model alone: the encoder of its ", tower, " is not counted"));
  }
  FLIGHTPLAN_RETURN_IF_ERROR(Run(*family, reader));
  // The outer tag: a wrapper's text_config has one of its own.
  const auto model_type = document.FindMember("model_type");
  if (model_type != document.MemberEnd() && !model_type->value.IsNull()) {
    if (!model_type->value.IsString()) return absl::InvalidArgumentError("$.model_type: needs text");
    model.model_type = std::string(model_type->value.GetString(), model_type->value.GetStringLength());
  }
  model.name = model.model_type.value_or(std::string(family->label));
  for (const ModelFault& fault : CheckModel(model)) {
    if (const absl::string_view key = KeyOf(fault.field, *family); !key.empty()) return reader.Error(key, fault.what);
    return absl::InvalidArgumentError(absl::StrCat("config.json: field ", fault.field, ": ", fault.what));
  }
  return model;
}

}  // namespace flightplan
