#include "clients/cli/name_lists.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "clients/cli/paging.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "resolver/base/status_macros.h"

namespace flightplan::cli {
namespace {

using Names = std::set<std::string>;

absl::Status AddModels(Backend& backend, Names* names) {
  v1::ListModelsResponse list;
  FLIGHTPLAN_RETURN_IF_ERROR(ListAll(backend, &Backend::ListModels, v1::ListModelsRequest(), &list));
  for (const v1::ModelSpec& model : list.models()) names->insert(model.name());
  return absl::OkStatus();
}

absl::Status AddGpus(Backend& backend, Names* names) {
  v1::ListGpusResponse list;
  FLIGHTPLAN_RETURN_IF_ERROR(ListAll(backend, &Backend::ListGpus, v1::ListGpusRequest(), &list));
  for (const v1::GpuSystem& gpu : list.gpus()) names->insert(gpu.name());
  return absl::OkStatus();
}

absl::Status AddKnobs(Backend& backend, Names* names) {
  v1::ListKnobsResponse list;
  FLIGHTPLAN_RETURN_IF_ERROR(ListAll(backend, &Backend::ListKnobs, v1::ListKnobsRequest(), &list));
  for (const v1::KnobInfo& knob : list.knobs()) names->insert(knob.name());
  return absl::OkStatus();
}

absl::Status AddSettings(Backend& backend, Names* names) {
  v1::ListKnobsResponse list;
  FLIGHTPLAN_RETURN_IF_ERROR(ListAll(backend, &Backend::ListKnobs, v1::ListKnobsRequest(), &list));
  for (const v1::KnobInfo& knob : list.knobs()) {
    std::vector<std::string> values(knob.choices().begin(), knob.choices().end());
    if (knob.type() == "bool") values = {"true", "false"};
    if (values.empty()) values = {""};
    for (const std::string& value : values) names->insert(absl::StrCat(knob.name(), "=", value));
  }
  return absl::OkStatus();
}

absl::Status AddRules(Backend& backend, Names* names) {
  v1::ListRulesResponse list;
  FLIGHTPLAN_RETURN_IF_ERROR(ListAll(backend, &Backend::ListRules, v1::ListRulesRequest(), &list));
  for (const v1::RuleInfo& rule : list.rules()) names->insert(rule.id());
  return absl::OkStatus();
}

absl::Status AddAreas(Backend& backend, Names* names) {
  v1::ListRulesResponse list;
  FLIGHTPLAN_RETURN_IF_ERROR(ListAll(backend, &Backend::ListRules, v1::ListRulesRequest(), &list));
  for (const v1::RuleInfo& rule : list.rules()) names->insert(rule.area());
  return absl::OkStatus();
}

absl::Status AddRulesAndKnobs(Backend& backend, Names* names) {
  FLIGHTPLAN_RETURN_IF_ERROR(AddRules(backend, names));
  return AddKnobs(backend, names);
}

struct NameList {
  absl::string_view name;
  absl::Status (*add)(Backend& backend, Names* names);
};
constexpr NameList kLists[] = {
    {kModelNames, AddModels},           {kGpuNames, AddGpus}, {kKnobNames, AddKnobs},
    {kKnobSettings, AddSettings},       {kRuleIds, AddRules}, {kRuleAreas, AddAreas},
    {kRulesAndKnobs, AddRulesAndKnobs},
};

}  // namespace

std::vector<absl::string_view> NameLists() {
  std::vector<absl::string_view> names;
  for (const NameList& list : kLists) names.push_back(list.name);
  return names;
}

absl::StatusOr<std::vector<std::string>> NamesOf(absl::string_view list, Backend& backend) {
  Names names;
  for (const NameList& row : kLists) {
    if (row.name == list) FLIGHTPLAN_RETURN_IF_ERROR(row.add(backend, &names));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

}  // namespace flightplan::cli
