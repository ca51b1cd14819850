#include "clients/cli/observe/next_knob.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/findings.h"
#include "clients/cli/observe/launch_config.h"
#include "resolver/base/status_macros.h"
#include "resolver/plan/knob.h"

namespace flightplan::cli {
namespace {

constexpr double kWorthARun = -0.02;  // repeated runs of one configuration differ by a per cent
constexpr double kFull = 0.95;        // of the usable memory
constexpr double kLeastFreed = 0.5 * (1 << 30);

// The launch as a question that leaves every execution knob open, with what was measured.
// Errors: the launch does not say its model.
absl::StatusOr<v1::ResolveConfigRequest> Question(const v1::ValidateConfigRequest& launch, const Observation& o) {
  v1::ResolveConfigRequest request;
  FLIGHTPLAN_ASSIGN_OR_RETURN(*request.mutable_model()->mutable_spec(), ModelOf(o.launch));
  *request.mutable_hardware() = launch.hardware();
  if (o.gpu_count > 0) request.mutable_hardware()->set_gpu_count(static_cast<int32_t>(o.gpu_count));
  request.mutable_workload()->set_seq_length(o.seq_length);
  request.mutable_workload()->set_global_batch_size(o.global_batch);
  request.mutable_workload()->set_precision(PrecisionOf(o.launch));
  const std::vector<std::string> target = absl::StrSplit(o.launch.target(), ' ');
  request.mutable_target()->set_framework(target[0]);
  if (target.size() > 1) request.mutable_target()->set_version(target[1]);
  *request.mutable_software() = launch.software();
  *request.mutable_layout() = LayoutOf(o.launch);
  v1::MeasuredProfile* const profile = request.mutable_profile();
  if (o.steps.used > 0) profile->set_step_time_us(o.steps.median_ms * 1e3);
  if (o.trace.any()) {
    profile->set_exposed_communication_ratio(o.trace.exposed_us / o.trace.span_us);
    profile->set_host_gap_ratio(o.trace.idle_us / o.trace.span_us);
  }
  const double peak = std::max(o.peak_device, o.peak_allocated);
  if (peak > 0) profile->set_memory_high_water_bytes(static_cast<int64_t>(peak));
  return request;
}

using Patch = std::vector<v1::KnobSetting>;

v1::KnobSetting Setting(const std::string& name, bool has_value, const v1::KnobValue& value) {
  v1::KnobSetting setting;
  setting.set_name(name);
  if (has_value) *setting.mutable_value() = value;
  return setting;
}

bool IsExecution(const std::string& name) {
  const std::optional<Knob> knob = FindKnob(name);
  return knob.has_value() && Row(*knob).knob_class == KnobClass::kExecution;
}

// Changes worth a trial: the advice's own A/B runs, what it decides otherwise than the launch, and what the findings of
// the launch offer about memory.
std::vector<Patch> Candidates(const v1::ResolveConfigResponse& answer, const v1::ValidateConfigResponse& launch) {
  std::vector<Patch> patches;
  for (const v1::AbSuggestion& ab : answer.ab_suggestions()) {
    Patch patch = {Setting(ab.knob(), ab.has_other_value(), ab.other_value())};
    patch.insert(patch.end(), ab.companions().begin(), ab.companions().end());
    patches.push_back(std::move(patch));
  }
  for (const v1::Finding& finding : launch.findings()) {
    for (const v1::Fix& fix : finding.fixes()) {
      if (fix.changes_convergence() || fix.knobs().empty() || !fix.env().empty()) continue;
      patches.emplace_back(fix.knobs().begin(), fix.knobs().end());
    }
  }
  // Knobs of one group go together: a granularity and its modules.
  std::map<std::string, Patch> groups;
  for (const v1::Decision& decision : answer.decisions()) {
    if (!IsExecution(decision.name())) continue;
    groups[Row(*FindKnob(decision.name())).group].push_back(
        Setting(decision.name(), decision.has_value(), decision.value()));
  }
  for (auto& [group, patch] : groups) patches.push_back(std::move(patch));
  return patches;
}

// What of the patch the launch has not already.
Patch ChangesOf(const Patch& patch, const v1::ValidateConfigResponse& launch) {
  Patch changes;
  for (const v1::KnobSetting& setting : patch) {
    const std::string now = ConfigText(launch, setting.name());
    const std::string then = setting.has_value() ? ValueText(setting.value()) : std::string();
    const bool same = now == then || (now.empty() && (then == "false" || then == "none"));
    if (!same) changes.push_back(setting);
  }
  return changes;
}

double Memory(const v1::Estimate& estimate) {
  double most = 0;
  for (const v1::StageMemory& stage : estimate.stages()) most = std::max(most, stage.total_bytes().value());
  return most;
}

std::set<std::string> Errors(const Findings& findings) {
  std::set<std::string> ids;
  for (const v1::Finding& finding : findings) {
    if (finding.severity() == v1::SEVERITY_ERROR) ids.insert(finding.rule_id());
  }
  return ids;
}

class Trials {
 public:
  Trials(Backend& backend, const v1::ValidateConfigRequest& launch, const Observation& o)
      : backend_(backend), launch_(launch), now_(o.launch.estimate()), errors_(Errors(o.launch.findings())) {
    const double measured = std::max(o.peak_device, o.peak_allocated);
    for (const ComparedFigure& figure : o.figures) {
      const bool about = figure.name == (o.peak_device > 0 ? "device_bytes" : "allocated_bytes");
      if (about && figure.forecast.has_value() && figure.measured.has_value()) {
        correction_ = *figure.measured - figure.forecast->value();
      }
    }
    full_ = measured > kFull * static_cast<double>(now_.usable_bytes()) || o.log.out_of_memory > 0;
  }
  bool full() const { return full_; }

