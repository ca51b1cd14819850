#include "tests/conformance/cpp/answers.h"

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/any.pb.h"
#include "google/rpc/error_details.pb.h"

namespace flightplan::conformance {
namespace {

using StringMap = google::protobuf::Map<std::string, std::string>;

std::map<std::string, std::string> Sorted(const StringMap& map) { return {map.begin(), map.end()}; }

std::string Text(const v1::KnobValue& value) {
  switch (value.kind_case()) {
    case v1::KnobValue::kBoolValue:
      return value.bool_value() ? "true" : "false";
    case v1::KnobValue::kIntValue:
      return absl::StrCat(value.int_value());
    case v1::KnobValue::kDoubleValue:
      return absl::StrCat(static_cast<int64_t>(value.double_value() * 1e6));
    case v1::KnobValue::kStringValue:
      return value.string_value();
    case v1::KnobValue::kListValue: {
      std::vector<std::string> items;
      for (const v1::KnobValue& item : value.list_value().values()) items.push_back(Text(item));
      return absl::StrCat("[", absl::StrJoin(items, ","), "]");
    }
    case v1::KnobValue::KIND_NOT_SET:
      break;
  }
  return "None";
}

std::string Text(const v1::Fix& fix) {
  std::vector<std::string> parts;
  for (const v1::KnobSetting& knob : fix.knobs()) parts.push_back(absl::StrCat(knob.name(), "=", Text(knob.value())));
  for (const auto& [name, value] : Sorted(fix.env())) parts.push_back(absl::StrCat("env.", name, "=", value));
  return absl::StrJoin(parts, " ");
}

template <class Names>
void AddEach(const std::string& name, const Names& values, Facts* facts) {
  for (const auto& value : values) facts->Add(name, value);
}

template <class Findings>
void AddFindings(const std::string& at, const Findings& findings, Facts* facts) {
  for (const v1::Finding& finding : findings) {
    const std::string& id = finding.rule_id();
    facts->Add(at + "finding", id);
    facts->Add(absl::StrCat(at, "severity.", id), v1::Severity_Name(finding.severity()));
    facts->Add(absl::StrCat(at, "seen.", id), finding.seen());
    facts->Add(absl::StrCat(at, "needs.", id), finding.needs());
    facts->Add(absl::StrCat(at, "source.", id), finding.source().text());
    for (const v1::Fix& fix : finding.fixes()) facts->Add(absl::StrCat(at, "fix.", id), Text(fix));
  }
}

template <class Entries>
void AddConfig(const std::string& at, const Entries& entries, Facts* facts) {
  for (const v1::ConfigEntry& entry : entries) {
    facts->Add(at + "config." + entry.name(), Text(entry.value()));
    facts->Add(at + "origin." + entry.name(), v1::ConfigOrigin_Name(entry.origin()));
    facts->Add(at + "spelling." + entry.name(), entry.spelling());
  }
}

template <class Changes>
void AddChanges(const std::string& at, const Changes& changes, Facts* facts) {
  for (const v1::EffectiveChange& change : changes) {
    facts->Add(at + "change",
               absl::StrCat(change.rule_id(), " ", change.name(), " ", Text(change.from()), " -> ", Text(change.to())));
  }
}

void AddEstimate(const std::string& at, const v1::Estimate& estimate, Facts* facts) {
  facts->Add(at + "fit", v1::FitVerdict_Name(estimate.fit()));
  facts->Add(at + "usable_bytes", estimate.usable_bytes());
  if (estimate.has_step_time_us()) facts->Add(at + "step_time_us", estimate.step_time_us().value());
}

void AddLaunch(const std::string& at, const v1::Launch& launch, Facts* facts) {
  AddEach(at + "argv." + launch.dialect(), launch.argv(), facts);
  facts->Add(at + "text." + launch.dialect(), launch.text());
  for (const auto& [name, value] : launch.env())
    facts->Add(absl::StrCat(at, "env.", launch.dialect(), ".", name), value);
}

void AddRepair(const std::string& at, const v1::Repair& repair, Facts* facts) {
  for (const v1::RepairStep& step : repair.steps()) {
    facts->Add(at + "repair.step", absl::StrCat(step.rule_id(), " ", Text(step.fix())));
  }
  facts->Add(at + "repair.will_run", repair.will_run());
  facts->Add(at + "repair.text", repair.text());
  AddEach(at + "repair.argument", repair.arguments(), facts);
}

}  // namespace

void AddAnswer(const std::string& at, const v1::ResolveConfigResponse& answer, Facts* facts) {
  facts->Add(at + "outcome", v1::Outcome_Name(answer.outcome()));
  facts->Add(at + "accepted_by_stack", answer.accepted_by_stack());
  facts->Add(at + "will_run", answer.will_run());
  facts->Add(at + "target", answer.target());
  facts->Add(at + "digest", answer.digest());
  facts->Add(at + "catalog_revision", answer.catalog_revision());
  facts->Add(at + "evidence_revision", answer.evidence_revision());
  AddConfig(at, answer.config(), facts);
  for (const v1::Decision& decision : answer.decisions()) {
    facts->Add(at + "decision." + decision.name(), Text(decision.value()));
    facts->Add(at + "basis." + decision.name(), v1::Basis_Name(decision.basis()));
    facts->Add(at + "reason." + decision.name(), decision.reason());
  }
  AddFindings(at, answer.findings(), facts);
  AddChanges(at, answer.effective_changes(), facts);
  if (answer.has_estimate()) AddEstimate(at, answer.estimate(), facts);
  for (const v1::Launch& launch : answer.launches()) AddLaunch(at, launch, facts);
  for (const v1::AbSuggestion& suggestion : answer.ab_suggestions()) facts->Add(at + "ab", suggestion.knob());
  if (answer.has_model()) {
    facts->Add(at + "model", answer.model().name());
    facts->Add(at + "parameters", answer.model().parameters().total_count());
  }
  if (answer.has_layout()) {
    facts->Add(at + "data_parallel_size", answer.layout().data_parallel_size());
    facts->Add(at + "expert_data_parallel_size", answer.layout().expert_data_parallel_size());
    facts->Add(at + "microbatch_count", answer.layout().microbatch_count());
  }
}

void AddAnswer(const std::string& at, const v1::ValidateConfigResponse& answer, Facts* facts) {
  facts->Add(at + "accepted_by_stack", answer.accepted_by_stack());
  facts->Add(at + "will_run", answer.will_run());
  facts->Add(at + "target", answer.target());
  facts->Add(at + "digest", answer.digest());
  facts->Add(at + "catalog_revision", answer.catalog_revision());
  facts->Add(at + "input_format", answer.input_format());
  AddConfig(at, answer.config(), facts);
  AddFindings(at, answer.findings(), facts);
  AddChanges(at, answer.effective_changes(), facts);
  AddEach(at + "not_judged", answer.not_judged(), facts);
  AddEach(at + "wanted_file", answer.wanted_files(), facts);
  if (answer.has_repair()) AddRepair(at, answer.repair(), facts);
  if (answer.has_estimate()) AddEstimate(at, answer.estimate(), facts);
}

void AddAnswer(const std::string& at, const v1::PlanResult& answer, Facts* facts) {
  for (int i = 0; i < answer.plans_size(); ++i) {
    facts->Add(at + "plans", answer.plans(i).digest());
    AddAnswer(absl::StrCat(at, "plans.", i, "."), answer.plans(i), facts);
  }
  facts->Add(at + "space_count", answer.space_count());
  facts->Add(at + "judged_count", answer.judged_count());
  AddFindings(at, answer.findings(), facts);
}

void AddAnswer(const std::string& at, const v1::BatchResolveResponse& answer, Facts* facts) {
  const std::string below = absl::StrCat(at, answer.request_id(), ".");
  if (answer.has_resolve()) AddAnswer(below, answer.resolve(), facts);
  if (answer.has_validate()) AddAnswer(below, answer.validate(), facts);
  google::rpc::Status fine;
  AddStatus(below, answer.has_error() ? answer.error() : fine, facts);
}

void AddAnswer(const std::string& at, const v1::ConvertConfigResponse& answer, Facts* facts) {
  if (answer.has_launch()) AddLaunch(at, answer.launch(), facts);
  for (const v1::ConvertedKnob& knob : answer.converted()) facts->Add(at + "converted", knob.name());
  for (const v1::ConvertedKnob& knob : answer.dropped()) facts->Add(at + "dropped", knob.name());
  for (const v1::ConvertedKnob& knob : answer.pinned_defaults()) facts->Add(at + "pinned_default", knob.name());
  AddFindings(at + "source.", answer.source_findings(), facts);
  AddFindings(at + "target.", answer.target_findings(), facts);
}

void AddAnswer(const std::string& at, const v1::ModelSpec& answer, Facts* facts) {
  facts->Add(at + "name", answer.name());
  facts->Add(at + "family", answer.family());
  facts->Add(at + "attention", answer.attention());
  facts->Add(at + "num_layers", answer.num_layers());
  facts->Add(at + "hidden_size", answer.hidden_size());
  if (answer.has_num_moe_experts()) facts->Add(at + "num_moe_experts", answer.num_moe_experts());
  if (answer.has_moe_router_topk()) facts->Add(at + "moe_router_topk", answer.moe_router_topk());
  facts->Add(at + "tie_embeddings", answer.tie_embeddings());
  if (answer.has_rotary_base()) facts->Add(at + "rotary_base", answer.rotary_base());
  for (const auto& [name, value] : answer.extra_dimensions())
    facts->Add(absl::StrCat(at, "extra_dimensions.", name), value);
  facts->Add(at + "total_count", answer.parameters().total_count());
  facts->Add(at + "active_count", answer.parameters().active_count());
  AddEach(at + "sources", answer.sources(), facts);
}

void AddAnswer(const std::string& at, const v1::GpuSystem& answer, Facts* facts) {
  facts->Add(at + "name", answer.name());
  AddEach(at + "aliases", answer.aliases(), facts);
  facts->Add(at + "compute_capability", answer.compute_capability());
  facts->Add(at + "hbm_bytes", answer.hbm_bytes());
  facts->Add(at + "sm_count", answer.sm_count());
  facts->Add(at + "nvlink_bytes_per_second", answer.nvlink_bytes_per_second());
  facts->Add(at + "nvlink_domain_gpu_count", answer.nvlink_domain_gpu_count());
  AddEach(at + "flex_backends", answer.flex_backends(), facts);
}

void AddAnswer(const std::string& at, const v1::KnobInfo& answer, Facts* facts) {
  facts->Add(at + "name", answer.name());
  AddEach(at + "aliases", answer.aliases(), facts);
  facts->Add(at + "section", answer.section());
  facts->Add(at + "knob_class", answer.knob_class());
  facts->Add(at + "type", answer.type());
  AddEach(at + "choices", answer.choices(), facts);
  facts->Add(at + "default_value", Text(answer.default_value()));
  AddEach(at + "megatron_lm_flags", answer.megatron_lm_flags(), facts);
  facts->Add(at + "bridge_override", answer.bridge_override());
}

void AddAnswer(const std::string& at, const v1::RuleInfo& answer, Facts* facts) {
  facts->Add(at + "id", answer.id());
  facts->Add(at + "area", answer.area());
  facts->Add(at + "kind", answer.kind());
  facts->Add(at + "verdict", v1::VerdictKind_Name(answer.verdict()));
  AddEach(at + "reads", answer.reads(), facts);
  facts->Add(at + "text", answer.text());
  for (const v1::Fix& fix : answer.fixes()) facts->Add(at + "fix", Text(fix));
  facts->Add(at + "source", answer.source().text());
  facts->Add(at + "core_releases", answer.core_releases());
}

void AddAnswer(const std::string& at, const v1::ListModelsResponse& answer, Facts* facts) {
  for (const v1::ModelSpec& model : answer.models()) facts->Add(at + "names", model.name());
  facts->Add(at + "next_page_token", answer.next_page_token());
}

void AddAnswer(const std::string& at, const v1::ListGpusResponse& answer, Facts* facts) {
  for (const v1::GpuSystem& gpu : answer.gpus()) facts->Add(at + "names", gpu.name());
  facts->Add(at + "next_page_token", answer.next_page_token());
}

void AddAnswer(const std::string& at, const v1::ListKnobsResponse& answer, Facts* facts) {
  for (const v1::KnobInfo& knob : answer.knobs()) facts->Add(at + "names", knob.name());
  facts->Add(at + "next_page_token", answer.next_page_token());
}

void AddAnswer(const std::string& at, const v1::ListRulesResponse& answer, Facts* facts) {
  for (const v1::RuleInfo& rule : answer.rules()) facts->Add(at + "names", rule.id());
  facts->Add(at + "next_page_token", answer.next_page_token());
}

void AddAnswer(const std::string& at, const v1::Measurement& answer, Facts* facts) {
  facts->Add(at + "id", answer.id());
  facts->Add(at + "metric", answer.metric());
  facts->Add(at + "value", answer.value());
  if (answer.has_error()) facts->Add(at + "error", answer.error());
  facts->Add(at + "model", answer.model());
  facts->Add(at + "gpu", answer.gpu());
  facts->Add(at + "gpu_count", answer.gpu_count());
  facts->Add(at + "quality", answer.quality());
  facts->Add(at + "trust", answer.trust());
}

void AddAnswer(const std::string& at, const v1::ReportMeasurementResponse& answer, Facts* facts) {
  AddAnswer(at, answer.measurement(), facts);
  facts->Add(at + "~revision", answer.revision());
}

void AddAnswer(const std::string& at, const v1::ListMeasurementsResponse& answer, Facts* facts) {
  for (const v1::Measurement& measurement : answer.measurements()) facts->Add(at + "names", measurement.id());
  facts->Add(at + "next_page_token", answer.next_page_token());
  facts->Add(at + "~revision", answer.revision());
}

void AddAnswer(const std::string& at, const v1::HardwareProfile& answer, Facts* facts) {
  facts->Add(at + "name", answer.name());
  facts->Add(at + "device_name", answer.device_name());
  facts->Add(at + "gpu", answer.gpu());
  facts->Add(at + "kind", answer.kind());
  for (const v1::ProbeRow& row : answer.rows()) {
    facts->Add(at + "row", row.id());
    facts->Add(at + "row." + row.id(), row.value());
  }
}

void AddAnswer(const std::string& at, const v1::ListProfilesResponse& answer, Facts* facts) {
  for (const v1::HardwareProfile& profile : answer.profiles()) facts->Add(at + "names", profile.name());
  facts->Add(at + "next_page_token", answer.next_page_token());
}

namespace {

constexpr const char* kCodes[] = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

void AddDetail(const std::string& at, const google::protobuf::Any& detail, Facts* facts) {
  google::rpc::ErrorInfo info;
  google::rpc::BadRequest bad_request;
  google::rpc::PreconditionFailure precondition;
  if (detail.UnpackTo(&info)) {
    facts->Add(at + "reason", info.reason());
    facts->Add(at + "domain", info.domain());
  } else if (detail.UnpackTo(&bad_request)) {
    for (const auto& violation : bad_request.field_violations()) {
      facts->Add(at + "violation." + violation.field(), violation.description());
    }
  } else if (detail.UnpackTo(&precondition)) {
    for (const auto& violation : precondition.violations()) {
      facts->Add(at + "precondition." + violation.type(), violation.description());
    }
  } else if (detail.Is<google::rpc::RetryInfo>()) {
    facts->Add(at + "retry_info", true);
  }
}

}  // namespace

void AddStatus(const std::string& at, const google::rpc::Status& status, Facts* facts) {
  const int code = status.code();
  facts->Add(at + "code", code >= 0 && code < static_cast<int>(std::size(kCodes)) ? kCodes[code] : "OTHER");
  for (const google::protobuf::Any& detail : status.details()) AddDetail(at, detail, facts);
}

}  // namespace flightplan::conformance
