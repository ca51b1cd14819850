// From a request to its answer: normalize, the pipeline (pipeline/resolve.cc has its order), answer.
#include "resolver/resolver.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/evidence.pb.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "flightplan/v1/timeline.pb.h"
#include "resolver/advise/advise.h"
#include "resolver/advise/next_package.h"
#include "resolver/answer/judge_answer.h"
#include "resolver/answer/plan_answer.h"
#include "resolver/answer/resolve_answer.h"
#include "resolver/answer/timeline_answer.h"
#include "resolver/base/digest.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/catalog/spellings.h"
#include "resolver/engine/engine.h"
#include "resolver/evidence/profile_source.h"
#include "resolver/explain/answer_message.h"
#include "resolver/judge/convert_config.h"
#include "resolver/judge/draw_config.h"
#include "resolver/judge/judge.h"
#include "resolver/judge/judge_launches.h"
#include "resolver/judge/planned_launch.h"
#include "resolver/judge/repair_config.h"
#include "resolver/judge/shown_launch.h"
#include "resolver/judge/vet_config.h"
#include "resolver/layouts/execution_space.h"
#include "resolver/layouts/open_layout.h"
#include "resolver/layouts/plan_layouts.h"
#include "resolver/layouts/resolve_layout.h"
#include "resolver/layouts/weigh_executions.h"
#include "resolver/normalize/canonical_bytes.h"
#include "resolver/normalize/judge_request.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/normalize/layout_message.h"
#include "resolver/normalize/message_enum.h"
#include "resolver/normalize/model_message.h"
#include "resolver/normalize/recorded_profiles.h"
#include "resolver/normalize/reported_run.h"
#include "resolver/normalize/resolve_request.h"
#include "resolver/normalize/timeline_request.h"
#include "resolver/normalize/violations.h"
#include "resolver/pipeline/choose_profile.h"
#include "resolver/pipeline/draw_plan.h"
#include "resolver/pipeline/forecast_run.h"
#include "resolver/pipeline/known_shape.h"
#include "resolver/pipeline/vet_fixes.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

constexpr int kDefaultPlans = 10;
constexpr int kMaxPlans = 100;
// Of an answer with plans: what stands around each, and the findings and counts of the search.
constexpr size_t kBytesAroundAPlan = 8;
constexpr size_t kBytesBesidePlans = size_t{16} << 10;

// Of the question, however much of the answer is wanted.
template <class Request>
std::string QuestionBytes(const Request& request) {
  std::string bytes = CanonicalBytes(request);
  if (request.view() == v1::ANSWER_VIEW_UNSPECIFIED) return bytes;
  // The last field as a rule: taken off, where a copy of the request would cost more than the rest of a verdict.
  const char last[] = {static_cast<char>(Request::kViewFieldNumber << 3), static_cast<char>(request.view())};
  const absl::string_view view(last, sizeof(last));
  if (absl::EndsWith(bytes, view)) {
    bytes.resize(bytes.size() - view.size());
    return bytes;
  }
  Request question = request;
  question.clear_view();
  return CanonicalBytes(question);
}

// Text that is no UTF-8 comes only from callers in this process (gRPC refuses it) and goes into the answer as it is,
// which then does not read.
template <class Request>
absl::Status ReadAnswerTo(const Request& request, const ConfigAnswer& answer, google::protobuf::MessageLite* response) {
  absl::Status status = ReadAnswer(answer, response);
  if (status.ok() || Request().ParseFromString(request.SerializeAsString())) return status;
  return absl::InvalidArgumentError("the request holds text that is no UTF-8");
}

constexpr std::pair<v1::PlanObjective, PlanObjective> kObjectives[] = {
    {v1::PLAN_OBJECTIVE_UNSPECIFIED, PlanObjective::kStepTime},
    {v1::PLAN_OBJECTIVE_STEP_TIME, PlanObjective::kStepTime},
    {v1::PLAN_OBJECTIVE_MEMORY_HEADROOM, PlanObjective::kMemoryHeadroom},
    {v1::PLAN_OBJECTIVE_GPU_COUNT, PlanObjective::kGpuCount}};

