#include "resolver/pipeline/resolve.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/types/span.h"
#include "resolver/derive/start_config.h"
#include "resolver/derive/steady_passes.h"
#include "resolver/engine/settle.h"
#include "resolver/estimate/throughput.h"
#include "resolver/pipeline/apply_evidence.h"

namespace flightplan {
namespace {

// `known_fit`: what the memory forecast said of this very plan; empty where a decision was taken back since, so that it
// was of another one.
absl::Status ForecastPlan(std::optional<ModelShape> shape, const EvidenceSnapshot& evidence,
                          std::optional<FitVerdict> known_fit, ResolvedPlan* plan) {
  std::optional<StepModel> model = StepModel::Make(plan->intent, std::move(shape));
  if (!model.has_value()) return absl::OkStatus();
  const Config& config = plan->decided.config;
  StageLayout stages = known_fit.has_value() ? std::move(plan->estimate.layout)
                                             : model->Stages(config, std::move(plan->estimate.layout));
  KeepSteadyPasses(&stages);
  const Candidate candidate = model->Read(config, plan->env, stages);
  const std::optional<StepForecast> step = model->Forecast(candidate);
  if (!step.has_value()) return absl::OkStatus();
  if (!step->is_finite()) return absl::InternalError("the step's forecast is no number");
  StepModel::Room room = StepModel::RoomOf(known_fit.has_value() ? *known_fit : model->Memory(candidate).verdict);
  if (const double peak = MeasuredPeak(plan->intent); peak > 0 && plan->estimate.usable_bytes > 0) {
    room = IsFull(peak, plan->estimate) ? StepModel::Room::kShort : StepModel::Room::kEnough;
  }
  LeaveOutImpossibleStep(LeastStepUs(*model, candidate), &plan->intent, &plan->run.findings);
  StepOutlook outlook = OutlookOf(*step, plan->intent.profile);
  if (!outlook.measured) outlook.unmeasured = model->Unmeasured(candidate);
  ApplyStepEvidence(plan->intent, config, evidence, &outlook, &plan->run.findings);
  plan->step =
      std::make_unique<PlannedStep>(PlannedStep{*std::move(model), std::move(stages), *step, room, std::move(outlook)});
  return absl::OkStatus();
}

// How often decisions may be taken back and the memory weighed anew; one more round is rare.
constexpr int kMostWeighed = 3;

// The decisions hold closed formulas against the memory. Where there is a forecast, its findings say what fits, and a
// second figure beside them would be another story.
bool ToldByForecast(const Finding& decided, const EstimatedPlan& estimate) {
  return decided.rule_id == kDoesNotFitRule && estimate.fit != FitVerdict::kUnknown;
}

}  // namespace

Verdicts VerdictsOf(const std::vector<Finding>& findings) {
  Verdicts verdicts;
  for (const Finding& finding : findings) verdicts.Add(finding);
  return verdicts;
}

bool Launchable(const ResolvedPlan& plan) {
  return VerdictsOf(plan.run.findings).will_run && plan.estimate.fit != FitVerdict::kDoesNotFit;
}

double MostMemory(const ResolvedPlan& plan) {
  return plan.estimate.stages.empty() ? 0 : plan.estimate.stages[plan.estimate.fullest].total.value;
}

Candidate CandidateOf(const ResolvedPlan& plan) {
  const PlannedStep& at = *plan.step;
  return at.model.Read(plan.decided.config, plan.env, at.stages);
}

absl::StatusOr<ResolvedPlan> Resolve(NormalizedIntent intent, const EvidenceSnapshot& evidence) {
  DerivedPlan derived = Derive(intent);
  const ReportedRuns& reported = evidence.ForGpu(intent.gpu.name);
  DecidedPlan decided = Decide(
      intent, derived,
      reported.has_pairs() ? reported.PairsOf(ModelClass(intent.model)) : absl::Span<const Measurement* const>());
  const size_t asked_findings = intent.findings.size();
  const std::vector<std::string> open_fields = OpenLayoutFields(intent);
  Placement placement;
  EstimatedPlan estimate;
  FitVerdict forecast_fit{};
  SettledPlan settled;
  settled.plan = std::move(decided);
  StageLayout stages = std::move(settled.plan.stages);
  // A decision that was taken back may have been what the plan fitted by, so memory is weighed again.
  int weighed = 0;
  do {
    intent.findings.resize(asked_findings);
    placement = PlaceLayout(settled.plan.config, intent.env);
    estimate =
        Estimate(intent, derived.shape, placement, settled.plan.config, settled.plan.env, std::exchange(stages, {}));
    forecast_fit = estimate.fit;
    ApplyMemoryEvidence(intent, settled.plan.config, evidence, &estimate, &intent.findings);
    ReportMeasuredPeak(intent, estimate, &intent.findings);
    const Found found{open_fields, derived.missing_features, estimate.memory(), std::nullopt};
    settled = Settle(std::move(settled.plan), intent.env, found);
    if (!settled.as_decided) stages = estimate.layout;
  } while (!settled.as_decided && ++weighed < kMostWeighed);
  Environment env = intent.env;
  env.vars = settled.plan.env;  // from here on the environment is that of the launch

  // The one return: a move of a plan costs as much as a dozen rules.
  absl::StatusOr<ResolvedPlan> resolved = ResolvedPlan{std::move(intent),
                                                       std::move(settled.plan),
                                                       std::move(settled.written),
                                                       std::move(settled.run),
                                                       std::move(env),
                                                       placement,
                                                       std::move(estimate),
                                                       {}};
  ResolvedPlan& plan = *resolved;
  std::vector<Finding>& findings = plan.run.findings;
  std::copy_if(plan.decided.findings.begin(), plan.decided.findings.end(), std::back_inserter(findings),
               [&](const Finding& finding) { return !ToldByForecast(finding, plan.estimate); });
  findings.insert(findings.end(), plan.intent.findings.begin(), plan.intent.findings.end());
  const bool estimated = settled.as_decided && !plan.estimate.stages.empty();
  absl::Status status =
      ForecastPlan(std::move(derived.shape), evidence, estimated ? std::optional(forecast_fit) : std::nullopt, &plan);
  ReportStale(evidence, &findings);
  if (!status.ok()) resolved = std::move(status);
  return resolved;
}

}  // namespace flightplan
