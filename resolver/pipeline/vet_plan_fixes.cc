// How the fixes of a resolved question are tried: it is asked again.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/engine/repeats.h"
#include "resolver/pipeline/resolve.h"
#include "resolver/pipeline/vet_fixes.h"
#include "resolver/plan/model_fields.h"

namespace flightplan {
namespace {

using K = Knob;

void SetSizeIn(LayoutWish* layout, Knob knob, const Value& value) {
  for (const SizeWish& size : kSizeWishes) {
    if (size.knob == knob) layout->*size.wish = value.is_int() ? value.integer() : 1;
  }
  if (knob == K::pipeline_model_parallel_layout) layout->pipeline_model_parallel_layout.reset();
  if (knob == K::sequence_parallel) layout->sequence_parallel = value.truthy();
}

bool ChangesStages(const Patch& patch) {
  return std::any_of(patch.begin(), patch.end(), [](const Assignment& assignment) {
    return assignment.env_var.empty() && assignment.knob == K::pipeline_model_parallel_size;
  });
}

double MemoryOf(const ResolvedPlan& plan, const Patch& patch) {
  if (ChangesStages(patch)) return plan.estimate.stages[plan.estimate.fullest].total.value;
  const PlannedStep& at = *plan.step;
  const Config config = WithPatch(plan.decided.config, patch);
  return at.model.Memory(at.model.Read(config, plan.env, at.stages)).fullest.total.value;
}

// The question names its model: what makes another of it is no fix. How long its sequences may be, and how many
// prediction layers train beside it, is the training's own.
bool BuildsAnotherModel(const Config& config, const Patch& patch) {
  return std::any_of(patch.begin(), patch.end(), [&](const Assignment& one) {
    if (!one.env_var.empty() || one.knob == K::max_position_embeddings || one.knob == K::mtp_num_layers) return false;
    return config.origin(one.knob) == Origin::kModel && config.Get(one.knob) != one.value &&
           FindModelField(Name(one.knob)) != nullptr;
  });
}

// Memory and time of the plan's own configuration with a patch over it; other stages are left to the question itself.
std::optional<FixOutcome> ForecastOf(const ResolvedPlan& plan, const Patch& patch, FitVerdict than) {
  if (ChangesStages(patch)) return FixOutcome();
  const PlannedStep& at = *plan.step;
  const Config config = WithPatch(plan.decided.config, patch);
  FixOutcome outcome;
  const Candidate candidate = at.model.Read(config, plan.env, at.stages);
  const MemoryForecast memory = at.model.Memory(candidate);
  outcome.fit = memory.verdict;
  outcome.memory_bytes = memory.fullest.total.value;
  if (outcome.fit >= than) return std::nullopt;
  const auto step = at.model.Forecast(candidate);
  if (!step.has_value() || !step->is_finite()) return std::nullopt;
  outcome.step_us = step->us;
  return outcome;
}

std::string GraphsOf(const Config& config) {
  return config.origin(K::cuda_graph_impl) == Origin::kDecided ? config.Get(K::cuda_graph_impl).ToText() : "";
}

// The other choice, for those who would rather have room for the worst.
void NameRoomy(const std::optional<MemoryFix>& fix, ResolvedPlan* plan) {
  if (plan->roomy_text.empty()) return;
  const bool better = fix.has_value() && !fix->roomy && fix->outcome.fit == FitVerdict::kFits &&
                      fix->outcome.step_us > 0 && fix->outcome.step_us < plan->roomy_us && plan->step_us() > 0;
  const std::string text = better ? absl::StrFormat("the chosen with the fix of its memory, %+.1f %%",
                                                    100 * (fix->outcome.step_us / plan->step_us() - 1))
                                  : plan->roomy_text;
  for (Finding& finding : plan->run.findings) {
    if (finding.rule_id == "layout.searched") {
      absl::StrAppend(&finding.needs, "; with room for the whole band: ", text);
    }
  }
}

// What the search says of room is the same in every view, also in one that leaves the memory's fix out: the finding
// that has it then. Empty: there is none, or it is in what the view shows.
std::vector<Finding> OfRoom(const ResolvedPlan& plan) {
  std::vector<Finding> of_room;
  if (plan.intent.view == View::kFull || plan.roomy_text.empty()) return of_room;
  const std::vector<Finding>& all = plan.run.findings;
  std::copy_if(all.begin(), all.end(), std::back_inserter(of_room),
               [](const Finding& finding) { return finding.rule_id == "fit.memory-marginal"; });
  return of_room;
}

// A question says its virtual stages by the size of its layout, whatever flag the launch has for them.
void SayVirtualStages(const NormalizedIntent& intent, Patch* fix) {
  constexpr K kFlag = K::num_virtual_stages_per_pipeline_rank, kSize = K::virtual_pipeline_model_parallel_size;
  const auto of = [fix](K knob) {
    return std::find_if(fix->begin(), fix->end(),
                        [knob](const Assignment& one) { return one.env_var.empty() && one.knob == knob; });
  };
  const auto flag = of(kFlag);
  const bool pinned =
      std::any_of(intent.pins.begin(), intent.pins.end(), [](const auto& pin) { return pin.first == kFlag; });
  if (flag == fix->end() || pinned) return;
  if (of(kSize) != fix->end()) {
    fix->erase(flag);
  } else {
    flag->knob = kSize;
  }
}

// A fix was tried at the sizes that a search chose. Without their names it would be a question for another search.
void AddChosen(const Patch& chosen, Patch* fix) {
  const size_t own = fix->size();
  for (const Assignment& size : chosen) {
    const auto is_size = [&](const Assignment& assignment) {
      return assignment.env_var.empty() && assignment.knob == size.knob;
    };
    if (std::none_of(fix->begin(), fix->begin() + static_cast<std::ptrdiff_t>(own), is_size)) fix->push_back(size);
  }
}

}  // namespace

NormalizedIntent WithPatch(NormalizedIntent intent, const Patch& patch) {
  for (const Assignment& assignment : patch) {
    if (!assignment.env_var.empty()) {
      if (assignment.value.is_none()) {
        intent.env.vars.erase(assignment.env_var);
      } else {
        intent.env.vars.insert_or_assign(assignment.env_var, assignment.value.ToText());
      }
      continue;
    }
    SetSizeIn(&intent.layout, assignment.knob, assignment.value);
    // As a request's pins are the workload.
    for (const WorkloadSize& of : kWorkloadSizes) {
      if (assignment.knob == of.knob && assignment.value.is_int())
        intent.workload.*of.size = assignment.value.integer();
    }
    const auto before = [](const std::pair<Knob, Value>& pin, Knob knob) { return pin.first < knob; };
    const auto at = std::lower_bound(intent.pins.begin(), intent.pins.end(), assignment.knob, before);
    if (at != intent.pins.end() && at->first == assignment.knob) {
      at->second = assignment.value;
    } else {
      intent.pins.insert(at, {assignment.knob, assignment.value});
    }
  }
  return intent;
}

void VetFixes(const AnswerAgain& answer, ResolvedPlan* plan) {
  std::vector<Finding>& findings = plan->run.findings;
  FixTrial trial;
  trial.now = OutcomeOf(findings, &plan->estimate, plan->step_us());
  trial.now.graphs = GraphsOf(plan->decided.config);
  DropRepeats(&findings);
  std::vector<Finding> roomier = OfRoom(*plan);
  if (!OffersFixes(plan->intent.view, &findings) && roomier.empty()) return NameRoomy(std::nullopt, plan);
  for (Finding& finding : findings) {
    for (Patch& fix : finding.fixes) SayVirtualStages(plan->intent, &fix);
  }
  trial.config = &plan->decided.config;
  trial.roomy = &plan->roomy;
  const auto stages =
      plan->step != nullptr ? std::make_shared<const StageLayout>(plan->step->stages) : std::shared_ptr<StageLayout>();
  trial.ask = [&](const Patch& patch) -> std::optional<FixOutcome> {
    if (BuildsAnotherModel(plan->decided.config, patch)) return std::nullopt;
    NormalizedIntent asked = WithPatch(plan->intent, patch);
    asked.view = View::kVerdict;  // nobody is shown more of it
    asked.known_stages = stages;
    const absl::StatusOr<ResolvedPlan> then = answer(std::move(asked));
    if (!then.ok()) return std::nullopt;
    FixOutcome outcome = OutcomeOf(then->run.findings, &then->estimate, then->step_us());
    outcome.graphs = GraphsOf(then->decided.config);
    return outcome;
  };
  if (plan->step != nullptr) {
    trial.forecast = [&](const Patch& patch, FitVerdict than) { return ForecastOf(*plan, patch, than); };
    trial.memory_bytes = [&](const Patch& patch) { return MemoryOf(*plan, patch); };
  }
  std::optional<MemoryFix> room = VetFixes(trial, &findings);
  if (!roomier.empty()) room = VetFixes(trial, &roomier);
  if (room.has_value()) plan->roomier_us = room->outcome.step_us;
  NameRoomy(room, plan);
  for (Finding& finding : findings) {
    for (Patch& fix : finding.fixes) AddChosen(plan->chosen, &fix);
  }
}

}  // namespace flightplan
