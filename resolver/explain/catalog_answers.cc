#include "resolver/explain/catalog_answers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "resolver/base/nearest.h"
#include "resolver/base/reason.h"
#include "resolver/base/status_macros.h"
#include "resolver/base/utf8.h"
#include "resolver/catalog/catalog.h"
#include "resolver/derive/parameters.h"
#include "resolver/explain/gpu_message.h"
#include "resolver/explain/records.h"
#include "resolver/normalize/hf_import.h"
#include "resolver/normalize/model_message.h"
#include "resolver/normalize/violations.h"
#include "resolver/rules/registry.h"

namespace flightplan {
namespace {

// The entries of one page of a list of `count` entries. A token is the name of the last entry of the page before, so
// that a list that grew or shrank in between is neither repeated nor skipped.
struct Page {
  size_t begin = 0;
  size_t end = 0;
};

template <class Request, class NameAt>
absl::StatusOr<Page> PageOf(const Request& request, size_t count, NameAt name_at) {
  Violations violations;
  if (request.page_size() < 0) {
    violations.Add("page_size", absl::StrCat("is ", request.page_size(), "; 0 means ", kDefaultPageSize,
                                             ", larger than ", kMaxPageSize, " means ", kMaxPageSize));
  }
  Page page;
  if (!request.page_token().empty()) {
    while (page.begin < count && name_at(page.begin) != request.page_token()) ++page.begin;
    if (page.begin == count) {
      violations.Add("page_token", "is not a next_page_token of this list; start again without one");
    } else {
      ++page.begin;
    }
  }
  FLIGHTPLAN_RETURN_IF_ERROR(violations.ToStatus());
  const size_t size = request.page_size() == 0 ? kDefaultPageSize : static_cast<size_t>(request.page_size());
  page.end = std::min(count, page.begin + std::min(size, size_t{kMaxPageSize}));
  return page;
}

// Appends the page's entries by `add` and sets the token of the next page.
template <class Request, class Response, class NameAt, class Add>
absl::Status FillPage(const Request& request, Response* response, size_t count, NameAt name_at, Add add) {
  FLIGHTPLAN_ASSIGN_OR_RETURN(const Page page, PageOf(request, count, name_at));
  for (size_t i = page.begin; i < page.end; ++i) add(i);
  if (page.end < count && page.end > page.begin) {
    response->set_next_page_token(std::string(name_at(page.end - 1)));
  }
  return absl::OkStatus();
}

absl::Status Required(absl::string_view field, absl::string_view value) {
  Violations violations;
  if (value.empty()) violations.Add(field, "is required");
  return violations.ToStatus();
}

// "no rule is called 'x'; nearest is 'y'".
absl::Status Unknown(absl::string_view what, absl::string_view name, absl::string_view nearest,
                     absl::string_view reason) {
  return WithReason(
      absl::NotFoundError(absl::StrCat("no ", what, " is called '", Utf8Prefix(name, 128), "'",
                                       nearest.empty() ? "" : absl::StrCat("; nearest is '", nearest, "'"))),
      reason);
}

}  // namespace

CatalogAnswers::CatalogAnswers(std::shared_ptr<const Catalog> catalog) : catalog_(std::move(catalog)) {
  for (const Rule* rule : AllRules()) entries_.push_back({rule->id, rule->area, rule, nullptr});
  for (const Record& record : Records()) entries_.push_back({record.id, record.area, nullptr, &record});
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.id < b.id; });
  // A check that a release words differently has a record for each; the rule book shows the first, which is main's.
  const auto same = [](const Entry& a, const Entry& b) { return a.id == b.id; };
  entries_.erase(std::unique(entries_.begin(), entries_.end(), same), entries_.end());
}

void CatalogAnswers::ToMessage(const Entry& entry, v1::RuleInfo* message) {
  if (entry.rule != nullptr) {
    RuleToMessage(*entry.rule, message);
  } else {
    RecordToMessage(*entry.record, message);
  }
}

absl::Status CatalogAnswers::GetModel(const v1::GetModelRequest& request, v1::ModelSpec* response) const {
  FLIGHTPLAN_RETURN_IF_ERROR(Required("name", request.name()));
  const auto model = catalog_->FindModel(request.name());
  if (!model.ok()) return WithReason(model.status(), "MODEL_UNKNOWN");
  ModelToMessage(**model, response);
  return absl::OkStatus();
}

absl::Status CatalogAnswers::ListModels(const v1::ListModelsRequest& request, v1::ListModelsResponse* response) const {
  const absl::Span<const ModelSpec> models = catalog_->models();
  return FillPage(
      request, response, models.size(), [&](size_t i) -> absl::string_view { return models[i].name; },
      [&](size_t i) { ModelToMessage(models[i], response->add_models()); });
}

