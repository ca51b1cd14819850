#include "resolver/judge/planned_launch.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "resolver/catalog/defaults.h"
#include "resolver/catalog/spellings.h"
#include "resolver/derive/idle_knobs.h"
#include "resolver/derive/target_knobs.h"
#include "resolver/engine/engine.h"
#include "resolver/judge/converted_question.h"
#include "resolver/judge/read_config.h"
#include "resolver/judge/same_meaning.h"
#include "resolver/plan/intent.h"
#include "resolver/plan/judge_question.h"
#include "resolver/plan/model_fields.h"
#include "resolver/plan/stack.h"
#include "resolver/stacks/dialects.h"

namespace flightplan {
namespace {

using K = Knob;

// What a recipe has or the sizes make, of which no launch has a word.
constexpr K kMarks[] = {K::data_parallel_size, K::dataset_kind, K::dataset_offline_packing_specs,
                        K::comm_overlap_configured, K::mixed_precision_configured};

class UnwrittenPins {
 public:
  UnwrittenPins(const ResolvedPlan& plan, const Launch& own, const Catalog& catalog)
      : plan_(plan),
        catalog_(catalog),
        defaults_(DefaultsFor(plan.env.target, plan.env.core_release, plan.env.bridge_release, plan.env.mla)),
        launch_(own) {}

  std::vector<Finding> Find() {
    std::vector<Finding> found;
    for (const auto& [knob, value] : plan_.intent.pins) {
      if (IsNothing(knob) || IsWritten(knob)) continue;
      if (!runs_.has_value() && !ReadBack()) return found;  // nothing is known of what it runs
      if (!RunsAnyway(knob, value)) found.push_back(Lost(knob, value));
    }
    return found;
  }

 private:
  // The stack's default, what nothing reads, and of the model what stands in the stack's own files or is no word of it.
  bool IsNothing(Knob knob) const {
    const Stack& stack = StackOf(plan_.env);
    const Config& config = plan_.run.config;
    return MeansTheSame(defaults_.Get(knob), config.Get(knob)) || IsIdle(knob, config) ||
           Row(knob).section == Section::kLaunch ||
           std::find(std::begin(kMarks), std::end(kMarks), knob) != std::end(kMarks) ||
           (FindModelField(Name(knob)) != nullptr &&
            (stack.hf_models || stack.model_files || defaults_.origin(knob) == Origin::kAbsent));
  }

  // Under its own name, or by other words if the launch differs without it.
  bool IsWritten(Knob knob) const {
    const auto is_it = [knob](const KnobWords& words) { return words.knob == knob; };
    if (std::any_of(launch_.words.begin(), launch_.words.end(), is_it)) return true;
    Config config = plan_.decided.config;
    config.Set(knob, defaults_.Get(knob), defaults_.origin(knob));
    const Config written = WriteForTarget(std::move(config), plan_.env);
    return LaunchIn(OwnDialect(plan_.env.target), written, plan_.decided.env, plan_, nullptr).text != launch_.text;
  }

  // What the launch comes to, as a question of its own. False: it cannot be read.
  bool ReadBack() {
    JudgeQuestion question;
    question.catalog = &catalog_;
    absl::StatusOr<ReadConfig> read =
        Read(LaunchQuestion(std::move(question), plan_.intent.env, plan_.env, launch_, /*open=*/false));
    if (!read.ok()) return false;
    unknown_ = read->reading.parsed.unknown;
    runs_ = Run(std::move(read->config), std::move(read->env)).config;
    return true;
  }

  // By the stack's own doing, or because what the word stands for is so without it.
  bool RunsAnyway(Knob knob, const Value& value) const {
    if (std::find(unknown_.begin(), unknown_.end(), knob) != unknown_.end()) return true;  // a file says it
    const Config& config = plan_.run.config;
    if (MeansTheSame(runs_->Get(knob), config.Get(knob))) return true;
    const auto copied = CopiedArguments();
    if (std::any_of(copied.begin(), copied.end(), [&](const auto& pair) {
          return pair.second == knob && MeansTheSame(runs_->Get(pair.first), value);
        })) {
      return true;
    }
    const auto parts = InOtherWords(knob, value, config);
    return parts.has_value() && std::all_of(parts->begin(), parts->end(), [&](const auto& part) {
             return MeansTheSame(config.Get(part.first), part.second);
           });
  }

  bool ChangesMemory(Knob knob) const {
    if (plan_.step == nullptr) return false;
    const auto bytes = [this](const Config& config) {
      const PlannedStep& at = *plan_.step;
      return at.model.Memory(at.model.Read(config, plan_.env, at.stages)).fullest.total.value;
    };
    Config as_run = plan_.decided.config;
    as_run.Set(knob, runs_->Get(knob), Origin::kCaller);
    return bytes(as_run) != bytes(plan_.decided.config);
  }

  Finding Lost(Knob knob, const Value& value) const {
    // Another model, another optimizer or another memory; a seed or an interval of the stack's own stops nobody.
    const internal::KnobRow& row = Row(knob);
    const bool learns = row.section == Section::kModel || row.section == Section::kOptimizer;
    const bool grave = (learns && row.knob_class == KnobClass::kConvergence) || ChangesMemory(knob);
    const Value& instead = runs_->Get(knob);
    Finding finding;
    finding.rule_id = "launch.pin-not-written";
    finding.area = "cli";
    finding.severity = grave ? Severity::kError : Severity::kWarning;
    finding.verdict = grave ? Verdict::kWillRun : Verdict::kAdvice;
    finding.stage = "launch";
    finding.seen = absl::StrCat(Name(knob), "=", value.ToText());
    finding.needs = absl::StrCat("the launch of ", TargetName(plan_.env), " has no word for it and would run with ",
                                 instead.is_none() ? "it unset" : instead.ToText(),
                                 "; leave it out, set it in the stack's own files, or ask for a target that takes it");
    finding.source = "flightplan's reading of its own launch";
    finding.observed.push_back({std::string(Name(knob)), value});
    return finding;
  }

  const ResolvedPlan& plan_;
  const Catalog& catalog_;
  const Config& defaults_;
  const Launch& launch_;
  std::optional<Config> runs_;
  std::vector<Knob> unknown_;  // of what it runs
};

}  // namespace

Launch LaunchIn(absl::string_view dialect, const Config& written, const EnvVars& exported, const ResolvedPlan& plan,
                const Written* like) {
  const bool benchmark = plan.intent.workload.objective == Objective::kBenchmark;
  const std::optional<std::string>& hf_id = plan.intent.model.hf_id;
  return RenderDialect(dialect, {written, plan.env, exported, like, benchmark,
                                 hf_id.has_value() ? absl::string_view(*hf_id) : absl::string_view()});
}

Launch OwnLaunch(const ResolvedPlan& plan) {
  if (plan.intent.view < View::kBasic && plan.intent.pins.empty()) return {};
  return LaunchIn(OwnDialect(plan.env.target), plan.written, plan.decided.env, plan, nullptr);
}

std::vector<Finding> FindUnwrittenPins(const ResolvedPlan& plan, const Launch& own, const Catalog& catalog) {
  return UnwrittenPins(plan, own, catalog).Find();
}

}  // namespace flightplan
