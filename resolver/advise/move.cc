#include "resolver/advise/move.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "resolver/base/bytes.h"
#include "resolver/derive/candidate.h"
#include "resolver/derive/module_names.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/engine/engine.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

using K = Knob;

// Whether the changes leave the plan's stages as they are.
bool SameStages(const KnobChanges& changes) {
  return std::none_of(changes.begin(), changes.end(), [](const std::pair<Knob, Value>& change) {
    return change.first == K::virtual_pipeline_model_parallel_size || change.first == K::pipeline_model_parallel_size ||
           change.first == K::pipeline_model_parallel_layout;
  });
}

// What a plan gives for its memory. Decided anew it may give less of it and fill the room that the change makes.
constexpr Knob kMakeRoom[] = {K::recompute_granularity,
                              K::recompute_method,
                              K::recompute_num_layers,
                              K::recompute_modules,
                              K::fine_grained_activation_offloading,
                              K::offload_modules,
                              K::offload_tensors,
                              K::cpu_offloading,
                              K::cpu_offloading_num_layers,
                              K::optimizer_cpu_offload,
                              K::optimizer_offload_fraction,
                              K::use_precision_aware_optimizer,
                              K::overlap_cpu_optimizer_d2h_h2d};

bool Recomputes(Knob knob) {
  return knob == K::recompute_granularity || knob == K::recompute_method || knob == K::recompute_num_layers ||
         knob == K::recompute_modules;
}

// The first of them, off as the plan has them: decided anew with little room they would be on, and cost a longer step.
constexpr Knob kKeptOff[] = {K::recompute_granularity, K::optimizer_cpu_offload};

// How its passes are executed, which decisions make otherwise beside other stages, and may anywhere of what the
// forecast chose: evidence against it stands where the first that was decided fits.
constexpr Knob kExecution[] = {K::overlap_moe_expert_parallel_comm, K::cuda_graph_impl, K::cuda_graph_modules,
                               K::cuda_graph_scope, K::te_rng_tracker};

// LoongForge's modules, which only the schedule of the EP overlap computes again.
bool RecomputesWithinOverlap(const Config& config) {
  const Value& modules = config.Get(K::recompute_modules);
  return modules.is_list() && std::any_of(modules.list().begin(), modules.list().end(), [](const Value& name) {
           return (DropBitOf(name.text()) & kDropWithinOverlap) != 0;
         });
}

}  // namespace

Knob GraphModulesKnob(const Config& config) {
  return config.origin(K::cuda_graph_modules) != Origin::kAbsent ? K::cuda_graph_modules : K::cuda_graph_scope;
}

Config With(Config config, const KnobChanges& changes) {
  for (const auto& [knob, value] : changes) config.Set(knob, value, Origin::kDecided);
  return config;
}

std::string TextOf(const KnobChanges& changes) {
  return absl::StrJoin(changes, ", ", [](std::string* out, const std::pair<Knob, Value>& change) {
    absl::StrAppend(out, std::string(Name(change.first)), "=", change.second.ToText());
  });
}

std::optional<StepForecast> ForecastWith(const StepModel& model, const PlanForecast& plan, const KnobChanges& changes) {
  const Config changed = With(plan.config, changes);
  const auto forecast = SameStages(changes) ? model.Forecast(changed, plan.env, plan.stages)
                                            : model.Forecast(changed, plan.env, model.Stages(changed));
  return forecast.has_value() && forecast->is_finite() ? forecast : std::nullopt;
}

MemoryForecast MemoryWith(const StepModel& model, const PlanForecast& plan, const KnobChanges& changes) {
  const Config changed = With(plan.config, changes);
  return SameStages(changes) ? model.Memory(changed, plan.env, plan.stages)
                             : model.Memory(changed, plan.env, model.Stages(changed));
}

KnobChanges ChangesOf(const AbSuggestion& ab) {
  KnobChanges changes = {{ab.knob, ab.other_value}};
  changes.insert(changes.end(), ab.companions.begin(), ab.companions.end());
  return changes;
}

KnobChanges WithPrecisionRecipe(KnobChanges changes, const Config& config, const Environment& env) {
  const bool precision =
      std::any_of(changes.begin(), changes.end(), [](const auto& change) { return change.first == K::fp8_recipe; });
  if (!precision || !StackOf(env).container) return changes;
  const Config tried = With(config, changes);
  for (auto& [knob, value] : SetByPrecisionRecipe(tried)) {
    const Origin origin = tried.origin(knob);
    if (origin == Origin::kDefault || origin == Origin::kUpstream) changes.emplace_back(knob, std::move(value));
  }
  return changes;
}

bool MayBeTried(const PlanForecast& plan, const KnobChanges& changes) {
  return MayBeSuggested(WriteForTarget(With(plan.config, changes), plan.env), plan.env, plan.found, plan.findings,
                        changes.front().first);
}

