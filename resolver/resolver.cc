// proto -> normalize -> derive -> rules (decide, check) -> estimate -> render -> response
#include "resolver/resolver.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/apply_evidence.h"
#include "resolver/attach_probe.h"
#include "resolver/base/digest.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/catalog/defaults.h"
#include "resolver/convert_config.h"
#include "resolver/derive/placement.h"
#include "resolver/derive/start_config.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/engine/engine.h"
#include "resolver/engine/settle.h"
#include "resolver/estimate/estimate.h"
#include "resolver/estimate/step_model.h"
#include "resolver/evidence/profile_source.h"
#include "resolver/explain/answer_message.h"
#include "resolver/loongforge_parts.h"
#include "resolver/next_step.h"
#include "resolver/normalize/canonical_bytes.h"
#include "resolver/normalize/model_message.h"
#include "resolver/normalize/request.h"
#include "resolver/open_layout.h"
#include "resolver/read_config.h"
#include "resolver/render/dialects.h"
#include "resolver/repair_config.h"
#include "resolver/response.h"
#include "resolver/rules/decide/decide.h"
#include "resolver/unknown_values.h"
#include "resolver/weigh_config.h"

namespace flightplan {
namespace {

constexpr size_t kAnswerRoom = size_t{48} << 10;  // most answers need less
constexpr size_t kSmallAnswerRoom = size_t{8} << 10;

// `read`: what the reader of a configuration refused; empty where nothing was read.
void SetVerdicts(const std::vector<Finding>& findings, absl::Span<const ParseFinding> read, ConfigAnswer* answer) {
  const auto fails = [&](Verdict verdict) {
    const auto is = [&](const Finding& f) { return f.severity == Severity::kError && f.verdict == verdict; };
    return std::any_of(findings.begin(), findings.end(), is) ||
           std::any_of(read.begin(), read.end(), [&](const ParseFinding& parse) { return is(parse.finding); });
  };
  answer->accepted_by_stack = !fails(Verdict::kAccepted);
  answer->will_run = answer->accepted_by_stack && !fails(Verdict::kWillRun);
}

// The place of the first of a finding's knobs that was written; null: none was.
const SourcePosition* PlaceOf(const Finding& finding, const std::vector<ParsedKnob>& written) {
  for (const Observed& seen : finding.observed) {
    const std::optional<Knob> knob = FindKnob(seen.name);
    if (!knob.has_value()) continue;
    const auto last =
        std::find_if(written.rbegin(), written.rend(), [&](const ParsedKnob& p) { return p.knob == *knob; });
    if (last != written.rend() && (last->at.index >= 0 || last->at.line != 0)) return &last->at;
  }
  return nullptr;
}

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

// Same question, catalogue and evidence: same digest. Maps are written in key order.
template <class Request>
std::string DigestOf(const Request& request, const std::string& catalog_revision, absl::string_view evidence_version,
                     absl::string_view profiles_revision = "") {
  std::string bytes = QuestionBytes(request);
  absl::StrAppend(&bytes, "\n", catalog_revision, "\n", evidence_version);
  if (!profiles_revision.empty()) absl::StrAppend(&bytes, "\n", profiles_revision);
  return absl::StrCat("fp1-", Sha256Hex(bytes).substr(0, 32));
}

void PutLayout(int field, const Config& config, const Placement& placement, WireWriter* w) {
  using M = v1::ResolvedLayout;
  using L = v1::Layout;
  const auto at_least = [&](int64_t least, Knob knob) {
    return std::clamp<int64_t>(config.Get(knob).integer(), least, INT32_MAX);
  };
  w->PutMessage(field, [&] {
    w->PutMessage(M::kSizesFieldNumber, [&] {
      w->PutInt(L::kTensorModelParallelSizeFieldNumber, at_least(0, Knob::tensor_model_parallel_size));
      w->PutInt(L::kPipelineModelParallelSizeFieldNumber, at_least(0, Knob::pipeline_model_parallel_size));
      w->PutInt(L::kVirtualPipelineModelParallelSizeFieldNumber,
                at_least(1, Knob::virtual_pipeline_model_parallel_size));
      w->PutInt(L::kContextParallelSizeFieldNumber, at_least(0, Knob::context_parallel_size));
      w->PutInt(L::kExpertModelParallelSizeFieldNumber, at_least(0, Knob::expert_model_parallel_size));
      w->PutInt(L::kExpertTensorParallelSizeFieldNumber, at_least(1, Knob::expert_tensor_parallel_size));
      w->PutInt(L::kMicroBatchSizeFieldNumber, at_least(0, Knob::micro_batch_size));
      const Value& layout = config.Get(Knob::pipeline_model_parallel_layout);
      if (layout.is_text()) w->PutText(L::kPipelineModelParallelLayoutFieldNumber, layout.text());
      w->PutBool(L::kSequenceParallelFieldNumber, config.Get(Knob::sequence_parallel).truthy());
    });
    w->Int(M::kDataParallelSizeFieldNumber, placement.data_parallel_size);
    w->Int(M::kExpertDataParallelSizeFieldNumber, placement.expert_data_parallel_size);
    w->Int(M::kMicrobatchCountFieldNumber, placement.microbatch_count);
    w->Int(M::kEpDomainCountFieldNumber, std::min<int64_t>(placement.ep_domain_count, INT32_MAX));
  });
}

// The caller's environment with what was estimated.
Environment EnvironmentOf(const NormalizedIntent& intent, const EstimatedPlan& estimate) {
  Environment env = intent.env;
  if (!estimate.stages.empty()) {
    const Band& total = estimate.stages[estimate.fullest].total;
    env.static_memory_bytes = estimate.static_bytes;
    env.memory_bytes = {std::llround(total.low), std::llround(total.value), std::llround(total.high)};
  }
  if (estimate.usable_bytes > 0) env.usable_memory_bytes = estimate.usable_bytes;
  return env;
}

// A whole answer, as a view shows it.
void ShowOnly(View view, v1::ResolveConfigResponse* answer) {
  if (view == View::kFull) return;
  answer->clear_config();
  answer->clear_decisions();
  answer->clear_effective_changes();
  answer->clear_ab_suggestions();
  answer->clear_model();
  auto* const findings = answer->mutable_findings();
  const auto next_step = [](const v1::Finding& finding) { return finding.rule_id() == kNextStepId; };
  findings->erase(std::remove_if(findings->begin(), findings->end(), next_step), findings->end());
  if (view == View::kBasic) return;
  answer->clear_estimate();
  answer->clear_launches();
  answer->clear_layout();
}

// The plan's own launch is the answer's first; the other run differs from it in the knob and its companions alone.
Launch OtherLaunch(const AbSuggestion& ab, const DecidedPlan& plan, const Environment& env, const Written& own) {
  Config other = plan.config;
  other.Set(ab.knob, ab.other_value, Origin::kDecided);
  for (const auto& [knob, value] : ab.companions) other.Set(knob, value, Origin::kDecided);
  const Config written = WriteForTarget(std::move(other), env);
  return RenderDialect(OwnDialect(env.target), {written, env, plan.env, &own});
}

void AddFound(const Finding& finding, ConfigAnswer* answer) {
  answer->findings.push_back({std::string(finding.rule_id.data(), finding.rule_id.size()), finding.severity});
}

void AddNextStep(NextStep next, std::vector<Finding>* findings, std::vector<AbSuggestion>* ab_suggestions) {
  findings->push_back(std::move(next.finding));
  if (!next.ab.has_value()) return;
  // A decision may have suggested the same run already.
  for (const AbSuggestion& known : *ab_suggestions) {
    if (known.knob == next.ab->knob && known.other_value == next.ab->other_value) return;
  }
  ab_suggestions->push_back(*std::move(next.ab));
}

// Text that is no UTF-8 comes only from callers in this process (gRPC refuses it) and goes into the answer as it is,
// which then does not read.
template <class Request>
absl::Status ReadAnswerTo(const Request& request, const ConfigAnswer& answer, google::protobuf::MessageLite* response) {
  const absl::Status status = ReadAnswer(answer, response);
  if (status.ok() || Request().ParseFromString(request.SerializeAsString())) return status;
  return absl::InvalidArgumentError("the request holds text that is no UTF-8");
}

std::string ShownModel(const ModelSpec& model) {
  v1::ModelSpec message;
  ModelToMessage(model, &message);
  return CanonicalBytes(message);
}

}  // namespace

Resolver::Resolver(std::shared_ptr<const Catalog> catalog, std::shared_ptr<const ProfileSource> profiles)
    : catalog_(std::move(catalog)), profiles_(std::move(profiles)) {
  for (const ModelSpec& model : catalog_->models()) shown_models_[model.name] = ShownModel(model);
}
Resolver::~Resolver() = default;

absl::Status Resolver::ResolveConfig(const v1::ResolveConfigRequest& request, v1::ResolveConfigResponse* response,
                                     const EvidenceSnapshot& evidence) const {
  ConfigAnswer answer;
  FLIGHTPLAN_RETURN_IF_ERROR(AnswerResolve(request, evidence, &answer));
  return ReadAnswerTo(request, answer, response);
}

absl::Status Resolver::ValidateConfig(const v1::ValidateConfigRequest& request,
                                      v1::ValidateConfigResponse* response) const {
  ConfigAnswer answer;
  FLIGHTPLAN_RETURN_IF_ERROR(AnswerValidate(request, &answer));
  return ReadAnswerTo(request, answer, response);
}

absl::Status Resolver::AnswerResolve(const v1::ResolveConfigRequest& request, const EvidenceSnapshot& evidence,
                                     ConfigAnswer* answer) const {
  using R = v1::ResolveConfigResponse;
  FLIGHTPLAN_ASSIGN_OR_RETURN(NormalizedIntent intent, NormalizeResolve(request, *catalog_));
  FLIGHTPLAN_RETURN_IF_ERROR(AttachProbe(request, profiles_.get(), &intent));
  intent.env.open_layout = OpenLayoutFields(intent);
  if (!intent.env.open_layout.empty()) {
    std::vector<Finding> why_not;
    R response;
    v1::ResolveConfigRequest in_full = request;
    in_full.clear_view();
    FLIGHTPLAN_RETURN_IF_ERROR(ResolveOpenLayout(*this, in_full, intent, evidence, &response, &why_not));
    if (why_not.empty()) {  // answered; the digest is that of the question as it was asked
      ShowOnly(intent.view, &response);
      response.set_digest(DigestOf(request, catalog_->revision(), evidence.version(),
                                   profiles_ == nullptr ? "" : profiles_->revision()));
      *answer = AnswerOf(response);
      return absl::OkStatus();
    }
    intent.findings.insert(intent.findings.end(), why_not.begin(), why_not.end());
  }
  DerivedPlan derived = Derive(intent);
  intent.env.missing_features = std::move(derived.missing_features);
  const ReportedRuns& reported = evidence.ForGpu(intent.gpu.name);
  DecidedPlan decided = Decide(
      intent, derived,
      reported.has_pairs() ? reported.PairsOf(ModelClass(intent.model)) : absl::Span<const Measurement* const>());
  const Placement placement = PlaceLayout(decided.config, intent.env);
  EstimatedPlan estimate = Estimate(intent, derived.shape, placement, decided.config, decided.env);
  const FitVerdict forecast_fit = estimate.fit;
  ApplyMemoryEvidence(intent, decided.config, evidence, &estimate, &intent.findings);
  Environment env = EnvironmentOf(intent, estimate);
  SettledPlan settled = Settle(std::move(decided), env);
  DecidedPlan& plan = settled.plan;
  // What is launched is what was decided, not what the stack makes of it: its silent changes happen again at the
  // launch.
  const Config& written = settled.written;
  env.vars = plan.env;  // from here on the environment is that of the launch
  RunResult& run = settled.run;
  run.findings.insert(run.findings.end(), plan.findings.begin(), plan.findings.end());
  run.findings.insert(run.findings.end(), intent.findings.begin(), intent.findings.end());
  std::vector<AbSuggestion> ab_suggestions = plan.ab_suggestions;
  std::optional<StepOutlook> outlook;
  if (const auto model = StepModel::Make(intent, std::move(derived.shape)); model.has_value()) {
    const bool estimated = settled.as_decided && !estimate.stages.empty();  // the estimate was of this very plan
    const StageLayout stages = estimated ? std::move(estimate.layout) : model->Stages(plan.config);
    if (const auto step = model->Forecast(plan.config, env, stages); step.has_value()) {
      if (!step->is_finite()) return absl::InternalError("the step's forecast is no number");
      const auto room = estimated ? StepModel::RoomOf(forecast_fit) : model->RoomFor(plan.config, env, stages);
      const PlanForecast forecast{plan.config, env, stages, *step, room};
      outlook = OutlookOf(*step, intent.profile);
      ApplyStepEvidence(intent, plan.config, evidence, &*outlook, &run.findings);
      if (intent.view == View::kFull) {
        for (AbSuggestion& ab : ab_suggestions) ExpectFromForecast(*model, forecast, &ab);
        auto next = FindNextStep(intent, *model, forecast, *outlook);
        if (next.has_value()) AddNextStep(*std::move(next), &run.findings, &ab_suggestions);
      }
    }
  }
  ReportStale(evidence, &run.findings);
  SortForPeople(&run.findings);

  SetVerdicts(run.findings, /*read=*/{}, answer);
  answer->digest =
      DigestOf(request, catalog_->revision(), evidence.version(), profiles_ == nullptr ? "" : profiles_->revision());
  answer->catalog_revision = catalog_->revision();
  answer->evidence_revision = evidence.revision();
  answer->target = TargetName(env);

  const bool full = intent.view == View::kFull;
  WireWriter w(full ? kAnswerRoom : kSmallAnswerRoom);
  w.Int(R::kOutcomeFieldNumber, answer->will_run ? v1::OUTCOME_RESOLVED : v1::OUTCOME_INFEASIBLE);
  w.Bool(R::kAcceptedByStackFieldNumber, answer->accepted_by_stack);
  w.Bool(R::kWillRunFieldNumber, answer->will_run);
  if (full) {
    PutConfig(R::kConfigFieldNumber, run, plan.decisions, &w);
    for (const Decision& decision : plan.decisions) PutDecision(R::kDecisionsFieldNumber, decision, &w);
  }
  for (const Finding& finding : run.findings) {
    PutFinding(R::kFindingsFieldNumber, finding, /*place=*/nullptr, &w);
    AddFound(finding, answer);
  }
  if (full) {
    for (const ConfigChange& change : run.changes) PutChange(R::kEffectiveChangesFieldNumber, change, &w);
  }
  if (intent.view >= View::kBasic) {
    PutEstimate(R::kEstimateFieldNumber, estimate, outlook.has_value() ? &*outlook : nullptr, &w);
    const absl::string_view own = OwnDialect(env.target);
    const Launch own_launch = RenderDialect(own, {written, env, plan.env});
    PutLaunch(R::kLaunchesFieldNumber, own_launch, &w);
    for (const std::string& dialect : intent.dialects) {
      if (dialect != own) PutLaunch(R::kLaunchesFieldNumber, RenderDialect(dialect, {written, env, plan.env}), &w);
    }
    if (full) {
      for (const AbSuggestion& ab : ab_suggestions) {
        PutAbSuggestion(R::kAbSuggestionsFieldNumber, ab, OtherLaunch(ab, plan, env, {written, own_launch}), &w);
      }
      const bool named = request.model().source_case() == v1::ModelRef::kName;
      const auto shown = named ? shown_models_.find(intent.model.name) : shown_models_.end();
      w.PutText(R::kModelFieldNumber, shown != shown_models_.end() ? shown->second : ShownModel(intent.model));
    }
    PutLayout(R::kLayoutFieldNumber, plan.config, placement, &w);
  }
  w.Text(R::kDigestFieldNumber, answer->digest);
  w.Text(R::kCatalogRevisionFieldNumber, answer->catalog_revision);
  w.Int(R::kEvidenceRevisionFieldNumber, answer->evidence_revision);
  w.Text(R::kTargetFieldNumber, answer->target);
  answer->bytes = std::move(w).Take();
  return absl::OkStatus();
}

absl::Status Resolver::ConvertConfig(const v1::ConvertConfigRequest& request,
                                     v1::ConvertConfigResponse* response) const {
  return flightplan::ConvertConfig(*this, request, response);
}

absl::Status Resolver::AnswerValidate(const v1::ValidateConfigRequest& request, ConfigAnswer* answer) const {
  using R = v1::ValidateConfigResponse;
  std::optional<GpuSystem> gpu;
  FLIGHTPLAN_ASSIGN_OR_RETURN(Environment env, NormalizeValidate(request, *catalog_, &gpu));
  FLIGHTPLAN_ASSIGN_OR_RETURN(Reading reading, ReadConfig(request, &env));
  env.mla = IsMla(reading.parsed.knobs);
  Config config = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  ApplyKnobs(reading.parsed.knobs, &config);
  env.model_file = ModelFileOf(reading.parsed);
  if (request.has_knobs()) UseTargetNames(env.target, &config);
  // Kept for a repair alone: the rules change both, in place where nobody else holds them.
  const Config written = request.repair() ? config : Config();
  const Environment asked = request.repair() ? env : Environment();
  RunResult run = Run(std::move(config), env);
  AddParts(reading.parsed, env, &run);
  const WeighedConfig weighed = WeighConfig(gpu, &run);
  DropWhatIsNotKnown(&reading, &run);
  SetVerdicts(run.findings, reading.parsed.findings, answer);
  const View view = ViewOf(request);
  // A judgement rests on no measurement.
  answer->digest = DigestOf(request, catalog_->revision(), EvidenceSnapshot::Empty().version());
  answer->catalog_revision = catalog_->revision();
  answer->target = TargetName(env);

  WireWriter w(view == View::kFull ? kAnswerRoom : kSmallAnswerRoom);
  w.Bool(R::kAcceptedByStackFieldNumber, answer->accepted_by_stack);
  w.Bool(R::kWillRunFieldNumber, answer->will_run);
  const auto put_finding = [&](const Finding& finding, const SourcePosition* at) {
    const InputPlace place{reading.input, at == nullptr ? SourcePosition() : *at};
    PutFinding(R::kFindingsFieldNumber, finding, at == nullptr ? nullptr : &place, &w);
    AddFound(finding, answer);
  };
  for (const ParseFinding& parse : reading.parsed.findings) put_finding(parse.finding, &parse.at);
  SortForPeople(&run.findings);
  for (const Finding& finding : run.findings) put_finding(finding, PlaceOf(finding, reading.parsed.knobs));
  if (view == View::kFull) {
    PutConfig(R::kConfigFieldNumber, run, /*decisions=*/{}, &w);
    for (const ConfigChange& change : run.changes) PutChange(R::kEffectiveChangesFieldNumber, change, &w);
  }
  if (!env.world_size.has_value()) {
    w.PutText(R::kNotJudgedFieldNumber,
              "process grids: neither hardware.gpu_count, world_size nor WORLD_SIZE is given");
  }
  if (env.gpu_name.empty()) w.PutText(R::kNotJudgedFieldNumber, "hardware gates: no GPU is given");
  if (!weighed.not_judged.empty()) w.PutText(R::kNotJudgedFieldNumber, weighed.not_judged);
  for (const std::string& what : reading.not_judged) w.PutText(R::kNotJudgedFieldNumber, what);
  w.Text(R::kDigestFieldNumber, answer->digest);
  w.Text(R::kCatalogRevisionFieldNumber, answer->catalog_revision);
  w.Text(R::kTargetFieldNumber, answer->target);
  w.Text(R::kInputFormatFieldNumber, reading.format);
  if (request.repair() && !answer->will_run) {
    v1::Repair repair;
    FLIGHTPLAN_RETURN_IF_ERROR(RepairConfig(*this, request, reading, written, asked, &repair));
    w.PutText(R::kRepairFieldNumber, CanonicalBytes(repair));
  }
  if (weighed.estimate.has_value() && view >= View::kBasic) {
    PutEstimate(R::kEstimateFieldNumber, *weighed.estimate, /*outlook=*/nullptr, &w);
  }
  for (const std::string& path : reading.parsed.wanted_files) w.PutText(R::kWantedFilesFieldNumber, path);
  answer->bytes = std::move(w).Take();
  return absl::OkStatus();
}

}  // namespace flightplan