absl::Status CatalogAnswers::GetGpu(const v1::GetGpuRequest& request, v1::GpuSystem* response) const {
  FLIGHTPLAN_RETURN_IF_ERROR(Required("name", request.name()));
  const auto gpu = catalog_->FindGpu(request.name());
  if (!gpu.ok()) return WithReason(gpu.status(), "GPU_UNKNOWN");
  GpuToMessage(**gpu, response);
  return absl::OkStatus();
}

absl::Status CatalogAnswers::ListGpus(const v1::ListGpusRequest& request, v1::ListGpusResponse* response) const {
  const absl::Span<const GpuSystem> gpus = catalog_->gpus();
  return FillPage(
      request, response, gpus.size(), [&](size_t i) -> absl::string_view { return gpus[i].name; },
      [&](size_t i) { GpuToMessage(gpus[i], response->add_gpus()); });
}

absl::Status CatalogAnswers::GetKnob(const v1::GetKnobRequest& request, v1::KnobInfo* response) const {
  FLIGHTPLAN_RETURN_IF_ERROR(Required("name", request.name()));
  const std::optional<Knob> knob = FindKnob(request.name());
  if (!knob.has_value()) return Unknown("knob", request.name(), NearestKnobName(request.name()), "KNOB_UNKNOWN");
  KnobToMessage(*knob, response);
  return absl::OkStatus();
}

absl::Status CatalogAnswers::ListKnobs(const v1::ListKnobsRequest& request, v1::ListKnobsResponse* response) const {
  return FillPage(
      request, response, static_cast<size_t>(kKnobCount), [](size_t i) { return Name(static_cast<Knob>(i)); },
      [&](size_t i) { KnobToMessage(static_cast<Knob>(i), response->add_knobs()); });
}

absl::Status CatalogAnswers::GetRule(const v1::GetRuleRequest& request, v1::RuleInfo* response) const {
  FLIGHTPLAN_RETURN_IF_ERROR(Required("id", request.id()));
  const absl::string_view id = PresentId(request.id());
  if (const Rule* rule = FindRule(id); rule != nullptr) {
    RuleToMessage(*rule, response);
  } else if (const Record* record = FindRecord(id); record != nullptr) {
    RecordToMessage(*record, response);
  } else {
    std::vector<absl::string_view> ids;
    for (const Entry& entry : entries_) ids.push_back(entry.id);
    return Unknown("rule", request.id(), NearestName(request.id(), ids), "RULE_UNKNOWN");
  }
  return absl::OkStatus();
}

absl::Status CatalogAnswers::ListRules(const v1::ListRulesRequest& request, v1::ListRulesResponse* response) const {
  std::vector<const Entry*> entries;
  std::vector<absl::string_view> areas;
  for (const Entry& entry : entries_) {
    if (request.area().empty() || entry.area == request.area()) entries.push_back(&entry);
    areas.push_back(entry.area);
  }
  if (entries.empty()) {
    std::sort(areas.begin(), areas.end());
    areas.erase(std::unique(areas.begin(), areas.end()), areas.end());
    const absl::string_view nearest = NearestName(request.area(), areas);
    Violations violations;
    violations.Add("area", absl::StrCat("no rule is in '", Utf8Prefix(request.area(), 128), "'; ",
                                        nearest.empty() ? absl::StrCat("areas are ", absl::StrJoin(areas, ", "))
                                                        : absl::StrCat("did you mean ", nearest, "?")));
    return violations.ToStatus();
  }
  return FillPage(
      request, response, entries.size(), [&](size_t i) { return entries[i]->id; },
      [&](size_t i) { ToMessage(*entries[i], response->add_rules()); });
}

absl::Status CatalogAnswers::ImportModel(const v1::ImportModelRequest& request, v1::ModelSpec* response) const {
  FLIGHTPLAN_RETURN_IF_ERROR(Required("hf_config_json", request.hf_config_json()));
  Violations violations;
  const size_t size = request.hf_config_json().size();
  if (size > kMaxHfConfigBytes) {
    violations.Add("hf_config_json", absl::StrCat("has ", size, " bytes, at most ", kMaxHfConfigBytes));
    return violations.ToStatus();
  }
  std::vector<std::string> notes;
  absl::StatusOr<ModelSpec> model = ImportHfConfig(request.hf_config_json(), &notes);
  if (!model.ok()) {
    violations.Add("hf_config_json", model.status());
    return violations.ToStatus();
  }
  if (const auto parameters = CountParameters(*model); parameters.ok()) {
    model->computed = parameters->counts;
  } else {
    notes.push_back(absl::StrCat("parameters not counted: ", parameters.status().message()));
  }
  for (const std::string& note : notes) absl::StrAppend(&model->notes, model->notes.empty() ? "" : "; ", note);
  ModelToMessage(*model, response);
  return absl::OkStatus();
}

}  // namespace flightplan
