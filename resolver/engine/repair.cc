#include "resolver/engine/repair.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "resolver/catalog/defaults.h"
#include "resolver/engine/repeats.h"
#include "resolver/plan/knob.h"

namespace flightplan {
namespace {

constexpr size_t kMaxSearchedKnobs = 12;
constexpr size_t kMaxSearchedValues = 8;  // of one knob

using Errors = std::set<absl::string_view>;  // ids

// `area`: empty for all of them.
Errors ErrorsOfArea(const RunResult& run, absl::string_view area) {
  Errors ids;
  for (const Finding& finding : run.findings) {
    if (finding.severity == Severity::kError && (area.empty() || finding.area == area)) ids.insert(finding.rule_id);
  }
  return ids;
}

// Those that an answer shows: what two of them say of one fault is said once, so that to remove one of the two alone
// brings the other to light.
Errors ShownErrors(RunResult run) {
  DropRepeats(&run.findings);
  return ErrorsOfArea(run, "");
}

bool Includes(const Errors& known, const Errors& ids) {
  return std::includes(known.begin(), known.end(), ids.begin(), ids.end());
}

// What a step may bring: errors of other areas, which later steps remove, or none at all.
enum class Brings { kOtherAreas, kNothing };

// Judges patches against one finding.
class Trial {
 public:
  // Counts its runs in *runs.
  Trial(const Config& config, const Environment& env, const RunResult& before, const Finding& finding, Brings brings,
        size_t* runs)
      : config_(config),
        env_(env),
        finding_(finding),
        area_(brings == Brings::kNothing ? absl::string_view() : finding.area),
        before_(ErrorsOfArea(before, area_)),
        runs_(runs) {
    if (brings == Brings::kNothing) shown_ = ShownErrors(before);
  }

  bool Removes(const Patch& patch) {
    ++*runs_;
    Config config = config_;
    Environment env = env_;
    ApplyPatch(patch, &config, &env);
    RunResult run = Run(std::move(config), std::move(env));
    const Errors after = ErrorsOfArea(run, area_);
    if (after.count(finding_.rule_id) > 0 || !Includes(before_, after)) return false;
    return !shown_.has_value() || Includes(*shown_, ShownErrors(std::move(run)));
  }
  bool spent() const { return *runs_ >= kMaxRepairRuns; }