  // What the launch would be with the patch; nothing: not legal, not forecast, or it does not fit.
  std::optional<NextKnob> Try(const Patch& patch) {
    v1::ValidateConfigRequest request = launch_;
    for (const v1::KnobSetting& setting : patch) *request.add_stated_knobs() = setting;
    v1::ValidateConfigResponse response;
    if (!backend_.ValidateConfig(request, &response).ok() || !response.will_run()) return std::nullopt;
    const v1::Estimate& then = response.estimate();
    if (Errors(response.findings()) != errors_ || then.step_time_us().value() <= 0) return std::nullopt;
    if (Memory(then) + std::max(0.0, correction_) > static_cast<double>(then.usable_bytes())) return std::nullopt;
    NextKnob next;
    next.knobs = patch;
    next.step_change = then.step_time_us().value() / now_.step_time_us().value() - 1;
    next.memory_change_bytes = Memory(then) - Memory(now_);
    next.for_memory = full_;
    return next;
  }

 private:
  Backend& backend_;
  const v1::ValidateConfigRequest& launch_;
  const v1::Estimate& now_;
  const std::set<std::string> errors_;
  double correction_ = 0;  // what the run needed beyond its forecast
  bool full_ = false;
};

bool Gains(const NextKnob& next) {
  return next.for_memory ? next.memory_change_bytes < -kLeastFreed : next.step_change < kWorthARun;
}

}  // namespace

std::optional<NextKnob> FindNextKnob(Backend& backend, const v1::ValidateConfigRequest& launch, const Observation& o,
                                     std::string* why) {
  *why = "the launch says too little to ask for it";
  if (!o.MatchesLaunch() || !o.launch.estimate().has_step_time_us() || o.seq_length <= 0 || o.global_batch <= 0) {
    return std::nullopt;
  }
  if (launch.has_knobs()) {  // a configuration that was printed is no text to try on
    *why = "it is tried on a launch (--launch SCRIPT)";
    return std::nullopt;
  }
  const absl::StatusOr<v1::ResolveConfigRequest> question = Question(launch, o);
  v1::ResolveConfigResponse answer;
  if (!question.ok() || !backend.ResolveConfig(*question, &answer).ok()) return std::nullopt;
  *why = "no change of an execution knob gains 2 % by our own forecast";
  Trials trials(backend, launch, o);
  std::optional<NextKnob> best;
  size_t tried = 0;
  for (const Patch& candidate : Candidates(answer, o.launch)) {
    const Patch patch = ChangesOf(candidate, o.launch);
    const bool execution =
        std::all_of(patch.begin(), patch.end(), [](const v1::KnobSetting& s) { return IsExecution(s.name()); });
    if (!execution || patch.empty()) continue;
    if (tried++ == kMostTrials) break;
    std::optional<NextKnob> next = trials.Try(patch);
    if (next.has_value() && Gains(*next) && (!best.has_value() || next->step_change < best->step_change)) best = next;
  }
  if (!best.has_value() && trials.full())
    *why = "the GPUs are full, and no change of an execution knob frees enough by our own forecast";
  return best;
}

}  // namespace flightplan::cli