absl::Status ReadPlanRequest(const v1::PlanLayoutsRequest& request, PlanObjective* objective) {
  Violations violations;
  *objective = ReadEnum(request.objective(), kObjectives, PlanObjective::kStepTime, "objective", &violations);
  if (request.has_plan_count() && (request.plan_count() < 1 || request.plan_count() > kMaxPlans)) {
    violations.Add("plan_count", absl::StrCat("must be 1..", kMaxPlans, ", not ", request.plan_count()));
    return violations.ToStatus();
  }
  if (request.base().view() != v1::ANSWER_VIEW_UNSPECIFIED) {
    violations.Add("base.view", "must be unset: plans are answered in full");
  }
  return violations.ToStatus();
}

// The question whose answer a plan is: the caller's, with what the search gave to it.
v1::ResolveConfigRequest AskedAs(const v1::ResolveConfigRequest& base, const NormalizedIntent& question,
                                 const NormalizedIntent& plan) {
  v1::ResolveConfigRequest asked = base;
  asked.mutable_hardware()->set_gpu_count(static_cast<int32_t>(plan.gpu_count));
  LayoutToMessage(plan.layout, asked.mutable_layout());
  for (const auto& [knob, value] : plan.pins) {
    if (PinOf(question, knob).has_value()) continue;
    v1::KnobSetting* const setting = asked.add_pinned_knobs();
    setting->set_name(std::string(Name(knob)));
    ValueToMessage(value, setting->mutable_value());
  }
  return asked;
}

// A text whose caller names no stack, as a question about the stack that it shows; flags and YAML that show none may
// be Megatron-LM's. Empty: the stack is named, or there is no text. `nothing`: why a text is of no training.
std::optional<v1::ValidateConfigRequest> WithShownStack(const v1::ValidateConfigRequest& request,
                                                        std::string* nothing) {
  if (!request.has_file() || !request.target().framework().empty()) return std::nullopt;
  const EnvVars vars(request.env().begin(), request.env().end());
  ShownLaunch shown = ReadShownLaunch(request.file().name(), request.file().text(), vars);
  if (request.input_format().empty() && shown.nothing.has_value() && !shown.nothing->unread && !shown.nothing->maybe) {
    *nothing = std::move(shown.nothing->why);
  }
  v1::ValidateConfigRequest asked = request;
  asked.mutable_target()->set_framework(std::string(StackOf(shown.stack.value_or(Target())).name));
  return asked;
}

std::string ShownModel(const ModelSpec& model) {
  v1::ModelSpec message;
  ModelToMessage(model, &message);
  return CanonicalBytes(message);
}

}  // namespace

Resolver::Resolver(std::shared_ptr<const Catalog> catalog, std::shared_ptr<const ProfileSource> profiles)
    : catalog_(std::move(catalog)),
      profiles_(std::move(profiles)),
      known_profiles_(std::make_unique<const KnownProfiles>(KnownProfiles{profiles_.get(), &RecordedProfiles})) {
  for (const ModelSpec& model : catalog_->models()) {
    KnownModel& known = known_models_[model.name];
    known.shown = ShownModel(model);
    known.shape = KnownShape(model);
  }
}
Resolver::~Resolver() = default;

const Resolver::KnownModel* Resolver::Known(const v1::ResolveConfigRequest& question,
                                            const NormalizedIntent& intent) const {
  if (question.model().source_case() != v1::ModelRef::kName) return nullptr;
  const auto known = known_models_.find(intent.model.name);
  return known == known_models_.end() ? nullptr : &known->second;
}

absl::StatusOr<NormalizedIntent> Resolver::ReadQuestion(const v1::ResolveConfigRequest& question) const {
  FLIGHTPLAN_ASSIGN_OR_RETURN(NormalizedIntent intent, NormalizeResolve(question, *catalog_));
  const KnownModel* const known = Known(question, intent);
  intent.shape = known != nullptr ? known->shape : KnownShape(intent.model);
  FLIGHTPLAN_RETURN_IF_ERROR(ChooseProfile(*known_profiles_, &intent));
  return intent;
}