 private:
  const Config& config_;
  const Environment& env_;
  const Finding& finding_;
  const absl::string_view area_;
  Errors before_;
  std::optional<Errors> shown_;  // where a step may bring nothing
  size_t* runs_;
};

struct Candidate {
  Knob knob{};
  std::vector<Value> values;
};

// Sizes are tried at one, half and double; other knobs at what the table allows. `usual`: the knob's default. A size
// that has one is never none, which no text could say.
std::vector<Value> ValuesToTry(Knob knob, const Value& now, const Value& usual) {
  std::vector<Value> values;
  const auto add = [&](Value value) {
    const bool known = value == now || std::find(values.begin(), values.end(), value) != values.end();
    if (!known && values.size() < kMaxSearchedValues) values.push_back(std::move(value));
  };
  switch (Row(knob).type) {
    case ValueType::kBool:
      add(Value(!now.truthy()));
      break;
    case ValueType::kInt:
      if (now.is_int() && now.integer() > 1) add(Value(now.integer() / 2));
      if (now.is_int() && now.integer() > 0 && now.integer() < (int64_t{1} << 32)) add(Value(now.integer() * 2));
      add(Value(1));
      add(Value(2));
      if (usual.is_none()) add(Value());
      break;
    case ValueType::kString:
      for (absl::string_view choice : absl::StrSplit(Row(knob).choices, '|', absl::SkipEmpty())) add(Value(choice));
      add(Value());
      break;
    case ValueType::kFloat:
    case ValueType::kIntList:
    case ValueType::kFloatList:
    case ValueType::kStringList:
    case ValueType::kFreq:
    case ValueType::kTuple:
    case ValueType::kAny:
      add(Value());
      break;
  }
  return values;
}

// The knobs that the area's errors look at or would have changed; the finding's own first.
std::vector<Candidate> KnobsToTry(const Config& config, const Environment& env, const RunResult& run,
                                  const Finding& finding, const std::set<Knob>& kept) {
  const Config& usual = DefaultsFor(env.target, env.core_release, env.bridge_release, env.mla);
  std::vector<Candidate> knobs;
  const auto add = [&](Knob knob) {
    const bool known = std::any_of(knobs.begin(), knobs.end(), [knob](const Candidate& c) { return c.knob == knob; });
    const bool ours = Row(knob).knob_class == KnobClass::kExecution && Row(knob).section != Section::kLaunch &&
                      config.origin(knob) != Origin::kAbsent && kept.count(knob) == 0;
    if (!known && ours && knobs.size() < kMaxSearchedKnobs)
      knobs.push_back({knob, ValuesToTry(knob, config.Get(knob), usual.Get(knob))});
  };
  const auto add_all = [&](const Finding& source) {
    for (const Observed& seen : source.observed) {
      if (const std::optional<Knob> knob = FindKnob(seen.name)) add(*knob);
    }
    for (const Patch& patch : source.fixes) {
      for (const Assignment& assignment : patch) {
        if (assignment.env_var.empty()) add(assignment.knob);
      }
    }
  };
  add_all(finding);
  for (const Finding& other : run.findings) {
    if (other.severity == Severity::kError && other.area == finding.area) add_all(other);
  }
  return knobs;
}

// All ways to set `size` of the knobs from `from` on, in order; true when `patch` then removes the finding.
bool Search(const std::vector<Candidate>& knobs, size_t from, size_t size, Trial* trial, Patch* patch) {
  if (size == 0) return trial->Removes(*patch);
  for (size_t i = from; i + size <= knobs.size(); ++i) {
    for (const Value& value : knobs[i].values) {
      if (trial->spent()) return false;
      patch->push_back({knobs[i].knob, "", value});
      if (Search(knobs, i + 1, size - 1, trial, patch)) return true;
      patch->pop_back();
    }
  }
  return false;
}

// Of what the patch changes: a rule names all that belongs together, of which some may be so already.
bool WouldChangeConvergence(const Patch& patch, const Config& config) {
  return std::any_of(patch.begin(), patch.end(), [&](const Assignment& assignment) {
    return ChangesConvergence({assignment}) && config.Get(assignment.knob) != assignment.value;
  });
}

bool Sets(const Patch& patch, const std::set<Knob>& knobs) {
  return std::any_of(patch.begin(), patch.end(), [&](const Assignment& assignment) {
    return assignment.env_var.empty() && knobs.count(assignment.knob) > 0;
  });
}

// `*next` is the first of the finding's fixes that may be taken. A finding that came back because a later repair undid
// its fix gets the one after it, and no search.
std::optional<RepairStep> StepFor(const Finding& finding, const Config& config, const Environment& env,
                                  const RunResult& run, const RepairOptions& options, Brings brings, size_t* next,
                                  size_t* runs) {
  const bool came_back = *next > 0;
  Trial trial(config, env, run, finding, brings, runs);
  for (size_t i = *next; i < finding.fixes.size(); ++i) {
    const Patch& fix = finding.fixes[i];
    if (WouldChangeConvergence(fix, config) && !options.allow_convergence) continue;
    if (Sets(fix, options.kept) || !trial.Removes(fix)) continue;
    *next = i + 1;
    return RepairStep{finding.rule_id, fix, false};
  }
  if (came_back) return std::nullopt;
  const std::vector<Candidate> knobs = KnobsToTry(config, env, run, finding, options.kept);
  for (size_t size = 1; size <= 3; ++size) {
    Patch patch;
    if (!Search(knobs, 0, size, &trial, &patch)) continue;
    *next = finding.fixes.size() + 1;
    return RepairStep{finding.rule_id, std::move(patch), true};
  }
  return std::nullopt;
}

void Merge(const Patch& step, Patch* all) {
  for (const Assignment& assignment : step) {
    const auto same = std::find_if(all->begin(), all->end(), [&](const Assignment& known) {
      return known.env_var == assignment.env_var && (!known.env_var.empty() || known.knob == assignment.knob);
    });
    if (same == all->end()) {
      all->push_back(assignment);
    } else {
      same->value = assignment.value;
    }
  }
}

}  // namespace

void ApplyPatch(const Patch& patch, Config* config, Environment* env) {
  for (const Assignment& assignment : patch) {
    if (assignment.env_var.empty()) {
      config->Set(assignment.knob, assignment.value, Origin::kCaller);
      for (auto& [knob, value] : env->model_file) {
        if (knob == assignment.knob) value = assignment.value;  // as an override of the file, which would win
      }
    } else if (assignment.value.is_none()) {
      env->vars.erase(assignment.env_var);
    } else {
      env->vars[assignment.env_var] = assignment.value.ToText();
    }
  }
}

bool ChangesConvergence(const Patch& patch) {
  return std::any_of(patch.begin(), patch.end(), [](const Assignment& assignment) {
    return assignment.env_var.empty() && Row(assignment.knob).knob_class == KnobClass::kConvergence;
  });
}

namespace {

// Without the errors that are not counted.
RunResult CountedErrors(RunResult run, const RepairOptions& options) {
  std::erase_if(run.findings, [&options](const Finding& finding) {
    return finding.severity == Severity::kError && options.counts != nullptr && !options.counts(finding);
  });
  return run;
}

Repair Attempt(Config config, Environment env, const RepairOptions& options, Brings brings) {
  Repair repair;
  std::map<absl::string_view, size_t> next_fix;  // by finding: fixes that chase one another are taken once each
  size_t runs = 0;
  for (;;) {
    const RunResult run = CountedErrors(Run(config, env), options);
    const RepairStep* taken = nullptr;
    for (const Finding& finding : run.findings) {
      if (finding.severity != Severity::kError || repair.steps.size() >= kMaxRepairSteps) continue;
      std::optional<RepairStep> step =
          StepFor(finding, config, env, run, options, brings, &next_fix[finding.rule_id], &runs);
      if (!step.has_value()) continue;
      ApplyPatch(step->patch, &config, &env);
      Merge(step->patch, &repair.patch);
      taken = &repair.steps.emplace_back(*std::move(step));
      break;
    }
    if (taken != nullptr) continue;
    for (const Finding& finding : run.findings) {
      if (finding.severity == Severity::kError) repair.left.push_back(finding);
    }
    return repair;
  }
}

constexpr int kMostPruned = 200;  // runs of the rules for what follows

// Takes back what a later step made unnecessary, so that no word of the caller's is changed without need.
class Pruning {
 public:
  Pruning(const Config& config, const Environment& env, Repair* repair) : config_(config), env_(env), repair_(*repair) {
    for (const Finding& finding : RunWith(repair_.patch).findings) {
      if (finding.severity == Severity::kError) left_.insert(finding.rule_id);
    }
  }

