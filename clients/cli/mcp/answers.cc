#include "clients/cli/mcp/answers.h"

#include <algorithm>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "clients/cli/comparison.h"
#include "clients/cli/explain_page.h"
#include "clients/cli/findings.h"
#include "clients/cli/rpc/json_text.h"
#include "clients/cli/versions_page.h"
#include "clients/cli/words.h"
#include "flightplan/v1/catalog_service.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/base/bytes.h"
#include "service/version.h"

namespace flightplan::cli {
namespace {

constexpr double kSecond = 1e6;  // microseconds
constexpr int kMaxModels = 200;
constexpr int kMaxModelShapes = 20;  // of more the page has the shapes

constexpr Word<v1::FitVerdict> kFits[] = {{"fits", v1::FIT_VERDICT_FITS},
                                          {"marginal", v1::FIT_VERDICT_MARGINAL},
                                          {"does not fit", v1::FIT_VERDICT_DOES_NOT_FIT},
                                          {"unknown", v1::FIT_VERDICT_UNKNOWN}};
constexpr Word<v1::Severity> kSeverities[] = {
    {"error", v1::SEVERITY_ERROR}, {"warning", v1::SEVERITY_WARNING}, {"info", v1::SEVERITY_INFO}};
constexpr Word<v1::Completeness> kJudged[] = {
    {"in full", v1::COMPLETENESS_FULL}, {"in part", v1::COMPLETENESS_PARTIAL}, {"nothing", v1::COMPLETENESS_NONE}};

std::string FitWord(v1::FitVerdict fit) {
  const absl::string_view word = WordFor(kFits, fit);
  return word.empty() ? "unknown" : std::string(word);
}

// Four figures are more than any of our bands.
double Rounded(double value) {
  double rounded = value;
  (void)absl::SimpleAtod(absl::StrFormat("%.4g", value), &rounded);
  return rounded;
}

std::string RangeJson(const v1::Range& range, double unit) {
  return JsonObject()
      .Number("value", Rounded(range.value() / unit))
      .Number("low", Rounded(range.low() / unit))
      .Number("high", Rounded(range.high() / unit))
      .Json();
}

template <class Fixes>
std::string FixesJson(const Fixes& fixes, const Spelling& spelling) {
  return JsonStrings(doors::FixTexts(fixes, spelling, std::numeric_limits<size_t>::max()));
}

std::string FindingJson(const v1::Finding& finding, const Spelling& spelling) {
  JsonObject object;
  object.Text("severity", WordFor(kSeverities, finding.severity())).Text("rule", finding.rule_id());
  if (finding.location().has_line()) object.Integer("line", finding.location().line());
  object.Text("seen", finding.seen()).Text("needs", finding.needs());
  return object.Raw("fixes", FixesJson(finding.fixes(), spelling)).Json();
}

void AddFindings(const Findings& findings, const Spelling& spelling, JsonObject* object) {
  std::vector<std::string> shown;
  for (const v1::Finding& finding : findings) {
    if (static_cast<int>(shown.size()) < kMaxShownFindings) shown.push_back(FindingJson(finding, spelling));
  }
  object->Raw("findings", JsonList(shown))
      .Integer("findings_left_out", findings.size() - static_cast<int>(shown.size()));
}

std::string LayoutJson(const v1::ResolvedLayout& layout) {
  const v1::Layout& sizes = layout.sizes();
  JsonObject object;
  object.Integer("tp", sizes.tensor_model_parallel_size())
      .Integer("pp", sizes.pipeline_model_parallel_size())
      .Integer("vpp", std::max(1, sizes.virtual_pipeline_model_parallel_size()))
      .Integer("cp", sizes.context_parallel_size())
      .Integer("ep", std::max(1, sizes.expert_model_parallel_size()))
      .Integer("etp", std::max(1, sizes.expert_tensor_parallel_size()))
      .Integer("mbs", sizes.micro_batch_size())
      .Integer("dp", layout.data_parallel_size())
      .Integer("microbatches", layout.microbatch_count());
  if (!sizes.pipeline_model_parallel_layout().empty()) {
    object.Text("pipeline_layout", sizes.pipeline_model_parallel_layout());
  }
  return object.Json();
}

void AddForecast(const v1::Estimate& estimate, JsonObject* object) {
  if (const v1::StageMemory* fullest = FullestStage(estimate); fullest != nullptr) {
    object->Raw("memory_gib", RangeJson(fullest->total_bytes(), kGib));
    object->Number("usable_gib", Rounded(static_cast<double>(estimate.usable_bytes()) / kGib));
  }
  if (!estimate.has_step_time_us()) return;
  object->Raw("step_seconds", RangeJson(estimate.step_time_us(), kSecond));
  object->Number("tokens_per_second_per_gpu", Rounded(estimate.tokens_per_second_per_gpu()));
  if (estimate.mfu_ratio() > 0) object->Number("mfu", Rounded(estimate.mfu_ratio()));
}

std::string RepairJson(const v1::Repair& repair, const Spelling& spelling) {
  std::vector<std::string> steps;
  for (const v1::RepairStep& step : repair.steps()) {
    steps.push_back(JsonObject().Text("rule", step.rule_id()).Text("fix", StepText(step, spelling)).Json());
  }
  JsonObject object;
  object.Bool("accepted_by_stack", repair.accepted_by_stack()).Bool("will_run", repair.will_run());
  object.Raw("steps", JsonList(steps));
  if (repair.has_unwritten()) object.Text("not_written", FixText(repair.unwritten(), spelling));
  AddFindings(repair.findings(), spelling, &object);
  return object.Json();
}

std::string ResolvedJson(const v1::ResolveConfigResponse& answer) {
  JsonObject object;
  object.Text("target", answer.target())
      .Bool("accepted_by_stack", answer.accepted_by_stack())
      .Bool("will_run", answer.will_run())
      .Text("fits", FitWord(answer.estimate().fit()));
  AddForecast(answer.estimate(), &object);
  if (answer.layout().sizes().has_tensor_model_parallel_size()) object.Raw("layout", LayoutJson(answer.layout()));
  AddFindings(answer.findings(), FlagSpelling(answer.config()), &object);
  return object.Text("digest", answer.digest()).Json();
}

std::string JudgedJson(const v1::ValidateConfigResponse& answer) {
  const Spelling spelling = TargetSpelling(answer.config(), answer.target());
  const absl::string_view judged = WordFor(kJudged, answer.completeness());
  JsonObject object;
  object.Text("target", answer.target()).Text("judged", judged.empty() ? "in full" : judged);
  if (answer.completeness() != v1::COMPLETENESS_NONE) {  // of nothing there is no verdict
    object.Bool("accepted_by_stack", answer.accepted_by_stack()).Bool("will_run", answer.will_run());
  }
  object.Text("fits", FitWord(answer.memory().fit()));
  AddForecast(answer.estimate(), &object);
  AddFindings(answer.findings(), spelling, &object);
  object.Raw("not_judged", JsonStrings({answer.not_judged().begin(), answer.not_judged().end()}));
  if (answer.has_repair()) object.Raw("repair", RepairJson(answer.repair(), spelling));
  return object.Text("digest", answer.digest()).Json();
}

std::string PlansJson(const v1::PlanResult& result) {
  std::vector<std::string> plans;
  for (const v1::ResolveConfigResponse& plan : result.plans()) {
    if (plans.size() == kMaxShownFindings) break;
    JsonObject object;
    object.Raw("layout", LayoutJson(plan.layout())).Text("fits", FitWord(plan.estimate().fit()));
    AddForecast(plan.estimate(), &object);
    plans.push_back(object.Text("digest", plan.digest()).Json());
  }
  JsonObject object;
  object.Raw("plans", JsonList(plans))
      .Integer("candidates", result.space_count())
      .Integer("candidates_judged", result.judged_count());
  AddFindings(result.findings(), FlagSpelling({}), &object);
  return object.Json();
}

std::string ConversionJson(const v1::ConvertConfigResponse& answer) {
  std::vector<std::string> dropped;
  for (const v1::ConvertedKnob& knob : answer.dropped()) dropped.push_back(knob.name());
  JsonObject object;
  object.Text("dialect", answer.launch().dialect())
      .Bool("accepted_by_stack", !HasError(answer.target_findings()))
      .Integer("converted", answer.converted_size())
      .Raw("dropped", JsonStrings(dropped))
      .Integer("defaults_written", answer.pinned_defaults_size());
  AddFindings(answer.target_findings(), TargetSpelling({}, answer.launch().dialect()), &object);
  return object.Json();
}

std::string RuleJson(const v1::RuleInfo& rule) {
  return JsonObject()
      .Text("what", "rule")
      .Text("name", rule.id())
      .Text("kind", rule.kind())
      .Text("text", rule.text())
      .Raw("reads", JsonStrings({rule.reads().begin(), rule.reads().end()}))
      .Text("source", rule.source().text())
      .Json();
}

std::string KnobJson(const v1::KnobInfo& knob) {
  return JsonObject()
      .Text("what", knob.knob_class() == kVariableClass ? kVariableClass : "knob")
      .Text("name", knob.name())
      .Text("kind", knob.knob_class())
      .Text("text", knob.note())
      .Text("type", knob.type())
      .Text("default", ValueText(knob.default_value()))
      .Raw("choices", JsonStrings({knob.choices().begin(), knob.choices().end()}))
      .Raw("flags", JsonStrings({knob.megatron_lm_flags().begin(), knob.megatron_lm_flags().end()}))
      .Json();
}

std::string ModelJson(const v1::ModelSpec& model, bool shape) {
  JsonObject object;
  object.Text("name", model.name())
      .Integer("total_parameters", model.parameters().total_count())
      .Integer("active_parameters", model.parameters().active_count());
  if (shape) object.Integer("layers", model.num_layers()).Integer("experts", model.num_moe_experts());
  return object.Json();
}

std::string ModelsJson(const google::protobuf::RepeatedPtrField<v1::ModelSpec>& models) {
  std::vector<std::string> shown;
  for (const v1::ModelSpec& model : models) {
    if (static_cast<int>(shown.size()) < kMaxModels)
      shown.push_back(ModelJson(model, models.size() <= kMaxModelShapes));
  }
  return JsonObject().Raw("models", JsonList(shown)).Json();
}

std::string GpusJson(const v1::ListGpusResponse& list) {
  std::vector<std::string> shown;
  for (const v1::GpuSystem& gpu : list.gpus()) {
    shown.push_back(JsonObject()
                        .Text("name", gpu.name())
                        .Number("hbm_gib", Rounded(static_cast<double>(gpu.hbm_bytes()) / kGib))
                        .Integer("nvlink_domain", gpu.nvlink_domain_gpu_count())
                        .Json());
  }
  return JsonObject().Raw("gpus", JsonList(shown)).Json();
}

std::string ReleasesJson() {
  return JsonObject().Text("version", service::kVersion).Raw("targets", JsonStrings(TargetNames())).Json();
}

template <class Message>
const Message* As(const google::protobuf::Message& message) {
  return message.GetDescriptor() == Message::descriptor() ? static_cast<const Message*>(&message) : nullptr;
}

}  // namespace

std::string StructuredOf(const google::protobuf::Message& message) {
  if (const auto* answer = As<v1::ResolveConfigResponse>(message)) return ResolvedJson(*answer);
  if (const auto* answer = As<v1::ValidateConfigResponse>(message)) return JudgedJson(*answer);
  if (const auto* answer = As<v1::PlanResult>(message)) return PlansJson(*answer);
  if (const auto* answer = As<v1::ConvertConfigResponse>(message)) return ConversionJson(*answer);
  if (const auto* answer = As<v1::RuleInfo>(message)) return RuleJson(*answer);
  if (const auto* answer = As<v1::KnobInfo>(message)) return KnobJson(*answer);
  if (const auto* answer = As<v1::ModelSpec>(message))
    return JsonObject().Raw("models", JsonList({ModelJson(*answer, true)})).Json();
  if (const auto* answer = As<v1::ListModelsResponse>(message)) return ModelsJson(answer->models());
  if (const auto* answer = As<v1::ListGpusResponse>(message)) return GpusJson(*answer);
  return "";
}

std::string StructuredAnswer(ToolAnswer answer, const std::vector<std::string>& answers) {
  if (answer == ToolAnswer::kReleases) return ReleasesJson();
  if (answer != ToolAnswer::kSides) return answers.empty() ? "" : answers.front();
  return answers.size() == 2 ? JsonObject().Raw("a", answers[0]).Raw("b", answers[1]).Json() : "";
}

}  // namespace flightplan::cli