Finding NextStepFinding(absl::string_view source) {
  Finding finding;
  finding.rule_id = "decide.next-step";
  finding.area = "next-step";
  finding.severity = Severity::kInfo;
  finding.verdict = Verdict::kAdvice;
  finding.stage = "decide";
  finding.source = source;
  return finding;
}

Finding OtherStepFinding(absl::string_view rule_id, absl::string_view source, const PlanForecast& plan,
                         const KnobChanges& changes, StepModel::Room left) {
  Finding finding = NextStepFinding(source);
  finding.rule_id = rule_id;
  Patch fix;
  const auto add = [&](Knob knob, const Value& value) {
    const bool there = std::any_of(fix.begin(), fix.end(), [knob](const Assignment& one) { return one.knob == knob; });
    if (!there) fix.push_back({knob, "", value});
  };
  for (const auto& [knob, value] : changes) add(knob, value);
  const bool recomputes = std::any_of(changes.begin(), changes.end(),
                                      [](const auto& change) { return change.first == K::recompute_granularity; });
  for (const Knob knob : kMakeRoom) {
    if (recomputes && Recomputes(knob)) continue;  // the changes say how
    const Value& value = plan.config.Get(knob);
    const bool set = value.is_bool() ? value.truthy() : !value.is_none() && (!value.is_list() || !value.list().empty());
    // What a search gave stands there as a caller's word.
    const Origin origin = plan.config.origin(knob);
    // The default list too, beside a granularity of the caller's: decided anew it may be another.
    const bool own_list = knob == K::recompute_modules && plan.config.Get(K::recompute_granularity).truthy();
    // And the share on the host, beside a word for the offload alone.
    const bool own_share = knob == K::optimizer_offload_fraction && plan.config.Get(K::optimizer_cpu_offload).truthy();
    if (set && (own_list || own_share || origin == Origin::kDecided || origin == Origin::kCaller)) add(knob, value);
  }
  // What other decisions look at first.
  const bool redecided = !SameStages(changes) || recomputes ||
                         std::any_of(changes.begin(), changes.end(),
                                     [](const auto& change) { return change.first == K::micro_batch_size; });
  const bool for_room = redecided || left >= StepModel::Room::kMarginal;
  for (const Knob knob : kKeptOff) {
    const Value& value = plan.config.Get(knob);
    const Origin origin = plan.config.origin(knob);
    const bool open = (origin == Origin::kDecided || origin == Origin::kDefault) && !LeavesOff(StackOf(plan.env), knob);
    if (for_room && open && !value.truthy()) add(knob, value);
  }
  // What the loss holds is the plan's, too: decided anew it is fused where the changes make the room.
  const Knob loss = K::cross_entropy_loss_fusion;
  const bool fused = plan.config.Get(loss).truthy();
  if (plan.config.origin(loss) == Origin::kDecided && (!fused || for_room)) add(loss, Value(fused));
  for (const Knob knob : kExecution) {
    const bool decided = plan.config.origin(knob) == Origin::kDecided && !plan.config.Get(knob).is_none();
    const Decision* const decision = FindDecision(plan.decisions, knob);
    const bool weighed = decision != nullptr && decision->rule_id == kExecutionDecision;
    const bool needed =
        weighed || (knob == K::overlap_moe_expert_parallel_comm && RecomputesWithinOverlap(plan.config));
    if (decided && (needed || redecided)) add(knob, plan.config.Get(knob));
  }
  for (const Assignment& size : plan.chosen) add(size.knob, size.value);
  if (!plan.stages_given && plan.stages.pp > 1) add(K::virtual_pipeline_model_parallel_size, Value(plan.stages.vpp));
  // How the layers are cut is weighed anew, too.
  const Value& layout = plan.config.Get(K::pipeline_model_parallel_layout);
  const Origin cut = plan.config.origin(K::pipeline_model_parallel_layout);
  const bool cut_is_ours = cut == Origin::kDecided || cut == Origin::kDefault;
  if (plan.stages.pp > 1 && cut_is_ours && (layout.is_none() || SameStages(changes))) {
    add(K::pipeline_model_parallel_layout, layout);
  }
  finding.fixes.push_back(std::move(fix));
  return finding;
}

std::string PromiseOf(const StepEffect& effect, const MemoryForecast& now, const MemoryForecast& then) {
  return absl::StrFormat("step %+.0f %% (%+.0f..%+.0f), %.0f -> %.0f GiB (%.0f..%.0f), all else as it is",
                         WholePercent(effect.change), WholePercent(effect.low), WholePercent(effect.high),
                         now.fullest.total.value / kGib, then.fullest.total.value / kGib, then.fullest.total.low / kGib,
                         then.fullest.total.high / kGib);
}

}  // namespace flightplan
