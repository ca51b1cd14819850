// proto -> normalize -> derive -> rules (decide, check) -> estimate -> render -> response
#include "resolver/resolver.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/apply_evidence.h"
#include "resolver/attach_probe.h"
#include "resolver/base/digest.h"
#include "resolver/base/status_macros.h"
#include "resolver/catalog/catalog.h"
#include "resolver/catalog/defaults.h"
#include "resolver/convert_config.h"
#include "resolver/derive/model_knobs.h"
#include "resolver/derive/placement.h"
#include "resolver/derive/start_config.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/engine/engine.h"
#include "resolver/engine/settle.h"
#include "resolver/estimate/estimate.h"
#include "resolver/estimate/step_model.h"
#include "resolver/evidence/profile_source.h"
#include "resolver/explain/model_message.h"
#include "resolver/named_model.h"
#include "resolver/next_step.h"
#include "resolver/normalize/canonical_bytes.h"
#include "resolver/normalize/knobs_message.h"
#include "resolver/normalize/request.h"
#include "resolver/open_layout.h"
#include "resolver/read_config.h"
#include "resolver/render/dialects.h"
#include "resolver/repair_config.h"
#include "resolver/response.h"
#include "resolver/rules/decide/decide.h"
#include "resolver/weigh_config.h"

namespace flightplan {
namespace {

// `read`: what the reader of a configuration refused; empty where nothing was read.
template <typename Response>
void SetVerdicts(const std::vector<Finding>& findings, absl::Span<const ParseFinding> read, Response* response) {
  const auto fails = [&](Verdict verdict) {
    const auto is = [&](const Finding& f) { return f.severity == Severity::kError && f.verdict == verdict; };
    return std::any_of(findings.begin(), findings.end(), is) ||
           std::any_of(read.begin(), read.end(), [&](const ParseFinding& parse) { return is(parse.finding); });
  };
  response->set_accepted_by_stack(!fails(Verdict::kAccepted));
  response->set_will_run(response->accepted_by_stack() && !fails(Verdict::kWillRun));
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

// Same request, catalogue and evidence: same digest. Maps are written in key order.
std::string DigestOf(const google::protobuf::MessageLite& request, const std::string& catalog_revision,
                     absl::string_view evidence_version, absl::string_view profiles_revision = "") {
  std::string bytes = CanonicalBytes(request);
  absl::StrAppend(&bytes, "\n", catalog_revision, "\n", evidence_version);
  if (!profiles_revision.empty()) absl::StrAppend(&bytes, "\n", profiles_revision);
  return absl::StrCat("fp1-", Sha256Hex(bytes).substr(0, 32));
}

void LayoutToMessage(const Config& config, const Placement& placement, v1::ResolvedLayout* message) {
  v1::Layout* sizes = message->mutable_sizes();
  auto size = [&](Knob knob) {
    return static_cast<int32_t>(std::clamp<int64_t>(config.Get(knob).integer(), 0, INT32_MAX));
  };
  sizes->set_tensor_model_parallel_size(size(Knob::tensor_model_parallel_size));
  sizes->set_pipeline_model_parallel_size(size(Knob::pipeline_model_parallel_size));
  sizes->set_context_parallel_size(size(Knob::context_parallel_size));
  sizes->set_expert_model_parallel_size(size(Knob::expert_model_parallel_size));
  sizes->set_expert_tensor_parallel_size(std::max(1, size(Knob::expert_tensor_parallel_size)));
  sizes->set_virtual_pipeline_model_parallel_size(std::max(1, size(Knob::virtual_pipeline_model_parallel_size)));
  sizes->set_micro_batch_size(size(Knob::micro_batch_size));
  sizes->set_sequence_parallel(config.Get(Knob::sequence_parallel).truthy());
  if (config.Get(Knob::pipeline_model_parallel_layout).is_text()) {
    sizes->set_pipeline_model_parallel_layout(config.Get(Knob::pipeline_model_parallel_layout).ToText());
  }
  message->set_data_parallel_size(static_cast<int32_t>(placement.data_parallel_size));
  message->set_expert_data_parallel_size(static_cast<int32_t>(placement.expert_data_parallel_size));
  message->set_microbatch_count(placement.microbatch_count);
  message->set_ep_domain_count(static_cast<int32_t>(std::min<int64_t>(placement.ep_domain_count, INT32_MAX)));
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

// The plan's own launch is the answer's first; the other run differs from it in the knob and its companions alone.
void AbToMessage(const AbSuggestion& ab, const DecidedPlan& plan, const Environment& env, v1::AbSuggestion* message) {
  message->set_knob(std::string(Name(ab.knob)));
  ValueToMessage(ab.plan_value, message->mutable_plan_value());
  ValueToMessage(ab.other_value, message->mutable_other_value());
  message->set_reason(ab.reason);
  Config other = plan.config;
  other.Set(ab.knob, ab.other_value, Origin::kDecided);
  for (const auto& [knob, value] : ab.companions) {
    v1::KnobSetting* companion = message->add_companions();
    companion->set_name(std::string(Name(knob)));
    ValueToMessage(value, companion->mutable_value());
    other.Set(knob, value, Origin::kDecided);
  }
  if (ab.expected != 0 || ab.low != 0 || ab.high != 0) {
    message->mutable_expected_step_ratio()->set_value(ab.expected);
    message->mutable_expected_step_ratio()->set_low(ab.low);
    message->mutable_expected_step_ratio()->set_high(ab.high);
  }
  const Config written = WriteForTarget(std::move(other), env);
  LaunchToMessage(RenderDialect(OwnDialect(env.target), {written, env, plan.env}), message->mutable_other_launch());
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

}  // namespace

Resolver::Resolver(std::shared_ptr<const Catalog> catalog, std::shared_ptr<const ProfileSource> profiles)
    : catalog_(std::move(catalog)), profiles_(std::move(profiles)) {}
Resolver::~Resolver() = default;

absl::Status Resolver::ResolveConfig(const v1::ResolveConfigRequest& request, v1::ResolveConfigResponse* response,
                                     const EvidenceSnapshot& evidence) const {
  FLIGHTPLAN_ASSIGN_OR_RETURN(NormalizedIntent intent, NormalizeResolve(request, *catalog_));
  FLIGHTPLAN_RETURN_IF_ERROR(AttachProbe(request, profiles_.get(), &intent));
  intent.env.open_layout = OpenLayoutFields(intent);
  if (!intent.env.open_layout.empty()) {
    std::vector<Finding> why_not;
    FLIGHTPLAN_RETURN_IF_ERROR(ResolveOpenLayout(*this, request, intent, evidence, response, &why_not));
    if (why_not.empty()) {  // answered; the digest is that of the question as it was asked
      response->set_digest(DigestOf(request, catalog_->revision(), evidence.version(),
                                    profiles_ == nullptr ? "" : profiles_->revision()));
      return absl::OkStatus();
    }
    intent.findings.insert(intent.findings.end(), why_not.begin(), why_not.end());
  }
  intent.env.missing_features = MissingModelFeatures(intent.model, intent.env);
  DerivedPlan derived = Derive(intent);
  DecidedPlan decided = Decide(intent, derived, evidence.ForGpu(intent.gpu.name));
  const Placement placement = PlaceLayout(decided.config, intent.env);
  EstimatedPlan estimate = Estimate(intent, derived.shape, placement, decided.config, decided.env);
  ApplyMemoryEvidence(intent, decided.config, evidence, &estimate, &intent.findings);
  const Environment env = EnvironmentOf(intent, estimate);
  SettledPlan settled = Settle(std::move(decided), env);
  DecidedPlan& plan = settled.plan;
  // What is launched is what was decided, not what the stack makes of it: its silent changes happen again at the
  // launch.
  const Config& written = settled.written;
  RunResult& run = settled.run;
  run.findings.insert(run.findings.end(), plan.findings.begin(), plan.findings.end());
  run.findings.insert(run.findings.end(), intent.findings.begin(), intent.findings.end());
  std::vector<AbSuggestion> ab_suggestions = plan.ab_suggestions;
  std::optional<StepOutlook> outlook;
  if (const auto model = StepModel::Make(intent, std::move(derived.shape)); model.has_value()) {
    Environment launched = env;
    launched.vars = plan.env;
    const StageLayout stages = model->Stages(plan.config);
    if (const auto step = model->Forecast(plan.config, launched, stages); step.has_value()) {
      const PlanForecast forecast{plan.config, launched, stages, *step};
      outlook = OutlookOf(*step, intent.profile);
      ApplyStepEvidence(intent, plan.config, evidence, &*outlook, &run.findings);
      for (AbSuggestion& ab : ab_suggestions) ExpectFromForecast(*model, forecast, &ab);
      auto next = FindNextStep(intent, *model, forecast, *outlook);
      if (next.has_value()) AddNextStep(*std::move(next), &run.findings, &ab_suggestions);
    }
  }
  ReportStale(evidence, &run.findings);
  SortForPeople(&run.findings);

  SetVerdicts(run.findings, /*read=*/{}, response);
  response->set_outcome(response->will_run() ? v1::OUTCOME_RESOLVED : v1::OUTCOME_INFEASIBLE);
  ConfigToMessages(run, plan.decisions, response->mutable_config());
  for (Decision& decision : plan.decisions) DecisionToMessage(std::move(decision), response->add_decisions());
  for (Finding& finding : run.findings) FindingToMessage(std::move(finding), response->add_findings());
  for (const ConfigChange& change : run.changes) ChangeToMessage(change, response->add_effective_changes());
  EstimateToMessage(estimate, response->mutable_estimate());
  if (outlook.has_value()) OutlookToMessage(*outlook, response->mutable_estimate());
  LayoutToMessage(plan.config, placement, response->mutable_layout());

  const absl::string_view own = OwnDialect(env.target);
  LaunchToMessage(RenderDialect(own, {written, env, plan.env}), response->add_launches());
  for (const std::string& dialect : intent.dialects) {
    if (dialect != own) LaunchToMessage(RenderDialect(dialect, {written, env, plan.env}), response->add_launches());
  }
  for (const AbSuggestion& ab : ab_suggestions) {
    AbToMessage(ab, plan, env, response->add_ab_suggestions());
  }
  ModelToMessage(intent.model, response->mutable_model());
  response->set_digest(
      DigestOf(request, catalog_->revision(), evidence.version(), profiles_ == nullptr ? "" : profiles_->revision()));
  response->set_catalog_revision(catalog_->revision());
  response->set_evidence_revision(evidence.revision());
  response->set_target(TargetName(env));
  return absl::OkStatus();
}

absl::Status Resolver::ConvertConfig(const v1::ConvertConfigRequest& request,
                                     v1::ConvertConfigResponse* response) const {
  return flightplan::ConvertConfig(*this, request, response);
}

absl::Status Resolver::ValidateConfig(const v1::ValidateConfigRequest& request,
                                      v1::ValidateConfigResponse* response) const {
  std::optional<GpuSystem> gpu;
  FLIGHTPLAN_ASSIGN_OR_RETURN(Environment env, NormalizeValidate(request, *catalog_, &gpu));
  FLIGHTPLAN_ASSIGN_OR_RETURN(Reading reading, ReadConfig(request, &env));
  env.mla = IsMla(reading.parsed.knobs);
  Config config = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  ApplyKnobs(reading.parsed.knobs, &config);
  ApplyNamedModel(*catalog_, env, &reading, &config);
  if (request.has_knobs()) UseTargetNames(env.target, &config);
  // Kept for a repair alone: the rules change both.
  const Config written = config;
  const Environment asked = request.repair() ? env : Environment();
  RunResult run = Run(std::move(config), env);
  const WeighedConfig weighed = WeighConfig(gpu, &run);
  if (weighed.estimate.has_value()) EstimateToMessage(*weighed.estimate, response->mutable_estimate());

  SetVerdicts(run.findings, reading.parsed.findings, response);
  for (const ParseFinding& parse : reading.parsed.findings) {
    v1::Finding* message = response->add_findings();
    FindingToMessage(parse.finding, message);
    LocationToMessage(reading.input, parse.at, message);
  }
  SortForPeople(&run.findings);
  for (Finding& finding : run.findings) {
    v1::Finding* message = response->add_findings();
    const SourcePosition* at = PlaceOf(finding, reading.parsed.knobs);
    FindingToMessage(std::move(finding), message);
    if (at != nullptr) LocationToMessage(reading.input, *at, message);
  }
  ConfigToMessages(run, /*decisions=*/{}, response->mutable_config());
  for (const ConfigChange& change : run.changes) ChangeToMessage(change, response->add_effective_changes());
  if (!env.world_size.has_value()) {
    response->add_not_judged("process grids: neither hardware.gpu_count, world_size nor WORLD_SIZE is given");
  }
  if (env.gpu_name.empty()) response->add_not_judged("hardware gates: no GPU is given");
  if (!weighed.not_judged.empty()) response->add_not_judged(weighed.not_judged);
  for (const std::string& what : reading.not_judged) response->add_not_judged(what);
  if (request.repair() && !response->will_run()) {
    FLIGHTPLAN_RETURN_IF_ERROR(RepairConfig(*this, request, reading, written, asked, response->mutable_repair()));
  }
  response->set_input_format(reading.format);
  // A judgement rests on no measurement.
  response->set_digest(DigestOf(request, catalog_->revision(), EvidenceSnapshot::Empty().version()));
  response->set_catalog_revision(catalog_->revision());
  response->set_target(TargetName(env));
  return absl::OkStatus();
}

}  // namespace flightplan
