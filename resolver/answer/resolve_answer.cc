#include "resolver/answer/resolve_answer.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "flightplan/v1/resolver_service.pb.h"
#include "resolver/answer/estimate_message.h"
#include "resolver/answer/response.h"
#include "resolver/catalog/spellings.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/judge/planned_launch.h"
#include "resolver/stacks/dialects.h"

namespace flightplan {
namespace {

using R = v1::ResolveConfigResponse;

constexpr size_t kAnswerRoom = size_t{48} << 10;  // most answers need less
constexpr size_t kSmallAnswerRoom = size_t{8} << 10;

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

// The plan's own launch is the answer's first; the other run differs from it in the knob and what goes with it alone.
Launch OtherLaunch(const AbSuggestion& ab, const ResolvedPlan& plan, const Written& own) {
  Config other = plan.decided.config;
  other.Set(ab.knob, ab.other_value, Origin::kDecided);
  for (const auto& [knob, value] : ab.companions) other.Set(knob, value, Origin::kDecided);
  const Config written = WriteForTarget(std::move(other), plan.env);
  return LaunchIn(OwnDialect(plan.env.target), written, ab.env, plan, &own);
}

void PutLaunches(const ResolvedPlan& plan, const Launch& own_launch, absl::string_view model, WireWriter* w) {
  const absl::string_view own = OwnDialect(plan.env.target);
  PutLaunch(R::kLaunchesFieldNumber, own_launch, w);
  for (const std::string& dialect : plan.intent.dialects) {
    if (dialect == own) continue;
    PutLaunch(R::kLaunchesFieldNumber, LaunchIn(dialect, plan.written, plan.decided.env, plan, nullptr), w);
  }
  if (plan.intent.view != View::kFull) return;
  for (const AbSuggestion& ab : plan.decided.ab_suggestions) {
    PutAbSuggestion(R::kAbSuggestionsFieldNumber, ab, OtherLaunch(ab, plan, {plan.written, own_launch}), w);
  }
  w->PutText(R::kModelFieldNumber, model);
}

void PutForecast(int field, const ResolvedPlan& plan, WireWriter* w) {
  if (plan.step == nullptr) return PutEstimate(field, plan.estimate, nullptr, nullptr, w);
  const PlannedStep& at = *plan.step;
  const Throughput throughput = ThroughputOf(at.model, CandidateOf(plan), plan.env.target, at.step, at.outlook);
  PutEstimate(field, plan.estimate, &at.outlook, &throughput, w);
}

}  // namespace

void AddFound(const Finding& finding, ConfigAnswer* answer) {
  answer->findings.push_back({std::string(finding.rule_id.data(), finding.rule_id.size()), finding.severity});
}

ConfigAnswer AnswerOf(const ResolvedPlan& plan, const Launch& own, AnswerOrigin origin, absl::string_view model) {
  const RunResult& run = plan.run;
  const Verdicts verdicts = VerdictsOf(run.findings);
  ConfigAnswer answer;
  answer.accepted_by_stack = verdicts.accepted_by_stack;
  answer.will_run = verdicts.will_run;
  answer.digest = std::move(origin.digest);
  answer.catalog_revision = std::move(origin.catalog_revision);
  answer.target = TargetName(plan.env);

  const bool full = plan.intent.view == View::kFull;
  WireWriter w(full ? kAnswerRoom : kSmallAnswerRoom);
  w.Int(R::kOutcomeFieldNumber, answer.will_run ? v1::OUTCOME_RESOLVED : v1::OUTCOME_INFEASIBLE);
  w.Bool(R::kAcceptedByStackFieldNumber, answer.accepted_by_stack);
  w.Bool(R::kWillRunFieldNumber, answer.will_run);
  if (full) {
    PutConfig(R::kConfigFieldNumber, run, plan.decided.decisions, /*stated=*/{}, &w);
    for (const Decision& decision : plan.decided.decisions) PutDecision(R::kDecisionsFieldNumber, decision, &w);
  }
  for (const Finding& finding : run.findings) {
    PutFinding(R::kFindingsFieldNumber, finding, /*place=*/nullptr, &w);
    AddFound(finding, &answer);
  }
  if (full) {
    PutChanges(R::kEffectiveChangesFieldNumber, run.changes, &w);
  }
  if (plan.intent.view >= View::kBasic) {
    PutForecast(R::kEstimateFieldNumber, plan, &w);
    PutLaunches(plan, own, model, &w);
    PutLayout(R::kLayoutFieldNumber, plan.decided.config, plan.placement, &w);
  }
  w.Text(R::kDigestFieldNumber, answer.digest);
  w.Text(R::kCatalogRevisionFieldNumber, answer.catalog_revision);
  w.Int(R::kEvidenceRevisionFieldNumber, origin.evidence_revision);
  w.Text(R::kTargetFieldNumber, answer.target);
  answer.bytes = std::move(w).Take();
  return answer;
}

}  // namespace flightplan
