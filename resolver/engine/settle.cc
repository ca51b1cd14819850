#include "resolver/engine/settle.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resolver/catalog/loongforge.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/plan/stack.h"

namespace flightplan {
namespace {

// Each round takes back at least one decision; more than a handful means that fixes chase one another.
constexpr int kMaxRounds = 6;

bool Ours(const Config& config, Knob knob) { return config.origin(knob) == Origin::kDecided; }

// The caller's own precision, spelled for the target: another one would train another model, so it is refused, not
// replaced.
bool SpellsPrecision(const DecidedPlan& plan, Knob knob) {
  return std::any_of(plan.decisions.begin(), plan.decisions.end(), [knob](const Decision& decision) {
    return decision.env_var.empty() && decision.knob == knob && decision.rule_id == "decide.precision";
  });
}

// True when the patch changes only what we may change, and at least one thing that we decided.
bool Applicable(const Patch& patch, const DecidedPlan& plan, const EnvVars& callers) {
  bool ours = false;
  for (const Assignment& assignment : patch) {
    if (!assignment.env_var.empty()) {
      if (callers.find(assignment.env_var) != callers.end()) return false;
      ours |= plan.env.find(assignment.env_var) != plan.env.end();
      continue;
    }
    const Knob knob = CanonicalKnob(assignment.knob);
    const bool decided = Ours(plan.config, knob);
    if (decided && SpellsPrecision(plan, knob)) return false;
    if (!decided && (plan.config.origin(knob) != Origin::kDefault || Row(knob).knob_class == KnobClass::kConvergence))
      return false;
    ours |= decided;
  }
  return ours;
}

void Apply(const Patch& patch, const Finding& finding, DecidedPlan* plan) {
  for (const Assignment& assignment : patch) {
    const Knob knob = CanonicalKnob(assignment.knob);
    Decision* decision = nullptr;
    for (Decision& candidate : plan->decisions) {
      const bool same = assignment.env_var.empty() ? candidate.env_var.empty() && candidate.knob == knob
                                                   : candidate.env_var == assignment.env_var;
      if (same) decision = &candidate;
    }
    if (decision == nullptr) {
      decision = &plan->decisions.emplace_back();
      decision->rule_id = "decide.fallback";
      decision->knob = knob;
      decision->env_var = assignment.env_var;
    } else {
      decision->alternatives.push_back({decision->value, decision->reason});
    }
    decision->value = assignment.value;
    decision->basis = Basis::kRule;
    decision->reason = absl::StrCat(finding.rule_id, ": ", finding.needs);
    decision->citations = {std::string(finding.source)};
    decision->needs_ab = false;
    decision->expected_step_ratio.reset();
    if (assignment.env_var.empty()) {
      plan->config.Set(knob, assignment.value, Origin::kDecided);
    } else if (assignment.value.is_none()) {
      plan->env.erase(assignment.env_var);
    } else {
      plan->env[assignment.env_var] = assignment.value.ToText();
    }
  }
}

// What the model's file will say with the overrides of the launch (stacks/loongforge/dialect.cc).
std::vector<std::pair<Knob, Value>> ModelFileOf(const Config& written) {
  std::vector<std::pair<Knob, Value>> says;
  if (const LoongForgeModel* file = LoongForgeModelOf(written); file != nullptr) {
    for (const auto& [knob, argument] : file->arguments) says.emplace_back(knob, written.Get(knob));
  }
  return says;
}

}  // namespace

SettledPlan Settle(DecidedPlan plan, const Environment& env, const Found& found) {
  for (int round = 0;; ++round) {
    Environment with_plan = env;
    with_plan.vars = plan.env;
    Config written = WriteForTarget(plan.config, env);
    if (StackOf(env).model_files) with_plan.model_file = ModelFileOf(written);
    RunResult run = Run(written, std::move(with_plan), found);
    const Patch* patch = nullptr;
    const Finding* reason = nullptr;
    for (const Finding& finding : run.findings) {
      if (finding.severity != Severity::kError || round >= kMaxRounds) continue;
      for (const Patch& candidate : finding.fixes) {
        if (!Applicable(candidate, plan, env.vars)) continue;
        patch = &candidate;
        reason = &finding;
        break;
      }
      if (patch != nullptr) break;
    }
    if (patch == nullptr) return {std::move(plan), std::move(written), std::move(run), round == 0};
    Apply(*patch, *reason, &plan);
  }
}

}  // namespace flightplan
