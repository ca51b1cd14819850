#include "resolver/catalog/load.h"

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/yaml.h"
#include "resolver/catalog/yaml_value.h"
#include "resolver/plan/hardware_fields.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

template <class T>
std::vector<absl::string_view> Names(absl::Span<const Field<T>> fields, std::vector<absl::string_view> extra) {
  for (const Field<T>& field : fields) extra.push_back(field.name);
  return extra;
}

std::string Path(absl::string_view list, absl::string_view entry, absl::string_view field) {
  return absl::StrCat(list, "[", entry, "]", field.empty() ? "" : ".", field);
}

// The name of an entry for messages: what it says, or its number.
std::string EntryName(const YamlNode& node, size_t index) {
  const YamlNode* name = node.Find("name");
  const bool usable = name != nullptr && name->kind == YamlNode::Kind::kScalar && !name->text.empty();
  return usable ? name->text : absl::StrCat(index);
}

absl::StatusOr<Value> ReadValue(const YamlDocument& doc, const YamlNode& node, absl::string_view path) {
  absl::StatusOr<Value> value = ValueFromYaml(node);
  if (!value.ok()) return doc.Error(node, path, value.status().message());
  return value;
}

// Calls set(field, value) for every field of the table that the entry writes, in the table's order.
template <class T, class Set>
absl::Status ReadFields(const YamlDocument& doc, const YamlNode& node, absl::string_view list, absl::string_view entry,
                        absl::Span<const Field<T>> fields, Set set) {
  for (const Field<T>& field : fields) {
    const YamlNode* child = node.Find(field.name);
    if (child == nullptr) continue;
    const std::string path = Path(list, entry, field.name);
    FLIGHTPLAN_ASSIGN_OR_RETURN(Value value, ReadValue(doc, *child, path));
    if (absl::Status status = set(field, value); !status.ok()) return doc.Error(*child, path, status.message());
  }
  return absl::OkStatus();
}

absl::Status ReadComputed(const YamlDocument& doc, const YamlNode& node, absl::string_view entry, ModelSpec* model) {
  const std::string path = Path("models", entry, "computed");
  if (node.kind != YamlNode::Kind::kMap) return doc.Error(node, path, "needs a mapping of parameter counts");
  ParameterCounts counts;
  const std::pair<absl::string_view, int64_t*> kMembers[] = {
      {"total", &counts.total},
      {"total_with_mtp", &counts.total_with_mtp},
      {"active", &counts.active},
      {"active_without_input_embedding", &counts.active_without_input_embedding},
      {"active_without_any_embedding", &counts.active_without_any_embedding}};
  std::vector<absl::string_view> names;
  for (const auto& [name, member] : kMembers) names.push_back(name);
  FLIGHTPLAN_RETURN_IF_ERROR(doc.CheckKeys(node, path, names));
  for (const auto& [name, member] : kMembers) {
    const YamlNode* child = node.Find(name);
    const std::string child_path = absl::StrCat(path, ".", name);
    if (child == nullptr) return doc.Error(node, child_path, "is missing");
    FLIGHTPLAN_ASSIGN_OR_RETURN(Value value, ReadValue(doc, *child, child_path));
    if (!value.is_int() || value.integer() < 1) return doc.Error(*child, child_path, "needs a positive integer");
    *member = value.integer();
  }
  model->computed = counts;
  return absl::OkStatus();
}

absl::Status ReadKnobs(const YamlDocument& doc, const YamlNode& node, absl::string_view entry, ModelSpec* model) {
  const std::string path = Path("models", entry, "knobs");
  if (node.kind != YamlNode::Kind::kMap) return doc.Error(node, path, "needs a mapping of knob names to values");
  for (const auto& [name, child] : node.keys) {
    const std::string child_path = absl::StrCat(path, ".", name);
    const std::optional<Knob> knob = FindKnob(name);
    if (!knob.has_value()) {
      const absl::string_view nearest = NearestKnobName(name);
      return doc.Error(child, child_path,
                       nearest.empty() ? "is no knob" : absl::StrCat("is no knob; nearest known: ", nearest));
    }
    FLIGHTPLAN_ASSIGN_OR_RETURN(Value value, ReadValue(doc, child, child_path));
    model->knobs.emplace_back(*knob, std::move(value));
  }
  return absl::OkStatus();
}

absl::StatusOr<ModelSpec> ReadModel(const YamlDocument& doc, const YamlNode& node, const std::string& entry) {
  static const auto* const kKeys = new std::vector<absl::string_view>(Names(ModelFields(), {"computed", "knobs"}));
  FLIGHTPLAN_RETURN_IF_ERROR(doc.CheckKeys(node, Path("models", entry, ""), *kKeys));
  ModelSpec model;
  FLIGHTPLAN_RETURN_IF_ERROR(
      ReadFields(doc, node, "models", entry, ModelFields(),
                 [&](const ModelField& field, const Value& value) { return SetModelField(field, value, &model); }));
  if (const YamlNode* computed = node.Find("computed")) {
    FLIGHTPLAN_RETURN_IF_ERROR(ReadComputed(doc, *computed, entry, &model));
  }
  if (const YamlNode* knobs = node.Find("knobs")) {
    FLIGHTPLAN_RETURN_IF_ERROR(ReadKnobs(doc, *knobs, entry, &model));
  }
  for (const ModelFault& fault : CheckModel(model)) {
    const YamlNode* at = node.Find(fault.field);
    return doc.Error(at != nullptr ? *at : node, Path("models", entry, fault.field), fault.what);
  }
  return model;
}

