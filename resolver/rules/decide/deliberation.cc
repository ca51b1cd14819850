#include "resolver/rules/decide/deliberation.h"

#include "absl/strings/str_cat.h"

namespace flightplan::decide {

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
  decision.value = value;
  decision.reason = std::move(why.reason);
  decision.basis = why.basis;
  for (absl::string_view citation : why.citations) decision.citations.emplace_back(citation);
  decision.alternatives = std::move(why.alternatives);
  decision.needs_ab = why.needs_ab;
  decision.expected_step_ratio = why.expected_step_ratio;
  plan_->decisions.push_back(std::move(decision));
  plan_->config.Set(knob, std::move(value), Origin::kDecided);
  return true;
}

bool Deliberation::Follow(Knob knob, Value value, Knob leader, absl::string_view rule_id, absl::string_view why) {
  if (!open(knob)) return false;
  return Choose(knob, std::move(value),
                {.rule_id = rule_id, .reason = absl::StrCat("goes with ", Name(leader), ": ", why)});
}

void Deliberation::Respect(Knob knob, absl::string_view rule_id, std::string reason,
                           std::vector<absl::string_view> citations, std::vector<Alternative> alternatives) {
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
  Decision decision;
  decision.rule_id = why.rule_id;
  decision.env_var = std::string(name);
  decision.value = Value(value);
  decision.reason = std::move(why.reason);
  decision.basis = why.basis;
  for (absl::string_view citation : why.citations) decision.citations.emplace_back(citation);
  plan_->decisions.push_back(std::move(decision));
  plan_->env[std::string(name)] = std::move(value);
}

}  // namespace flightplan::decide
