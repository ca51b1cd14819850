// Runs the rules over a configuration in upstream's order.
#pragma once

#include <map>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "resolver/engine/pending.h"
#include "resolver/plan/config.h"
#include "resolver/plan/environment.h"
#include "resolver/plan/finding.h"
#include "resolver/plan/found.h"
#include "resolver/rules/rule.h"

namespace flightplan {

// The rules that one target release runs, already in order.
class Program {
 public:
  // The program of a target and its releases (an unknown release: the nearest known one); lives as long as the process.
  static const Program& For(Target target, int core_release, int bridge_release);

  // What running a rule needs. A record is long (its fixes stand in it), and most rules do not fire: the run goes over
  // these and touches a record only when there is something to say.
  struct Step {
    bool (*when)(const Facts&);  // null for a change
    void (*change)(Editor&);
    const Rule* rule;
    bool gates_library;  // an error rule that asks for a version of Transformer Engine or torch
    bool refuses;        // says whether a configuration may be suggested: a change, an error, or a field report
  };
  absl::Span<const Step> steps() const { return steps_; }
  // `mla`: of the configuration that is to be run. Any is right; the one whose defaults it has leaves least to do.
  const RecordedReads& reads(bool mla) const { return reads_[mla ? 1 : 0]; }
  // The checks of one area ("fit"), in order.
  absl::Span<const Rule* const> ChecksOf(absl::string_view area) const;
  // The first step behind the command line's own checks.
  size_t behind_arguments() const { return behind_arguments_; }

 private:
  Program(Target target, int core_release, int bridge_release);
  std::vector<Step> steps_;
  std::vector<RecordedReads> reads_;                              // of the steps, without MLA and with it
  std::map<absl::string_view, std::vector<const Rule*>> checks_;  // by area
  size_t behind_arguments_ = 0;
};

struct RunResult {
  Config arguments;                   // only with KeepArguments::kYes
  Config config;                      // final values after every silent change
  Environment env;                    // with the variables the target sets
  Found found;                        // as it was given
  std::vector<Finding> findings;      // in upstream's order: the first error is the one upstream stops at
  std::vector<ConfigChange> changes;  // in order
};

// Judges a config whose unset knobs hold their class defaults (catalog/defaults.h). Reports everything at once: a rule
// after the first error still runs, on the values as they are then. With KeepArguments::kYes the result also holds, for
// Megatron-LM and LoongForge, the command line's values after validate_args.
enum class KeepArguments { kNo, kYes };
RunResult Run(Config config, Environment env, Found found = {}, KeepArguments keep = KeepArguments::kNo);

// Whether Run would report no error, and no warning from the field (area "field-report") that is not among `known`, and
// leaves the switch `changed`, if there is one, as the configuration has it. Stops at the first one.
bool MayBeSuggested(Config config, Environment env, const Found& found, absl::Span<const Finding> known,
                    std::optional<Knob> changed = std::nullopt);

// Whether it fits, for a run without a memory forecast: what a configuration takes is known only when its effective
// values are. Adds to the findings.
void JudgeMemory(const FoundMemory& memory, RunResult* run);

// Turns a fired rule into a finding, with the values it read.
Finding MakeFinding(const Rule& rule, const Facts& facts);

// accepted / will run / advice, by the phase.
Verdict VerdictOf(Phase phase);
// Upstream's name of the stage: "post_init", "validate", "mesh" ...
absl::string_view StageName(Phase phase);

// Sorted for people: severity, then the first knob, then id.
void SortForPeople(std::vector<Finding>* findings);

}  // namespace flightplan