absl::Status ReadComputeCapability(const YamlDocument& doc, const YamlNode& node, const std::string& entry,
                                   GpuSystem* gpu) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(node.text, absl::MaxSplits('.', 1));
  if (node.kind != YamlNode::Kind::kScalar || !absl::SimpleAtoi(parts.first, &gpu->cc_major) ||
      !absl::SimpleAtoi(parts.second, &gpu->cc_minor) || gpu->cc_major < 1 || gpu->cc_major > 99 || gpu->cc_minor < 0 ||
      gpu->cc_minor > 9) {
    return doc.Error(node, Path("gpus", entry, "compute_capability"),
                     absl::StrCat("is ", node.Describe(), "; needs major.minor such as \"9.0\""));
  }
  return absl::OkStatus();
}

absl::StatusOr<GpuSystem> ReadGpu(const YamlDocument& doc, const YamlNode& node, const std::string& entry) {
  FLIGHTPLAN_RETURN_IF_ERROR(doc.CheckKeys(node, Path("gpus", entry, ""), Names(GpuFields(), {"compute_capability"})));
  GpuSystem gpu;
  FLIGHTPLAN_RETURN_IF_ERROR(
      ReadFields(doc, node, "gpus", entry, GpuFields(),
                 [&](const Field<GpuSystem>& field, const Value& value) { return SetField(field, value, &gpu); }));
  if (const YamlNode* capability = node.Find("compute_capability")) {
    FLIGHTPLAN_RETURN_IF_ERROR(ReadComputeCapability(doc, *capability, entry, &gpu));
  }
  if (gpu.name.empty()) return doc.Error(node, Path("gpus", entry, "name"), "is missing");
  for (const std::string& backend : gpu.flex_backends) {
    if (backend == "deepep" || backend == "hybridep") continue;
    return doc.Error(*node.Find("flex_backends"), Path("gpus", entry, "flex_backends"),
                     absl::StrCat("holds '", backend, "'; needs deepep or hybridep"));
  }
  for (const auto& [field, fault] : GpuFaults(gpu)) {
    return doc.Error(*node.Find(field), Path("gpus", entry, field), fault);
  }
  DeriveGpuMemory(&gpu);
  return gpu;
}

template <class T, class Read>
absl::Status ReadList(const YamlDocument& doc, absl::string_view list, Read read, std::vector<T>* entries) {
  const YamlNode* node = doc.root.Find(list);
  if (node == nullptr || node->kind == YamlNode::Kind::kNull) return absl::OkStatus();
  if (node->kind != YamlNode::Kind::kList) {
    return doc.Error(*node, list, absl::StrCat("is ", node->Describe(), "; needs a list of entries"));
  }
  absl::flat_hash_set<std::string> seen;
  for (size_t i = 0; i < node->items.size(); ++i) {
    const YamlNode& item = node->items[i];
    const std::string entry_name = EntryName(item, i);
    if (item.kind != YamlNode::Kind::kMap) {
      return doc.Error(item, Path(list, entry_name, ""), absl::StrCat("is ", item.Describe(), "; needs a mapping"));
    }
    FLIGHTPLAN_ASSIGN_OR_RETURN(T entry, read(doc, item, entry_name));
    if (!seen.insert(entry.name).second) {
      return doc.Error(item, Path(list, entry_name, "name"), "is used twice in this file");
    }
    T* replaced = nullptr;
    for (T& known : *entries) {
      if (known.name == entry.name) replaced = &known;
    }
    if (replaced != nullptr) {
      *replaced = std::move(entry);
    } else {
      entries->push_back(std::move(entry));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LoadCatalogFile(absl::string_view file, absl::string_view text, CatalogEntries* entries) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(YamlDocument doc, ParseYaml(file, text));
  return LoadCatalogDocument(doc, entries);
}

absl::Status LoadCatalogDocument(const YamlDocument& doc, CatalogEntries* entries) {
  if (doc.root.kind == YamlNode::Kind::kNull) return absl::OkStatus();
  if (doc.root.kind != YamlNode::Kind::kMap) {
    return doc.Error(doc.root, "",
                     absl::StrCat("the file is ", doc.root.Describe(), "; needs a mapping of models, gpus"));
  }
  FLIGHTPLAN_RETURN_IF_ERROR(doc.CheckKeys(doc.root, "", {"models", "gpus"}));
  FLIGHTPLAN_RETURN_IF_ERROR(ReadList<ModelSpec>(doc, "models", ReadModel, &entries->models));
  return ReadList<GpuSystem>(doc, "gpus", ReadGpu, &entries->gpus);
}

}  // namespace flightplan
