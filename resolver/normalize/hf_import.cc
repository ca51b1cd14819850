#include "resolver/normalize/hf_import.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "rapidjson/document.h"
#include "resolver/base/json.h"
#include "resolver/base/nearest.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/catalog/yaml_value.h"
#include "resolver/normalize/hf_families.h"
#include "resolver/normalize/hf_reader.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

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
    return absl::InvalidArgumentError(
        "$.architectures: is missing; needs a list with the model's class, such as [\"Qwen3MoeForCausalLM\"]");
  }
  const rapidjson::Value& list = it->value;
  if (!list.IsArray() || list.Empty() || !list[0].IsString()) {
    return absl::InvalidArgumentError("$.architectures: needs a list with the model's class as its first text");
  }
  return std::string(list[0].GetString(), list[0].GetStringLength());
}

absl::StatusOr<const HfFamily*> FamilyOf(const std::string& architecture) {
  std::vector<absl::string_view> known;
  for (const HfFamily& family : HfFamilies()) {
    for (absl::string_view name : absl::StrSplit(family.classes, '|')) {
      if (name == architecture) return &family;
      known.push_back(name);
    }
  }
  const absl::string_view nearest = NearestName(architecture, known);
  return absl::InvalidArgumentError(absl::StrCat("$.architectures: the class '", Utf8Prefix(architecture, 100),
                                                 "' is not known, so there is no mapping from its keys",
                                                 nearest.empty() ? "" : absl::StrCat("; nearest known: ", nearest),
                                                 "; give the sizes as an explicit model instead, or use one of ",
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
  return FinishHfModel(reader);
}

}  // namespace

absl::StatusOr<ModelSpec> ImportHfConfig(absl::string_view json, std::vector<std::string>* notes) {
  rapidjson::Document document;
  FLIGHTPLAN_RETURN_IF_ERROR(Parse(json, &document));
  FLIGHTPLAN_ASSIGN_OR_RETURN(std::string architecture, ArchitectureOf(document));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const HfFamily* family, FamilyOf(architecture));
  ModelSpec model;
  HfReader reader(document, &model, notes);
  model.architecture = architecture;
  model.family = std::string(family->label);
  model.sources = {"config.json"};
  if (!family->note.empty()) reader.Note(std::string(family->note));
  FLIGHTPLAN_RETURN_IF_ERROR(Run(*family, reader));
  // The outer tag: a wrapper's text_config has one of its own.
  const auto model_type = document.FindMember("model_type");
  if (model_type != document.MemberEnd() && !model_type->value.IsNull()) {
    if (!model_type->value.IsString()) return absl::InvalidArgumentError("$.model_type: needs text");
    model.model_type = std::string(model_type->value.GetString(), model_type->value.GetStringLength());
  }
  model.name = model.model_type.value_or(std::string(family->label));
  for (const ModelFault& fault : CheckModel(model)) {
    return absl::InvalidArgumentError(absl::StrCat("config.json: field ", fault.field, ": ", fault.what));
  }
  return model;
}

}  // namespace flightplan
