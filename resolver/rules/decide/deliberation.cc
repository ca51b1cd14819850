#include "resolver/rules/decide/deliberation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resolver/rules/decide/measured.h"

namespace flightplan::decide {

namespace {

void AddCitations(const Why& why, Decision* decision) {
  decision->citations.reserve(why.citations.size());
  for (absl::string_view citation : why.citations) decision->citations.emplace_back(citation);
}

}  // namespace

bool Deliberation::has(Knob knob, absl::string_view item) const {
  for (const Value& v : value(knob).list()) {
    if (v.is_text() && v.text() == item) return true;
  }
  return false;
}

bool Deliberation::Choose(Knob knob, Value value, Why why) {
  if (!open(knob)) return false;
  Decision decision;
  decision.rule_id = why.rule_id;
  decision.knob = knob;
  decision.value = std::move(value);
  decision.reason = std::move(why.reason);
  decision.basis = why.basis;
  AddCitations(why, &decision);
  decision.alternatives = std::move(why.alternatives);
  decision.needs_ab = why.needs_ab;
  decision.expected_step_ratio = why.expected_step_ratio;
  if (!pairs_.empty() && why.basis != Basis::kRule) WeighPairs(knob, &decision);
  plan_->config.Set(knob, decision.value, Origin::kDecided);
  plan_->decisions.push_back(std::move(decision));
  return true;
}

AbSuggestion* Deliberation::Suggested(Knob knob, const Value& plan_value, const Value& other) {
  auto& suggestions = plan_->ab_suggestions;
  const auto found = std::find_if(suggestions.begin(), suggestions.end(), [&](const AbSuggestion& ab) {
    return ab.knob == knob && ab.plan_value == plan_value && ab.other_value == other;
  });
  return found == suggestions.end() ? nullptr : &*found;
}

void Deliberation::TakeOther(const PairEffect& effect, const std::string& measured, const AbSuggestion* suggestion,
                             Decision* decision) {
  decision->alternatives.insert(decision->alternatives.begin(), {decision->value, decision->reason});
  decision->value = effect.other;
  decision->reason =
      absl::StrCat(measured, "; without that evidence it would be ", decision->alternatives.front().value.ToText());
  if (suggestion == nullptr) return;
  for (const auto& [companion, value] : suggestion->companions) {
    if (origin(companion) == Origin::kDefault || origin(companion) == Origin::kDecided) {
      plan_->config.Set(companion, value, Origin::kDecided);
    }
  }
}

void Deliberation::WeighPairs(Knob knob, Decision* decision) {
  const PairEffect effect = EffectOfPairs(pairs_, f, knob, decision->value);
  if (effect.citations.empty()) return;
  const AbSuggestion* suggestion = Suggested(knob, decision->value, effect.other);
  const std::string measured =
      absl::StrFormat("measured on this layout with %s: %+.1f %% (%+.1f..%+.1f)", effect.other.ToText(),
                      100 * effect.change, 100 * (effect.change - effect.half), 100 * (effect.change + effect.half));
  decision->citations.insert(decision->citations.end(), effect.citations.begin(), effect.citations.end());
  if (!effect.other_is_faster() && !effect.value_is_faster()) {
    absl::StrAppend(&decision->reason, "; ", measured, ", which does not settle it");
    return;
  }
  // A switch is safe to turn: what is set after it looks at it. Another value is taken only where its companions are
  // known.
  if (effect.other_is_faster() && suggestion == nullptr && !effect.other.is_bool()) {
    absl::StrAppend(&decision->reason, "; ", measured, ", pin it to use it");
    return;
  }
  decision->needs_ab = false;
  decision->basis = Basis::kMeasured;
  decision->expected_step_ratio = effect.other_is_faster() ? effect.change : 1 / (1 + effect.change) - 1;
  if (effect.other_is_faster()) {
    TakeOther(effect, measured, suggestion, decision);
  } else {
    absl::StrAppend(&decision->reason, "; ", measured);
  }
  if (suggestion != nullptr) {
    plan_->ab_suggestions.erase(plan_->ab_suggestions.begin() + (suggestion - plan_->ab_suggestions.data()));
  }
}

bool Deliberation::Follow(Knob knob, Value value, Knob leader, absl::string_view rule_id, absl::string_view why) {
  if (!open(knob)) return false;
  return Choose(knob, std::move(value),
                {.rule_id = rule_id, .reason = absl::StrCat("goes with ", Name(leader), ": ", why)});
}

void Deliberation::Respect(Knob knob, absl::string_view rule_id, std::string reason,
                           const std::vector<absl::string_view>& citations, std::vector<Alternative> alternatives) {
  Decision decision;
  decision.rule_id = rule_id;
  decision.knob = knob;
  decision.value = value(knob);
  decision.reason = std::move(reason);
  decision.basis = Basis::kCaller;
  for (absl::string_view citation : citations) decision.citations.emplace_back(citation);
  decision.alternatives = std::move(alternatives);
  plan_->decisions.push_back(std::move(decision));
}

void Deliberation::Export(absl::string_view name, std::string value, Why why) {
  if (var_given(name)) return;
  Launcher(name, value, std::move(why));
  plan_->env[std::string(name)] = std::move(value);
}

void Deliberation::Launcher(absl::string_view name, absl::string_view value, Why why) {
  Decision decision;
  decision.rule_id = why.rule_id;
  decision.env_var = std::string(name);
  decision.value = Value(std::string(value));
  decision.reason = std::move(why.reason);
  decision.basis = why.basis;
  AddCitations(why, &decision);
  plan_->decisions.push_back(std::move(decision));
}

Finding DecisionWarning(absl::string_view rule_id, absl::string_view area) {
  Finding finding;
  finding.rule_id = rule_id;
  finding.area = area;
  finding.severity = Severity::kWarning;
  finding.verdict = Verdict::kAdvice;
  finding.stage = "decide";
  return finding;
}

}  // namespace flightplan::decide