  void Do() {
    while (TakeBackOne() || TakeBackTwo()) {
    }
    Take(WithoutWhatIsSo());
  }

 private:
  bool TakeBackOne() {
    for (size_t i = 0; i < repair_.steps.size(); ++i) {
      if (Take(Without({i}))) return true;
    }
    return false;
  }
  // One of them mends what the other breaks.
  bool TakeBackTwo() {
    for (size_t i = 0; i < repair_.steps.size(); ++i) {
      for (size_t k = i + 1; k < repair_.steps.size(); ++k) {
        if (Take(Without({i, k}))) return true;
      }
    }
    return false;
  }
  std::vector<RepairStep> Without(std::initializer_list<size_t> left_out) const {
    std::vector<RepairStep> steps;
    for (size_t i = 0; i < repair_.steps.size(); ++i) {
      if (std::find(left_out.begin(), left_out.end(), i) == left_out.end()) steps.push_back(repair_.steps[i]);
    }
    return steps;
  }

  bool Take(std::vector<RepairStep> steps) {
    if (++runs_ > kMostPruned) return false;
    Patch patch;
    for (const RepairStep& step : steps) Merge(step.patch, &patch);
    const RunResult run = RunWith(patch);
    const auto fails = [&](const Finding& finding) {
      return finding.severity == Severity::kError && left_.count(finding.rule_id) == 0;
    };
    if (std::any_of(run.findings.begin(), run.findings.end(), fails)) return false;
    repair_.steps = std::move(steps);
    repair_.patch = std::move(patch);
    return true;
  }

  RunResult RunWith(const Patch& patch) const {
    Config config = config_;
    Environment env = env_;
    ApplyPatch(patch, &config, &env);
    return Run(std::move(config), std::move(env));
  }

  // Values that the caller's text has at the end as at the beginning.
  std::vector<RepairStep> WithoutWhatIsSo() const {
    std::set<Knob> so;
    for (const Assignment& assignment : repair_.patch) {
      const bool same = assignment.env_var.empty() && config_.Get(assignment.knob) == assignment.value;
      if (same) so.insert(assignment.knob);
    }
    std::vector<RepairStep> steps;
    for (RepairStep step : repair_.steps) {
      std::erase_if(step.patch, [&](const Assignment& assignment) {
        return assignment.env_var.empty() && so.count(assignment.knob) > 0;
      });
      if (!step.patch.empty()) steps.push_back(std::move(step));
    }
    return steps;
  }

  const Config& config_;
  const Environment& env_;
  Repair& repair_;
  // Errors beside the whole repair, those that rest on values of elsewhere too: what a repair writes does so no more.
  std::set<absl::string_view> left_;
  int runs_ = 0;
};

Repair FindUnpruned(const Config& config, const Environment& env, const RepairOptions& options) {
  Repair repair = Attempt(config, env, options, Brings::kOtherAreas);
  if (repair.left.empty() || repair.steps.empty()) return repair;
  RunResult left;
  left.findings = repair.left;
  const bool new_left = !Includes(ShownErrors(CountedErrors(Run(config, env), options)), ShownErrors(std::move(left)));
  // A repair that leaves an error of its own making is none: less is repaired, and nothing is broken.
  return new_left ? Attempt(config, env, options, Brings::kNothing) : repair;
}

}  // namespace

Repair FindRepair(const Config& config, const Environment& env, const RepairOptions& options) {
  Repair repair = FindUnpruned(config, env, options);
  if (!repair.steps.empty()) Pruning(config, env, &repair).Do();
  return repair;
}

}  // namespace flightplan