absl::StatusOr<JudgeQuestion> Resolver::ReadQuestion(const v1::ValidateConfigRequest& question,
                                                     const EvidenceSnapshot& evidence) const {
  FLIGHTPLAN_ASSIGN_OR_RETURN(JudgeQuestion read, NormalizeValidate(question, *catalog_));
  read.profiles = known_profiles_.get();
  read.evidence = &evidence;
  return read;
}

template <class Request>
std::string Resolver::Digest(const Request& request, const EvidenceSnapshot& evidence) const {
  std::string bytes = QuestionBytes(request);
  absl::StrAppend(&bytes, "\n", catalog_->revision(), "\n", evidence.version());
  const std::string profiles = profiles_ == nullptr ? "" : profiles_->revision();
  if (!profiles.empty()) absl::StrAppend(&bytes, "\n", profiles);
  return absl::StrCat("fp1-", Sha256Hex(bytes).substr(0, 32));
}

absl::Status Resolver::ResolveConfig(const v1::ResolveConfigRequest& request, v1::ResolveConfigResponse* response,
                                     const EvidenceSnapshot& evidence) const {
  ConfigAnswer answer;
  FLIGHTPLAN_RETURN_IF_ERROR(AnswerResolve(request, evidence, &answer));
  return ReadAnswerTo(request, answer, response);
}

absl::Status Resolver::ValidateConfig(const v1::ValidateConfigRequest& request, v1::ValidateConfigResponse* response,
                                      const EvidenceSnapshot& evidence) const {
  ConfigAnswer answer;
  FLIGHTPLAN_RETURN_IF_ERROR(AnswerValidate(request, evidence, &answer));
  return ReadAnswerTo(request, answer, response);
}

ConfigAnswer Resolver::Answer(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                              ResolvedPlan* plan) const {
  const bool full = plan->intent.view == View::kFull;
  // Of a search without a plan the sizes are still open, and so they are where its fix is asked for.
  const auto again = [&](const NormalizedIntent& asked) {
    return OpenLayoutFields(asked).empty() ? ResolveLayout(asked, evidence) : ResolveOpenLayout(asked, evidence);
  };
  VetFixes(again, plan);
  if (full) {
    Advise(plan, [plan](AbSuggestion* ab) { return MakeRoomForPair(*plan, ab); });
    for (const auto find : {FindNextPackage, FindNextPin}) {
      if (std::optional<Finding> next = find(again, *plan)) plan->run.findings.push_back(*std::move(next));
    }
  }
  const auto own = OwnLaunch(*plan);
  for (Finding& lost : FindUnwrittenPins(*plan, own, *catalog_)) plan->run.findings.push_back(std::move(lost));
  SortForPeople(&plan->run.findings);
  AnswerOrigin origin{Digest(request, evidence), catalog_->revision(), evidence.revision()};
  const KnownModel* const known = Known(request, plan->intent);
  const std::optional<ModelSpec> changed = full ? PinnedModel(plan->intent, plan->run.config) : std::nullopt;
  const bool as_known = known != nullptr && !changed.has_value();
  const std::string other = as_known || !full ? "" : ShownModel(changed.has_value() ? *changed : plan->intent.model);
  return AnswerOf(*plan, own, std::move(origin), as_known ? known->shown : other);
}

absl::Status Resolver::AnswerResolve(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                                     ConfigAnswer* answer) const {
  FLIGHTPLAN_ASSIGN_OR_RETURN(NormalizedIntent intent, ReadQuestion(request));
  const bool closed = OpenLayoutFields(intent).empty();
  absl::StatusOr<ResolvedPlan> plan =
      closed ? ResolveLayout(intent, evidence) : ResolveOpenLayout(std::move(intent), evidence);
  if (!plan.ok()) return plan.status();
  *answer = Answer(request, evidence, &*plan);
  return absl::OkStatus();
}

