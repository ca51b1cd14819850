#include "resolver/layouts/layout_findings.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/string_view.h"
#include "resolver/layouts/execution_space.h"
#include "resolver/plan/knob.h"
#include "resolver/rules/registry.h"
#include "resolver/rules/rule.h"

namespace flightplan {
namespace {

bool AllOf(const auto& names, auto holds) { return std::all_of(names.begin(), names.end(), holds); }

// A rule about the model, about what the question pins or about its precision, on these machines with these libraries:
// no size of a layout moves what it looks at.
bool LooksAtNoLayout(const Rule& rule, const NormalizedIntent& question) {
  const auto given = [](absl::string_view name) {
    constexpr absl::string_view kGiven[] = {"model_class", "model_type", "gpu", "cc_major", "cc_minor", "te", "torch"};
    return std::find(std::begin(kGiven), std::end(kGiven), name) != std::end(kGiven);
  };
  const auto pinned = [&](Knob knob) {
    const absl::string_view group = Row(knob).group;
    return group == "precision" || group == "adapters" || PinOf(question, knob).has_value();
  };
  return rule.reads.size + rule.reads_env.size > 0 && AllOf(rule.reads_env, given) && AllOf(rule.reads, pinned);
}

}  // namespace

std::vector<Finding> ErrorsBesideMemory(const ResolvedPlan& plan) {
  std::vector<Finding> errors;
  std::copy_if(plan.run.findings.begin(), plan.run.findings.end(), std::back_inserter(errors), [](const Finding& f) {
    return f.severity == Severity::kError && f.area != "fit" && f.rule_id != "layout.open";
  });
  return errors;
}

std::vector<Finding> ErrorsOfEveryLayout(const ResolvedPlan& plain) {
  std::vector<Finding> errors;
  std::copy_if(plain.run.findings.begin(), plain.run.findings.end(), std::back_inserter(errors), [&](const Finding& f) {
    const Rule* const rule = f.severity == Severity::kError ? FindRule(f.rule_id) : nullptr;
    return rule != nullptr && LooksAtNoLayout(*rule, plain.intent);
  });
  return errors;
}

Finding PlanFinding(absl::string_view id, Severity severity, std::string seen, std::string needs) {
  Finding finding;
  finding.rule_id = id;
  finding.area = "plan";
  finding.severity = severity;
  finding.verdict = severity == Severity::kInfo ? Verdict::kAdvice : Verdict::kWillRun;
  finding.stage = "plan";
  finding.seen = std::move(seen);
  finding.needs = std::move(needs);
  finding.source = "resolver/planner";
  return finding;
}

}  // namespace flightplan
