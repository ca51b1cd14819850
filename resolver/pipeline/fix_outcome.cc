#include "resolver/pipeline/fix_outcome.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "resolver/rules/registry.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

bool Spoils(absl::string_view rule_id) {
  const Rule* const rule = FindRule(rule_id);
  return rule != nullptr && rule->spoils;
}

bool Holds(const std::vector<absl::string_view>& ids, absl::string_view id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

bool IsMemory(absl::string_view rule_id) {
  return absl::StartsWith(rule_id, "fit.") && !absl::StartsWith(rule_id, "fit.host-");
}

FixOutcome OutcomeOf(const std::vector<Finding>& findings, const EstimatedPlan* estimate, double step_us) {
  FixOutcome outcome;
  for (const Finding& finding : findings) {
    outcome.found.push_back(finding.rule_id);
    if (finding.severity == Severity::kError) outcome.errors.push_back(finding.rule_id);
    if (finding.severity == Severity::kError || Spoils(finding.rule_id)) outcome.grave.push_back(finding.rule_id);
  }
  if (estimate != nullptr && !estimate->stages.empty()) {
    outcome.fit = estimate->fit;
    outcome.memory_bytes = estimate->stages[estimate->fullest].total.value;
  }
  outcome.step_us = step_us;
  return outcome;
}

bool IsBetter(const FixOutcome& before, const FixOutcome& after, absl::string_view rule_id) {
  if (Holds(after.found, rule_id)) return false;
  const auto known = [&](absl::string_view id) { return Holds(before.grave, id); };
  if (!std::all_of(after.grave.begin(), after.grave.end(), known)) return false;
  return before.fit == FitVerdict::kUnknown || (after.fit != FitVerdict::kUnknown && after.fit <= before.fit);
}

bool SaysStep(const FixOutcome& outcome) {
  return outcome.errors.empty() || std::any_of(outcome.found.begin(), outcome.found.end(), IsMemory);
}

}  // namespace flightplan