absl::Status Resolver::AnswerValidate(const v1::ValidateConfigRequest& request, const EvidenceSnapshot& evidence,
                                      ConfigAnswer* answer) const {
  std::string nothing;
  if (const auto shown = WithShownStack(request, &nothing); shown.has_value()) {
    if (nothing.empty()) return AnswerValidate(*shown, evidence, answer);
    FLIGHTPLAN_RETURN_IF_ERROR(ReadQuestion(*shown, evidence).status());
    *answer = AnswerNothing(nothing, {Digest(request, evidence), catalog_->revision(), evidence.revision()});
    return absl::OkStatus();
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(JudgeQuestion question, ReadQuestion(request, evidence));
  FLIGHTPLAN_ASSIGN_OR_RETURN(JudgedLaunches launches, JudgeLaunches(question));
  JudgedConfig& judged = launches.judged;
  if (question.view >= View::kBasic) ForecastStep(&judged);
  VetFixes(question.view, &judged);
  std::optional<RepairedConfig> repaired;
  if (question.repair && WantsRepair(question, judged)) {
    question.launch = launches.launch;
    FLIGHTPLAN_ASSIGN_OR_RETURN(repaired, RepairConfig(question, launches.written));
    // A stack whose loss is its own may need less than we say: what helps is done, and nothing is said where none does.
    if (judged.verdicts.will_run && repaired->steps.empty()) repaired.reset();
    if (repaired.has_value() && question.view >= View::kBasic) ForecastStep(&repaired->judged);
  }
  *answer = AnswerOf(judged, repaired.has_value() ? &*repaired : nullptr, question.view,
                     {Digest(request, evidence), catalog_->revision(), evidence.revision()});
  return absl::OkStatus();
}

absl::Status Resolver::ConvertConfig(const v1::ConvertConfigRequest& request,
                                     v1::ConvertConfigResponse* response) const {
  std::string nothing;
  if (const auto shown = WithShownStack(request.source(), &nothing); shown.has_value()) {
    if (!nothing.empty()) {
      Violations violations;
      violations.Add("source.target.framework", absl::StrCat("is required where the text shows none: ", nothing));
      return violations.ToStatus();
    }
    v1::ConvertConfigRequest asked = request;
    *asked.mutable_source() = *shown;
    return ConvertConfig(asked, response);
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(ConvertQuestion question, NormalizeConvert(request, *catalog_));
  question.source.profiles = known_profiles_.get();
  // Of several launches the one that a verdict on the script is of. What is wrong with the text Convert says.
  if (const auto judged = JudgeLaunches(question.source); judged.ok()) question.source.launch = judged->launch;
  FLIGHTPLAN_ASSIGN_OR_RETURN(const ConvertedConfig converted, Convert(question));
  return ReadAnswerTo(request, AnswerOf(converted), response);
}

absl::Status Resolver::DescribeTimeline(const v1::DescribeTimelineRequest& request,
                                        v1::DescribeTimelineResponse* response,
                                        const EvidenceSnapshot& evidence) const {
  std::string nothing;
  if (const auto shown = WithShownStack(request.validate(), &nothing); shown.has_value()) {
    v1::DescribeTimelineRequest with_stack = request;
    *with_stack.mutable_validate() = *shown;
    return DescribeTimeline(with_stack, response, evidence);
  }
  FLIGHTPLAN_ASSIGN_OR_RETURN(const TimelineAsked asked, NormalizeTimeline(request));
  response->set_catalog_revision(catalog_->revision());
  if (request.config_case() == v1::DescribeTimelineRequest::kValidate) {
    const absl::StatusOr<JudgeQuestion> question = ReadQuestion(request.validate(), evidence);
    if (!question.ok()) return WithFieldsBelow("validate", question.status());
    FLIGHTPLAN_ASSIGN_OR_RETURN(JudgedLaunches launches, JudgeLaunches(*question));
    JudgedConfig& judged = launches.judged;
    const absl::StatusOr<Timeline> timeline = DrawConfig(judged, asked);
    if (!timeline.ok()) return AsViolation(timeline.status());
    ForecastStep(&judged);
    TimelineToMessage(*timeline, response);
    if (judged.step.has_value() && judged.step->outlook.us != timeline->step_us) {
      response->set_answer_step_time_us(judged.step->outlook.us);
    }
    response->set_will_run(judged.verdicts.will_run);
    response->set_target(TargetName(judged.run.env));
    response->set_digest(Digest(request.validate(), evidence));
    return absl::OkStatus();
  }
  absl::StatusOr<NormalizedIntent> intent = ReadQuestion(request.resolve());
  if (!intent.ok()) return WithFieldsBelow("resolve", intent.status());
  const bool closed = OpenLayoutFields(*intent).empty();
  FLIGHTPLAN_ASSIGN_OR_RETURN(const ResolvedPlan plan, closed ? ResolveLayout(*intent, evidence)
                                                              : ResolveOpenLayout(*std::move(intent), evidence));
  const absl::StatusOr<Timeline> timeline = DrawPlan(plan, asked);
  if (!timeline.ok()) return AsViolation(timeline.status());
  TimelineToMessage(*timeline, response);
  const double answered_us = plan.step != nullptr ? plan.step->outlook.us : 0;
  if (answered_us != timeline->step_us) response->set_answer_step_time_us(answered_us);
  response->set_will_run(VerdictsOf(plan.run.findings).will_run);
  response->set_target(TargetName(plan.env));
  response->set_digest(Digest(request.resolve(), evidence));
  return absl::OkStatus();
}

absl::Status Resolver::PlanLayouts(const v1::PlanLayoutsRequest& request, const PlanHooks& hooks,
                                   v1::PlanResult* result, const EvidenceSnapshot& evidence) const {
  PlanObjective objective{};
  FLIGHTPLAN_RETURN_IF_ERROR(ReadPlanRequest(request, &objective));
  const absl::StatusOr<NormalizedIntent> intent = ReadQuestion(request.base());
  if (!intent.ok()) return WithFieldsBelow("base", intent.status());
  const auto wanted = static_cast<size_t>(request.has_plan_count() ? request.plan_count() : kDefaultPlans);
  FLIGHTPLAN_ASSIGN_OR_RETURN(PlanList list, flightplan::PlanLayouts(*intent, objective, wanted, evidence, hooks));
  std::vector<ConfigAnswer> plans;
  plans.reserve(list.plans.size());
  size_t bytes = kBytesBesidePlans;
  for (PlanAnswer& found : list.plans) {
    if (!plans.empty() && hooks.write_on != nullptr && !hooks.write_on()) {
      list.findings.push_back(AnswerLate(plans.size(), list.plans.size()));
      break;
    }
    const v1::ResolveConfigRequest asked = AskedAs(request.base(), *intent, found.plan.intent);
    ConfigAnswer plan = Answer(asked, evidence, &found.plan);
    bytes += plan.bytes.size() + kBytesAroundAPlan;
    if (bytes > hooks.max_answer_bytes) {
      list.findings.push_back(AnswerCut(plans.size(), list.plans.size(), hooks.max_answer_bytes));
      break;
    }
    plans.push_back(std::move(plan));
  }
  return ReadAnswerTo(request, AnswerOf(list, plans), result);
}

absl::StatusOr<Measurement> Resolver::ReadMeasurement(const v1::Measurement& message,
                                                      std::optional<int64_t> now_us) const {
  FLIGHTPLAN_ASSIGN_OR_RETURN(ReportedRun reported, NormalizeReport(message, now_us, *catalog_));
  NormalizedIntent* const other = reported.other.has_value() ? &*reported.other : nullptr;
  // By the rates that the questions are forecast with which it then corrects.
  FLIGHTPLAN_RETURN_IF_ERROR(ChooseProfile(*known_profiles_, &reported.intent));
  if (other != nullptr) FLIGHTPLAN_RETURN_IF_ERROR(ChooseProfile(*known_profiles_, other));
  FLIGHTPLAN_ASSIGN_OR_RETURN(const std::vector<ReportFault> faults,
                              ForecastRun(reported.intent, other, message.value(), &reported.run));
  for (const ReportFault& fault : faults) {
    reported.violations.Add(absl::StrCat("measurement.", fault.field), fault.what);
  }
  FLIGHTPLAN_RETURN_IF_ERROR(reported.violations.ToStatus());
  reported.report.run = std::make_shared<const MeasuredRun>(std::move(reported.run));
  return std::move(reported.report);
}

}  // namespace flightplan
